import { createHash } from 'node:crypto';
import { asBuffer } from '../../base/bytes.js';
import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import { md5Mismatch } from '../../model/errors/blob-errors.js';
import type { CopiedBlob, CopyRequest } from '../../services/blobs/copies.js';
import type { Access, BlobAddress } from '../../services/blobs/types.js';
import { booleanHeader } from '../../wire/blobs/header-values.js';
import { leaseIdOf } from '../../wire/blobs/lease-headers.js';
import { rehydratePriorityHeader } from '../../wire/blobs/tier-headers.js';
import { parseMd5 } from '../../wire/checksum/checksum-headers.js';
import { objectAccess } from '../operations/access.js';
import { metadataOf } from '../operations/metadata.js';
import { blobAccessOf, blobOf } from './blob.js';
import { authoriseSource, ownSourceOf, withSource, type OwnSource } from './copy-source.js';
import type { BlobOperation, BlobRequest } from './request.js';
import { writtenHeaders } from '../../wire/blobs/modified-headers.js';
import { checkNoBody } from './streamed-body.js';
import { createBlobAccess, replacing, tagsOf, tierOf } from './write-blob.js';

interface Input {
  readonly address: BlobAddress;
  readonly source: OwnSource;
  readonly copy: CopyRequest;
  readonly access: Access;
  /** What the source must have. */
  readonly md5: Buffer | undefined;
}

/** The longest source of Copy Blob From URL (blob-service §17.3). */
const syncBytesMax = 256 * 1024 * 1024;

function parse(request: BlobRequest): Input {
  const { header, exchange } = request;
  checkNoBody(request);
  const source = ownSourceOf(request);
  const metadata = metadataOf(exchange);
  const tier = tierOf(request);
  // Checked alone: a blob comes back from the archive at once.
  rehydratePriorityHeader(header);
  const copy: CopyRequest = {
    source: source.address,
    sourceConditions: source.conditions,
    sourceUrl: source.url,
    metadata: metadata.length === 0 ? undefined : metadata,
    tags: source.copiesTags ? 'source' : tagsOf(request),
    tier,
    isSealed: booleanHeader(header, 'x-ms-seal-blob'),
  };
  const access = blobAccessOf(request, 'write');
  return { address: blobOf(request), source, copy, access, md5: undefined };
}

async function run({ address, source, copy, access }: Input, request: BlobRequest) {
  await authoriseSource(request, source);
  return replacing(request, access, (each) => request.backend.blobs.copyBlob(address, copy, each));
}

function copyHeaders({ copyId, ...written }: CopiedBlob): string[] {
  const copy = ['x-ms-copy-id', copyId, 'x-ms-copy-status', 'success'];
  return [...writtenHeaders(written), ...copy];
}

/** `PUT /container/blob` with `x-ms-copy-source` (blob-service §17.1); done when it is answered. */
export const copyBlob: BlobOperation<Input, CopiedBlob> = {
  access: createBlobAccess,
  bodyBytesMax: 0,
  parse,
  run,

  render(copied) {
    return { status: 202, headers: copyHeaders(copied) };
  },
};

/** The same with `x-ms-requires-sync: true` (blob-service §17.3). */
export const copyBlobFromUrl: BlobOperation<Input, CopiedBlob> = {
  access: createBlobAccess,
  bodyBytesMax: 0,

  parse(request) {
    const input = parse(request);
    const md5 = request.header('x-ms-source-content-md5');
    return {
      ...input,
      copy: { ...input.copy, blockBytesMax: syncBytesMax },
      md5: md5 === undefined ? undefined : parseMd5(md5),
    };
  },

  async run(input, request) {
    const { md5, source, copy } = input;
    if (md5 === undefined) return run(input, request);
    const modifiedMicros = await checkMd5(request, source, md5);
    // What is copied is what was read.
    const sourceConditions = { ...copy.sourceConditions, ifMatch: [modifiedMicros] };
    return run({ ...input, copy: { ...copy, sourceConditions } }, request);
  },

  render(copied) {
    const { contentMd5: md5 } = copied.headers;
    const sum = md5 === undefined ? [] : ['Content-MD5', asBuffer(md5).toString('base64')];
    return { status: 202, headers: [...copyHeaders(copied), ...sum] };
  },
};

/** Returns when the source that was read was modified. Throws `Md5Mismatch`. */
function checkMd5(request: BlobRequest, source: OwnSource, claimed: Buffer): Promise<number> {
  const read = { source, range: undefined, checksum: undefined };
  return withSource(request, read, async ({ body, reading }) => {
    const hash = createHash('md5');
    for await (const piece of body) hash.update(piece);
    const actual = hash.digest();
    if (actual.equals(claimed)) return reading.properties.modifiedMicros;
    throw md5Mismatch(claimed.toString('base64'), actual.toString('base64'));
  });
}

interface Abortion {
  readonly address: BlobAddress;
  readonly leaseId: string | undefined;
}

const actionHeader = 'x-ms-copy-action';

/** `PUT /container/blob?comp=copy&copyid=…` (blob-service §17.2): no copy is ever pending. */
export const abortCopyBlob: BlobOperation<Abortion, void> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    const action = request.header(actionHeader);
    if (action === undefined) throw missingHeader(actionHeader);
    if (action.toLowerCase() !== 'abort') throw invalidHeader(actionHeader, action);
    return { address: blobOf(request), leaseId: leaseIdOf(request.header) };
  },

  async run({ address, leaseId }, { backend }) {
    await backend.blobs.abortCopy(address, leaseId === undefined ? {} : { leaseId });
  },

  render() {
    return { status: 204, headers: [] };
  },
};
