import { asBuffer } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { cannotVerifyCopySource } from '../../model/errors/blob-errors.js';
import {
  invalidHeader,
  missingHeader,
  missingQueryParameter,
} from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { CopiedBlob } from '../../services/blobs/copies.js';
import type { ForeignCopyRequest } from '../../services/blobs/foreign-copies.js';
import type { Access, BlobAddress } from '../../services/blobs/types.js';
import { booleanHeader } from '../../wire/blobs/header-values.js';
import { leaseIdOf } from '../../wire/blobs/lease-headers.js';
import { writtenHeaders } from '../../wire/blobs/modified-headers.js';
import { rehydratePriorityHeader } from '../../wire/blobs/tier-headers.js';
import { parseMd5 } from '../../wire/checksum/checksum-headers.js';
import { Crc64 } from '../../wire/checksum/crc64.js';
import { objectAccess } from '../operations/access.js';
import { metadataOf } from '../operations/metadata.js';
import { blobAccessOf, blobOf } from './blob.js';
import {
  checked,
  openOther,
  otherBodyOf,
  ownBodyOf,
  sourceOf,
  type OtherSource,
  type Source,
} from './copy-source.js';
import { laterSource, onceSource } from './foreign-source.js';
import { authoriseSource, readOwn, type OwnSource } from './own-source.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { checkNoBody } from './streamed-body.js';
import { createBlobAccess, keptBy, replacing, tagsOf, tierOf } from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  readonly source: Source;
  readonly copy: ForeignCopyRequest;
  readonly access: Access;
  /** The MD5 that the source must have. */
  readonly md5: Buffer | undefined;
}

/** The longest source of Copy Blob From URL (blob-service §17.3). */
const syncBytesMax = 256 * 1024 * 1024;

function parse(request: BlobRequest): Input {
  const { header, exchange } = request;
  checkNoBody(request);
  const source = sourceOf(request);
  const metadata = metadataOf(exchange);
  const tier = tierOf(request);
  // Validated and otherwise ignored: a blob leaves the archive at once, whatever the priority.
  rehydratePriorityHeader(header);
  const copy: ForeignCopyRequest = {
    sourceUrl: source.url,
    metadata: metadata.length === 0 ? undefined : metadata,
    tags: source.copiesTags ? 'source' : tagsOf(request),
    tier,
    immutability: keptBy(request),
    isSealed: booleanHeader(header, 'x-ms-seal-blob'),
  };
  const access = blobAccessOf(request, 'write');
  return { address: blobOf(request), source, copy, access, md5: undefined };
}

async function run(input: Input, request: BlobRequest): Promise<CopiedBlob> {
  const { address, source, copy, access } = input;
  if (source.kind === 'other') return begin(input, source, request);
  await authoriseSource(request, source);
  const ofSource = {
    source: source.address,
    sourceConditions: source.conditions,
    onPiece: request.exchange.limitSteps(request.backend.clock),
  };
  return replacing(request, access, (each) =>
    request.backend.blobs.copyBlob(address, { ...copy, ...ofSource }, each),
  );
}

/** Begins a copy from another server. Its bytes are read after the request was answered. */
async function begin(
  { address, copy, access }: Input,
  place: OtherSource,
  request: BlobRequest,
): Promise<CopiedBlob> {
  const opened = await openOther(request, place);
  opened.close();
  const { blobs, sources } = request.backend;
  invariant(sources !== undefined, 'a source of another server was opened');
  const source = laterSource(sources, place, opened);
  return replacing(request, access, (each) =>
    blobs.beginCopy(address, { source, request: copy }, each),
  );
}

/** The headers of the answer to any copy. */
export function copyHeaders({ copyId, status, ...written }: CopiedBlob): string[] {
  const copy = ['x-ms-copy-id', copyId, 'x-ms-copy-status', status];
  return [...writtenHeaders(written), ...copy];
}

/**
 * `PUT /container/blob` with `x-ms-copy-source` (blob-service §17.1). A copy of a blob of this
 * server is done when it is answered.
 */
export const copyBlob: BlobOperation<Input, CopiedBlob> = {
  access: createBlobAccess,
  bodyBytesMax: 0,
  parse,
  run,

  render(copied) {
    return { status: 202, headers: copyHeaders(copied) };
  },
};

/** Copy Blob from URL: with `x-ms-requires-sync: true` (blob-service §17.3). */
export const copyBlobFromUrl: BlobOperation<Input, CopiedBlob> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    const input = parse(request);
    const md5 = request.header('x-ms-source-content-md5');
    return {
      ...input,
      md5: md5 === undefined ? undefined : parseMd5(md5),
    };
  },

  run(input, request) {
    const { source } = input;
    return source.kind === 'own'
      ? copyOwnAtOnce(input, source, request)
      : copyOtherAtOnce(input, source, request);
  },

  render(copied) {
    const { contentMd5: md5 } = copied.headers;
    const sum = md5 === undefined ? [] : ['Content-MD5', asBuffer(md5).toString('base64')];
    return { status: 202, headers: [...copyHeaders(copied), ...sum] };
  },
};

async function copyOwnAtOnce(
  { address, copy, access, md5 }: Input,
  source: OwnSource,
  request: BlobRequest,
): Promise<CopiedBlob> {
  await authoriseSource(request, source);
  const { conditions } = source;
  // With the ETag as a condition, the copy gets the bytes whose MD5 was checked.
  const sourceConditions =
    md5 === undefined
      ? conditions
      : { ...conditions, ifMatch: [await checkMd5(request, source, md5)] };
  const ofSource = {
    source: source.address,
    sourceConditions,
    blockBytesMax: syncBytesMax,
    onPiece: request.exchange.limitSteps(request.backend.clock),
  };
  return replacing(request, access, (each) =>
    request.backend.blobs.copyBlob(address, { ...copy, ...ofSource }, each),
  );
}

/** Reads the source and returns when it was modified last. Throws `Md5Mismatch`. */
async function checkMd5(request: BlobRequest, source: OwnSource, md5: Buffer): Promise<number> {
  const reading = await readOwn(request, source, undefined);
  try {
    const body = checked(ownBodyOf(request, reading), { kind: 'md5', bytes: md5 }, new Crc64());
    for await (const _ of body);
    return reading.properties.modifiedMicros;
  } finally {
    reading.close();
  }
}

async function copyOtherAtOnce(
  { address, copy, access, md5 }: Input,
  place: OtherSource,
  request: BlobRequest,
): Promise<CopiedBlob> {
  const opened = await openOther(request, place);
  try {
    const { blob } = opened;
    if (blob.kind !== 'block') throw new StorageError('InvalidSourceBlobType');
    if (blob.bytes > syncBytesMax) throw cannotVerifyCopySource({ status: 409 });
    const claimed = md5 && ({ kind: 'md5', bytes: md5 } as const);
    const body = checked(otherBodyOf(request, opened), claimed, new Crc64());
    const source = onceSource(blob, body);
    return await replacing(request, access, (each) =>
      request.backend.blobs.copyForeign(address, { source, request: copy }, each),
    );
  } finally {
    opened.close();
  }
}

interface Abortion {
  readonly address: BlobAddress;
  /** The id of the copy. */
  readonly id: string;
  readonly leaseId: string | undefined;
}

const actionHeader = 'x-ms-copy-action';

/** `PUT /container/blob?comp=copy&copyid=…` (blob-service §17.2). */
export const abortCopyBlob: BlobOperation<Abortion, void> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    const action = request.header(actionHeader);
    if (action === undefined) throw missingHeader(actionHeader);
    if (action.toLowerCase() !== 'abort') throw invalidHeader(actionHeader, action);
    const id = request.named('copyid')?.toLowerCase();
    if (id === undefined || id === '') throw missingQueryParameter('copyid');
    return { address: blobOf(request), id, leaseId: leaseIdOf(request.header) };
  },

  async run({ address, id, leaseId }, { backend }) {
    await backend.blobs.abortCopy(address, leaseId === undefined ? { id } : { id, leaseId });
  },

  render() {
    return { status: 204, headers: [] };
  },
};
