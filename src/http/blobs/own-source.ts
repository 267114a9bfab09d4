import { unreachable } from '../../base/invariant.js';
import { cannotVerifyCopySource } from '../../model/errors/blob-errors.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type {
  BlobReading,
  BlobStateSelector,
  SnapshotAddress,
} from '../../services/blobs/types.js';
import type { RequestedRange } from '../../wire/blobs/byte-ranges.js';
import { readConditions } from '../../wire/blobs/conditions.js';
import type { CopySource } from '../../wire/blobs/copy-source.js';
import { parseBlobPath } from '../../wire/blobs/resource-path.js';
import { parseSnapshotTime } from '../../wire/blobs/snapshot-time.js';
import type { GrantedAccess } from '../exchange/access.js';
import { isPermitted } from '../exchange/caller.js';
import type { Address, Exchange } from '../exchange/exchange.js';
import { authenticatedPart, type InnerRequest } from '../exchange/part-exchange.js';
import { objectAccess } from '../operations/access.js';
import { authoriseExchange } from '../pipeline/authorise.js';
import { getBlob } from './get-blob.js';
import { readBlobAccess } from './get-blob-properties.js';
import { BlobRequest } from './request.js';

/** A source that this server keeps: a blob or a snapshot, of any of its accounts. */
export interface OwnSource {
  readonly kind: 'own';
  readonly address: SnapshotAddress;
  readonly conditions: BlobConditions;
  /** The URL without a signature, as answers show it. */
  readonly url: string;
  /** Whether the target gets the tags of the source, instead of those that its request gives. */
  readonly copiesTags: boolean;
  /** The credential of the source alone, in its URL or in a header of the request. */
  readonly credential: SourceCredential | undefined;
}

/** A request that reads the source, with the credential of the source. */
type SourceCredential = Pick<InnerRequest, 'target' | 'headers' | 'address'>;

/** A time that no snapshot and no version has. */
const never = -1;

/**
 * The resource that a URL addresses on this server; undefined for one of another server. An address
 * of the server that has no account is `CannotVerifyCopySource` with 404. Throws
 * `InvalidHeaderValue` when no URL can have the `Host` of the request.
 */
export function ownAddress(source: CopySource, exchange: Exchange): Address | undefined {
  const { base } = exchange;
  if (!URL.canParse(base)) throw invalidHeader('Host', exchange.host);
  const { host } = new URL(base);
  const isSame = source.host === host;
  if (!isSame && !isAlias(source.host, host)) return undefined;
  const found = exchange.addressOf?.(source.rawPath, source.host);
  if (found !== undefined || !isSame) return found;
  throw cannotVerifyCopySource({ status: 404, code: 'ResourceNotFound' });
}

/** Other names of the same port: those of this machine, and of another account in the host. */
function isAlias(host: string, own: string): boolean {
  const [source, request] = [new URL(`http://${host}`), new URL(`http://${own}`)];
  if (source.port !== request.port) return false;
  if (isThisMachine(source.hostname)) return isThisMachine(request.hostname);
  const domain = domainOf(source.hostname);
  return domain !== '' && domain === domainOf(request.hostname);
}

const loopback = /^(?:localhost|.*\.localhost|127\.0\.0\.1|\[::1\])$/;

function isThisMachine(hostname: string): boolean {
  return loopback.test(hostname);
}

/** The host name after the label of the account; empty for an address. */
function domainOf(hostname: string): string {
  return /^[^.[]*[a-z][^.[]*\.(.*)$/.exec(hostname)?.[1] ?? '';
}

/**
 * The source that a URL names at an address of this server. Throws `InvalidHeaderValue` when it is
 * no blob, and for both a snapshot and a version.
 */
export function ownSourceAt(
  address: Address,
  {
    source,
    copiesTags,
    headers,
  }: {
    readonly source: CopySource;
    readonly copiesTags: boolean;
    /** The token of the source, if the request has one. */
    readonly headers: ReadonlyMap<string, string>;
  },
  { header, version }: BlobRequest,
): OwnSource {
  const resource = parseBlobPath(address.resourcePath, false);
  if (resource.kind !== 'blob') throw invalidHeader('x-ms-copy-source', source.url);
  const { container, blob } = resource;
  const isSigned = source.isSigned || headers.size > 0;
  const target = { path: source.rawPath, query: source.rawQuery };
  return {
    kind: 'own',
    address: { account: address.account.name, container, blob, ...selectorIn(source) },
    conditions: readConditions(header, 'source', version),
    url: shownUrl(source),
    copiesTags,
    credential: isSigned ? { target, headers, address } : undefined,
  };
}

function selectorIn({ url, snapshot, versionId }: CopySource): BlobStateSelector {
  if (versionId !== undefined) {
    // A signature for the snapshot must not read the version.
    if (snapshot !== undefined) throw invalidHeader('x-ms-copy-source', url);
    return { versionMicros: parseSnapshotTime('versionid', versionId) ?? never };
  }
  if (snapshot === undefined) return {};
  return { snapshotMicros: parseSnapshotTime('snapshot', snapshot) ?? never };
}

/** The URL of a source without its signature. */
export function shownUrl({ url, rawQuery, snapshot, versionId }: CopySource): string {
  const address = rawQuery === '' ? url : url.slice(0, url.length - rawQuery.length - 1);
  if (versionId !== undefined) return `${address}?versionid=${encodeURIComponent(versionId)}`;
  return snapshot === undefined ? address : `${address}?snapshot=${encodeURIComponent(snapshot)}`;
}

/**
 * Refuses a source that may not be read: `CannotVerifyCopySource` with the status of that refusal.
 * The credential of the source decides where it has one, and otherwise that of the request, in its
 * account.
 */
export async function authoriseSource(request: BlobRequest, source: OwnSource): Promise<void> {
  const { credential } = source;
  if (credential !== undefined) return authoriseByItself(request, source, credential);
  if (mayRead(request, source) || (await isPublic(request, source))) return;
  throw cannotVerifyCopySource({ status: 403, code: 'AuthorizationPermissionMismatch' });
}

/** Whether a request copies the tags of the source, or asks by a condition what they are. */
function readsTags({ copiesTags, conditions }: OwnSource): boolean {
  return copiesTags || conditions.ifTags !== undefined;
}

/** Tags are never public. */
async function isPublic({ backend }: BlobRequest, source: OwnSource): Promise<boolean> {
  if (readsTags(source)) return false;
  return (await backend.blobs.containers.publicAccess(source.address)) !== 'none';
}

/** The access that a caller needs to read the source. */
function accessTo(source: OwnSource): GrantedAccess {
  return readsTags(source) ? objectAccess('read', 'tag') : readBlobAccess;
}

function mayRead({ exchange, account, container }: BlobRequest, source: OwnSource): boolean {
  const { caller } = exchange;
  if (source.address.account !== account) return false;
  const isGranted = accessTo(source).permissions.every((each) =>
    isPermitted(caller, 'object', each),
  );
  switch (caller.kind) {
    case 'account-sas':
      return isGranted && caller.resourceTypes.has('object');
    case 'container-sas':
      return (
        isGranted && caller.isForObject === undefined && source.address.container === container
      );
    case 'owner':
    case 'bearer':
    case 'anonymous':
      return isGranted;
    default:
      return unreachable(caller);
  }
}

/** The stages that a request which reads the source goes through. */
async function authoriseByItself(
  { exchange, backend }: BlobRequest,
  source: OwnSource,
  credential: SourceCredential,
): Promise<void> {
  try {
    const part = await authenticatedPart(exchange, { method: 'GET', ...credential });
    const operation = { ...getBlob, access: accessTo(source) };
    const request = new BlobRequest(backend, part);
    authoriseExchange(part, { name: 'GetBlob', operation, request });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const { status, code, message } = error;
    throw cannotVerifyCopySource({ status, code, message });
  }
}

/** Opens the source. A condition that fails is `SourceConditionNotMet`. */
export async function readOwn(
  { backend }: BlobRequest,
  { address, conditions }: OwnSource,
  range: RequestedRange | undefined,
): Promise<BlobReading> {
  try {
    return await backend.blobs.getBlob(address, { conditions, range });
  } catch (error) {
    const isCondition = error instanceof StorageError && error.code === 'ConditionNotMet';
    throw isCondition ? new StorageError('SourceConditionNotMet', { cause: error }) : error;
  }
}
