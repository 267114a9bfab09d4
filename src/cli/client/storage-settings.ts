import type { ServiceProperties } from '../../model/resources/service-properties.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { renderServiceProperties } from '../../wire/xml/service-properties.js';
import { renderSignedIdentifiers } from '../../wire/xml/signed-identifiers.js';
import type { StorageClient } from './storage-client.js';

// Requests common to tables and queues. They throw as `StorageClient.request` does.

const headers = { 'Content-Type': 'application/xml' };

/** Replaces the stored access policies of a table or a queue. */
export async function putPolicies(
  client: StorageClient,
  container: string,
  policies: readonly SignedIdentifier[],
): Promise<void> {
  const body = renderSignedIdentifiers(policies);
  await client.request({ method: 'PUT', path: container, query: 'comp=acl', headers, body });
}

/** Replaces the properties of a service. */
export async function putServiceProperties(
  client: StorageClient,
  properties: ServiceProperties,
): Promise<void> {
  const query = 'restype=service&comp=properties';
  const body = renderServiceProperties(properties, client.version);
  await client.request({ method: 'PUT', path: '', query, headers, body });
}
