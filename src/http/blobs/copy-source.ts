import { createHash } from 'node:crypto';
import { unreachable } from '../../base/invariant.js';
import {
  cannotVerifyCopySource,
  crc64Mismatch,
  md5Mismatch,
} from '../../model/errors/blob-errors.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { BlobReading, Body, Moment, SnapshotAddress } from '../../services/blobs/types.js';
import { sourceRange, type RequestedRange } from '../../wire/blobs/byte-ranges.js';
import { readConditions } from '../../wire/blobs/conditions.js';
import { readCopySource, type CopySource } from '../../wire/blobs/copy-source.js';
import { parseBlobPath, type BlobResource } from '../../wire/blobs/resource-path.js';
import { parseSnapshotTime } from '../../wire/blobs/snapshot-time.js';
import { Crc64 } from '../../wire/checksum/crc64.js';
import { claimedChecksum, type ClaimedChecksum } from '../../wire/checksum/checksum-headers.js';
import type { GrantedAccess } from '../exchange/access.js';
import { isPermitted } from '../exchange/caller.js';
import { authenticatedPart, type InnerRequest } from '../exchange/part-exchange.js';
import { objectAccess } from '../operations/access.js';
import { authoriseExchange } from '../pipeline/authorise.js';
import type { RoutedBlobRequest } from './blob-route.js';
import { getBlob } from './get-blob.js';
import { readBlobAccess } from './get-blob-properties.js';
import { BlobRequest } from './request.js';

/** The source of a copy: a blob or a snapshot of the addressed account. */
export interface OwnSource {
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
type SourceCredential = Pick<InnerRequest, 'target' | 'headers'>;

/** Whether a request copies. */
export function hasCopySource({ header }: RoutedBlobRequest): boolean {
  return header('x-ms-copy-source') !== undefined;
}

/** A time that no snapshot and no version has. */
const never = -1;

const tagOptionHeader = 'x-ms-copy-source-tag-option';
const authorizationHeader = 'x-ms-copy-source-authorization';

/**
 * The source that a request names. One that is elsewhere is `CannotVerifyCopySource` with 403: the
 * server sends no requests for its clients. Throws as `readCopySource`; `InvalidHeaderValue` for a
 * credential of the source that is no bearer token, and for an unknown tag option;
 * `BothUserTagsAndSourceTagsCopyPresentException` for tags of both.
 */
export function ownSourceOf(request: BlobRequest): OwnSource {
  const { header, version, account } = request;
  const source = readCopySource(header);
  const resource = resourceIn(source, request);
  if (resource?.kind !== 'blob') throw invalidHeader('x-ms-copy-source', source.url);
  const { container, blob } = resource;
  const address = { account, container, blob };
  return {
    address: { ...address, ...momentIn(source) },
    conditions: readConditions(header, 'source', version),
    url: shownUrl(source),
    copiesTags: copiesTags(request),
    credential: credentialOf(source, request),
  };
}

function copiesTags({ header }: BlobRequest): boolean {
  const text = header(tagOptionHeader);
  const option = text?.toLowerCase();
  if (text === undefined || option === 'replace') return false;
  if (option !== 'copy') throw invalidHeader(tagOptionHeader, text);
  if (header('x-ms-tags') === undefined) return true;
  throw new StorageError('BothUserTagsAndSourceTagsCopyPresentException');
}

/** A signature in the URL, or a token; undefined: the credential of the request must suffice. */
function credentialOf(
  { rawPath: path, rawQuery: query, isSigned }: CopySource,
  { header }: BlobRequest,
): SourceCredential | undefined {
  const target = { path, query };
  const authorization = header(authorizationHeader);
  if (authorization === undefined) return isSigned ? { target, headers: new Map() } : undefined;
  if (/^bearer /i.test(authorization)) {
    return { target, headers: new Map([['authorization', authorization]]) };
  }
  // It is not told: it is a secret.
  throw invalidHeader(authorizationHeader, '');
}

function resourceIn(source: CopySource, { exchange }: BlobRequest): BlobResource {
  const { host, pathname } = new URL(exchange.base);
  const base = pathname === '/' ? '' : pathname;
  const isOwn = source.host === host && `${source.rawPath}/`.startsWith(`${base}/`);
  if (!isOwn) throw elsewhere();
  return parseBlobPath(source.rawPath.slice(base.length), false);
}

function elsewhere(): StorageError {
  const message = 'The server copies from blobs of the same account and endpoint alone.';
  return cannotVerifyCopySource({ status: 403, message });
}

function momentIn({ snapshot, versionId }: CopySource): Moment {
  if (versionId !== undefined) {
    return { versionMicros: parseSnapshotTime('versionid', versionId) ?? never };
  }
  if (snapshot === undefined) return {};
  return { snapshotMicros: parseSnapshotTime('snapshot', snapshot) ?? never };
}

function shownUrl({ url, rawQuery, snapshot, versionId }: CopySource): string {
  const address = rawQuery === '' ? url : url.slice(0, url.length - rawQuery.length - 1);
  if (versionId !== undefined) return `${address}?versionid=${encodeURIComponent(versionId)}`;
  return snapshot === undefined ? address : `${address}?snapshot=${encodeURIComponent(snapshot)}`;
}

/**
 * Refuses a source that may not be read: `CannotVerifyCopySource` with the status of that refusal.
 * The credential of the source decides where it has one, and otherwise that of the request.
 */
export async function authoriseSource(request: BlobRequest, source: OwnSource): Promise<void> {
  const { credential } = source;
  if (credential !== undefined) return authoriseByItself(request, source, credential);
  if (mayRead(request, source) || (await isPublic(request, source))) return;
  throw cannotVerifyCopySource({ status: 403, code: 'AuthorizationPermissionMismatch' });
}

/** Tags are never public. */
async function isPublic({ backend }: BlobRequest, source: OwnSource): Promise<boolean> {
  if (source.copiesTags) return false;
  return (await backend.blobs.containers.publicAccess(source.address)) !== 'none';
}

/** What a caller needs to read the source. */
function accessTo({ copiesTags }: OwnSource): GrantedAccess {
  return copiesTags ? objectAccess('read', 'tag') : readBlobAccess;
}

function mayRead({ exchange, container }: BlobRequest, source: OwnSource): boolean {
  const { caller } = exchange;
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

/** What a write from a URL takes of its source. */
export interface SourceRead {
  readonly source: OwnSource;
  readonly range: RequestedRange | undefined;
  readonly checksum: ClaimedChecksum | undefined;
}

/** Throws as `ownSourceOf`, `sourceRange` and `claimedChecksum`. */
export function sourceReadOf(request: BlobRequest): SourceRead {
  const { header } = request;
  return {
    source: ownSourceOf(request),
    range: sourceRange(header),
    checksum: claimedChecksum(
      header('x-ms-source-content-md5'),
      header('x-ms-source-content-crc64'),
    ),
  };
}

/** The bytes of the source as the body of a write. */
export interface SourceBody {
  readonly body: Body;
  readonly bytes: number;
  readonly reading: BlobReading;
  /** Of all bytes; known when the body has ended. */
  readonly sum: Crc64;
}

/** Reads the source, and hands it to `use`. Conditions that fail are `SourceConditionNotMet`. */
export async function withSource<T>(
  request: BlobRequest,
  { source, range, checksum }: SourceRead,
  use: (body: SourceBody) => Promise<T>,
): Promise<T> {
  await authoriseSource(request, source);
  const reading = await readSource(request, source, range);
  try {
    const sum = new Crc64();
    const bytes = reading.end - reading.start;
    return await use({ body: checked(reading.body, checksum, sum), bytes, reading, sum });
  } finally {
    reading.close();
  }
}

async function readSource(
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

/** The same bytes. Throws `Md5Mismatch` or `Crc64Mismatch` at the end. */
async function* checked(
  body: Body,
  claimed: ClaimedChecksum | undefined,
  sum: Crc64,
): AsyncGenerator<Buffer, void, void> {
  const md5 = claimed?.kind === 'md5' ? createHash('md5') : undefined;
  for await (const piece of body) {
    sum.update(piece);
    md5?.update(piece);
    yield piece;
  }
  if (claimed === undefined) return;
  const actual = md5 === undefined ? sum.digest() : md5.digest();
  if (actual.equals(claimed.bytes)) return;
  const mismatch = claimed.kind === 'md5' ? md5Mismatch : crc64Mismatch;
  throw mismatch(claimed.bytes.toString('base64'), actual.toString('base64'));
}
