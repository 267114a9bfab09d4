import { signingForms } from '../../wire/auth/shared-key/signed-request.js';
import { systemRandomness } from '../../base/randomness.js';
import { unreachable } from '../../base/invariant.js';
import type { Entity } from '../../model/edm/value.js';
import { composeBatch, type ComposedOperation } from '../../wire/batch/compose.js';
import { entityPath } from '../../wire/odata/resource.js';
import type { ServiceProperties } from '../../model/resources/service-properties.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { Connection } from './connection.js';
import { entityJson } from './entity-json.js';
import { batchFailure, ServiceError } from './service-error.js';
import { StorageClient, type ClientResponse, type ServiceProtocol } from './storage-client.js';
import { putPolicies, putServiceProperties } from './storage-settings.js';

/** How an entity is written when its keys may exist. */
export type WriteMode = 'insert' | 'replace' | 'merge';

const protocol: ServiceProtocol = {
  version: '2019-02-02',
  signing: signingForms.table,
  scheme: 'SharedKeyLite',
  headers: {
    Accept: 'application/json;odata=nometadata',
    DataServiceVersion: '3.0',
    MaxDataServiceVersion: '3.0;NetFx',
  },
};

/** A client of a table service. Never retries. */
export class TableClient {
  readonly #storage: StorageClient;

  constructor(connection: Connection, options: { readonly socketsMax?: number } = {}) {
    this.#storage = new StorageClient(connection, protocol, options);
  }

  /** Ends idle connections, so that the process can end. */
  close(): void {
    this.#storage.close();
  }

  setPolicies(table: string, policies: readonly SignedIdentifier[]): Promise<void> {
    return putPolicies(this.#storage, table, policies);
  }

  setProperties(properties: ServiceProperties): Promise<void> {
    return putServiceProperties(this.#storage, properties);
  }

  /** Returns false when the table exists. */
  async createTable(table: string): Promise<boolean> {
    try {
      await this.#storage.request({
        method: 'POST',
        path: 'Tables',
        headers: { 'Content-Type': 'application/json', Prefer: 'return-no-content' },
        body: JSON.stringify({ TableName: table }),
      });
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'TableAlreadyExists') return false;
      throw error;
    }
  }

  /** One page of a query; `query` is the encoded query string. */
  queryPage(table: string, query: string): Promise<ClientResponse> {
    return this.#storage.request({
      method: 'GET',
      path: `${table}()`,
      query,
      headers: { Accept: 'application/json;odata=minimalmetadata' },
    });
  }

  async write(table: string, entity: Entity, mode: WriteMode): Promise<void> {
    const { method, path, body } = writeRequest(table, entity, mode);
    await this.#storage.request({
      method,
      path,
      body,
      headers: { 'Content-Type': 'application/json', Prefer: 'return-no-content' },
    });
  }

  /** Executes an entity group transaction, all or nothing. Throws `ServiceError` when it fails. */
  async transact(operations: readonly ComposedOperation[]): Promise<void> {
    const { contentType, body } = composeBatch(operations, systemRandomness);
    const response = await this.#storage.request({
      method: 'POST',
      path: '$batch',
      headers: { 'Content-Type': contentType },
      body,
    });
    const failure = batchFailure(response.body.toString('utf8'));
    if (failure !== undefined) throw failure;
  }

  /** One operation of a transaction, with its path on this endpoint. */
  operation(table: string, entity: Entity, mode: WriteMode, body: string): ComposedOperation {
    const { method, path } = writeTarget(table, entity, mode);
    return {
      method,
      target: `${this.#storage.connection.endpoint}/${path}`,
      headers: operationHeaders,
      body,
    };
  }
}

const operationHeaders: ComposedOperation['headers'] = [
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json;odata=minimalmetadata'],
  ['Prefer', 'return-no-content'],
  ['DataServiceVersion', '3.0;'],
];

function writeTarget(
  table: string,
  { partitionKey, rowKey }: Entity,
  mode: WriteMode,
): { readonly method: 'POST' | 'PUT' | 'MERGE'; readonly path: string } {
  switch (mode) {
    case 'insert':
      return { method: 'POST', path: table };
    case 'replace':
      return { method: 'PUT', path: entityPath(table, partitionKey, rowKey) };
    case 'merge':
      return { method: 'MERGE', path: entityPath(table, partitionKey, rowKey) };
    default:
      return unreachable(mode);
  }
}

function writeRequest(
  table: string,
  entity: Entity,
  mode: WriteMode,
): { readonly method: 'POST' | 'PUT' | 'MERGE'; readonly path: string; readonly body: string } {
  return { ...writeTarget(table, entity, mode), body: entityJson(entity) };
}
