import { buffer } from 'node:stream/consumers';
import type { Bytes } from '../../../base/bytes.js';
import type { ContainerPort } from '../../worker/container-port.js';

/** The parts of `ContainerClient` of `@azure/storage-blob` that are used here. */
export type LogContainer = Pick<
  ContainerPort,
  'getBlockBlobClient' | 'getAppendBlobClient' | 'listBlobsFlat'
>;

/** Metadata of a blob, by name. */
export type BlobMetadata = Readonly<Record<string, string>>;

/** A blob of a listing. */
export interface FoundBlob {
  readonly name: string;
  readonly bytes: number;
  /** Names in lower case, because the service ignores their case. */
  readonly metadata: BlobMetadata;
}

/** The blobs of a log. Each method sends one request. */
export interface LogBlobs {
  /** Writes a block blob, unless a blob has the name; then nothing changes. */
  put(name: string, body: Bytes, metadata: BlobMetadata): Promise<'created' | 'exists'>;
  /** Creates an empty append blob, unless a blob has the name. */
  create(name: string, metadata: BlobMetadata): Promise<'created' | 'exists'>;
  /** Appends atomically if the blob ends at `position`; otherwise nothing changes. */
  append(name: string, body: Bytes, position: number): Promise<'appended' | 'elsewhere'>;
  /** Undefined when there is no such blob. */
  find(name: string): Promise<FoundBlob | undefined>;
  setMetadata(name: string, metadata: BlobMetadata): Promise<void>;
  /** A page of at most 5,000 blobs, in the order of names; the last one has no `cursor`. */
  list(prefix: string, cursor?: string): Promise<BlobPage>;
  read(name: string): Promise<Bytes>;
}

/** One page of a listing of blobs. */
export interface BlobPage {
  readonly blobs: readonly FoundBlob[];
  readonly cursor?: string;
}

const onlyNew = { conditions: { ifNoneMatch: '*' } };

/** The blobs of a container, through the official client and its retries. Sends nothing. */
export function openLogBlobs(container: LogContainer): LogBlobs {
  return {
    async put(name, body, metadata) {
      const blob = container.getBlockBlobClient(name);
      return unlessExists(
        blob.upload(body, body.length, { metadata: { ...metadata }, ...onlyNew }),
      );
    },
    async create(name, metadata) {
      return unlessExists(
        container.getAppendBlobClient(name).create({ metadata: { ...metadata }, ...onlyNew }),
      );
    },
    async append(name, body, position) {
      try {
        const conditions = { appendPosition: position };
        await container.getAppendBlobClient(name).appendBlock(body, body.length, { conditions });
        return 'appended';
      } catch (error) {
        if (statusOf(error) === 412) return 'elsewhere';
        throw error;
      }
    },
    async find(name) {
      try {
        const blob = await container.getBlockBlobClient(name).getProperties();
        const { contentLength = 0, metadata } = blob;
        return { name, bytes: contentLength, metadata: lowerCase(metadata) };
      } catch (error) {
        if (statusOf(error) === 404) return undefined;
        throw error;
      }
    },
    async setMetadata(name, metadata) {
      await container.getBlockBlobClient(name).setMetadata({ ...metadata });
    },
    list: (prefix, cursor) => listPage(container, prefix, cursor),
    async read(name) {
      const { readableStreamBody } = await container.getBlockBlobClient(name).download();
      return readableStreamBody === undefined ? new Uint8Array() : buffer(readableStreamBody);
    },
  };
}

async function unlessExists(sent: Promise<unknown>): Promise<'created' | 'exists'> {
  try {
    await sent;
    return 'created';
  } catch (error) {
    // A failed condition is 412; some versions of the service answer 409 to this one.
    if (statusOf(error) === 409 || statusOf(error) === 412) return 'exists';
    throw error;
  }
}

function statusOf(error: unknown): number {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return 0;
  return typeof error.statusCode === 'number' ? error.statusCode : 0;
}

function lowerCase(metadata: BlobMetadata = {}): BlobMetadata {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

async function listPage(
  container: LogContainer,
  prefix: string,
  cursor: string | undefined,
): Promise<BlobPage> {
  const pages = container
    .listBlobsFlat({ prefix, includeMetadata: true })
    .byPage(cursor === undefined ? {} : { continuationToken: cursor });
  const page = await pages.next();
  if (page.done === true) return { blobs: [] };
  const { segment, continuationToken } = page.value;
  const blobs = segment.blobItems.map(({ name, properties, metadata }) => ({
    name,
    bytes: properties.contentLength ?? 0,
    metadata: lowerCase(metadata),
  }));
  const isLast = continuationToken === undefined || continuationToken === '';
  return isLast ? { blobs } : { blobs, cursor: continuationToken };
}
