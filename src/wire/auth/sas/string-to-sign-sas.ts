import { unreachable } from '../../../base/invariant.js';
import type { ServiceName } from '../../../model/services/services.js';
import {
  sasVersions,
  type AccountSas,
  type BlobSas,
  type QueueSas,
  type Sas,
  type SasFields,
  type TableSas,
  type UserDelegationBlobSas,
  type UserDelegationKeyFields,
  type UserDelegationQueueSas,
} from './fields.js';

/** A signature without its `sig` field. */
export type Unsigned<T extends Sas> = Omit<T, 'signature'>;

/** The decoded names in the URL of a request. */
export interface SignedAddress {
  /** A queue, or a container of blobs. */
  readonly container: string;
  readonly blob?: string | undefined;
}

export type AnyUnsigned =
  | Unsigned<TableSas>
  | Unsigned<QueueSas>
  | Unsigned<UserDelegationQueueSas>
  | Unsigned<BlobSas>
  | Unsigned<UserDelegationBlobSas>
  | Unsigned<AccountSas>;

/**
 * The text that a shared access signature signs, in the layout of its `sv` (table-service §8.3 and
 * §8.4, queue-service §4.3 to §4.5, blob-service §4.3 to §4.5).
 *
 * @param address what the URL names, for signatures for a queue or for blobs
 */
export function sasStringToSign(
  sas: AnyUnsigned,
  account: string,
  address: SignedAddress | undefined,
): string {
  const queue = address?.container ?? '';
  switch (sas.kind) {
    case 'table-sas':
      return tableText(sas, account);
    case 'queue-sas':
      return lines(serviceLines(sas, sasResource('queue', account, queue, sas.version)));
    case 'user-delegation-queue-sas':
      return userDelegationText(sas, sasResource('queue', account, queue, sas.version));
    case 'blob-sas':
      return lines(blobLines(sas, blobResource(sas, account, address)));
    case 'user-delegation-blob-sas':
      return lines(delegatedBlobLines(sas, blobResource(sas, account, address)));
    case 'account-sas':
      return accountText(sas, account);
    default:
      return unreachable(sas);
  }
}

/** The resource as it is signed, in host and in path style alike: the account once. */
function sasResource(service: ServiceName, account: string, name: string, version: string): string {
  const path = `/${account}/${name}`;
  return version >= sasVersions.resourcePrefix ? `/${service}${path}` : path;
}

type Line = string | undefined;

function lines(texts: readonly Line[]): string {
  return texts.map((text = '') => text).join('\n');
}

function tableText(sas: Unsigned<TableSas>, account: string): string {
  const resource = sasResource('table', account, sas.table.toLowerCase(), sas.version);
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = sas;
  const range = [startPartitionKey, startRowKey, endPartitionKey, endRowKey];
  return lines([...serviceLines(sas, resource), ...range]);
}

function serviceLines(
  sas: Unsigned<TableSas> | Unsigned<QueueSas> | Unsigned<BlobSas>,
  resource: string,
): Line[] {
  const { version } = sas;
  const terms = version >= sasVersions.account ? [sas.ip, sas.protocol] : [];
  return [...validityLines(sas), resource, sas.identifier, ...terms, version];
}

function validityLines({ permissions, start, expiry }: Omit<SasFields, 'signature'>): Line[] {
  return [permissions, start, expiry];
}

type UnsignedBlobSas = Unsigned<BlobSas> | Unsigned<UserDelegationBlobSas>;

/** The container, the blob, or the directory of `directoryDepth` path segments. */
function blobResource(
  { resource, version, directoryDepth }: UnsignedBlobSas,
  account: string,
  address: SignedAddress | undefined,
): string {
  const { container, blob = '' } = address ?? { container: '' };
  const path = resource === 'd' ? blob.split('/').slice(0, directoryDepth) : [blob];
  const name = resource === 'c' ? [container] : [container, ...path];
  return sasResource('blob', account, name.join('/'), version);
}

function blobLines(sas: Unsigned<BlobSas>, resource: string): Line[] {
  const headers = sas.version >= sasVersions.responseHeaders ? headerLines(sas) : [];
  return [...serviceLines(sas, resource), ...selectionLines(sas), ...headers];
}

/** The lines that select a part of the resource. */
function selectionLines({
  version,
  resource,
  snapshotTime,
  encryptionScope,
}: UnsignedBlobSas): Line[] {
  if (version < sasVersions.blobResource) return [];
  const scope = version >= sasVersions.encryptionScope ? [encryptionScope] : [];
  return [resource, snapshotTime, ...scope];
}

function headerLines({ responseHeaders }: UnsignedBlobSas): Line[] {
  const { cacheControl, contentDisposition, contentEncoding } = responseHeaders;
  const { contentLanguage, contentType } = responseHeaders;
  return [cacheControl, contentDisposition, contentEncoding, contentLanguage, contentType];
}

function delegatedBlobLines(sas: Unsigned<UserDelegationBlobSas>, resource: string): Line[] {
  const { version, delegationKey: key, ip, protocol } = sas;
  const { authorizedObjectId, unauthorizedObjectId, correlationId } = sas;
  const agents =
    version >= sasVersions.directory
      ? [authorizedObjectId, unauthorizedObjectId, correlationId]
      : [];
  const delegated =
    version >= sasVersions.userDelegationQueue
      ? [key.delegatedTenantId, sas.delegatedUserObjectId]
      : [];
  // Signatures that name headers or parameters of the request are refused when they are read.
  const request = version >= sasVersions.signedRequest ? ['', ''] : [];
  return [
    ...validityLines(sas),
    resource,
    ...keyLines(key),
    ...agents,
    ...delegated,
    ip,
    protocol,
    version,
    ...selectionLines(sas),
    ...request,
    ...headerLines(sas),
  ];
}

function keyLines(key: UserDelegationKeyFields): Line[] {
  return [key.objectId, key.tenantId, key.start, key.expiry, key.service, key.version];
}

function userDelegationText(sas: Unsigned<UserDelegationQueueSas>, resource: string): string {
  const { delegationKey: key } = sas;
  return lines([
    ...validityLines(sas),
    resource,
    ...keyLines(key),
    key.delegatedTenantId,
    sas.delegatedUserObjectId,
    sas.ip,
    sas.protocol,
    sas.version,
  ]);
}

/** Every line ends with a line break, including the last. */
function accountText(sas: Unsigned<AccountSas>, account: string): string {
  const { permissions, services, resourceTypes, start, expiry, ip, protocol, version } = sas;
  const scope = version >= sasVersions.encryptionScope ? [sas.encryptionScope] : [];
  const terms = [start, expiry, ip, protocol, version];
  return lines([account, permissions, services, resourceTypes, ...terms, ...scope, '']);
}
