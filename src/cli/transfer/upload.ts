import { createHash } from 'node:crypto';
import { concurrently } from '../../base/async/concurrently.js';
import { locationText, type NamedBlob } from '../arguments/blob-location.js';
import type { BlobClient } from '../client/blob-client.js';
import { md5Of } from '../client/blob-md5.js';
import { briefRetries, retrying } from '../client/retry.js';
import { ServiceError } from '../client/service-error.js';
import { blockBytesFor, blockId, blocksOf, type SourceBlock } from './blocks.js';

/** Bytes for a blob. */
export interface UploadSource {
  readonly bytes: AsyncIterable<Buffer>;
  /** Undefined when it is unknown. */
  readonly size: number | undefined;
}

export interface UploadOptions {
  /** Undefined: that of the service. */
  readonly contentType: string | undefined;
  /** Called with bytes that the service has. */
  readonly onStored: (bytes: number) => void;
}

/** Blocks in flight at a time; there is one more in memory. */
const blocksAtOnce = 4;

/**
 * Stores bytes as a blob: few in one request, many as blocks that become the blob in the end. The
 * service checks the MD5 of each request, and the blob keeps the MD5 of all. Blocks that an
 * interrupted upload has left are not sent again. Until the end the blob is as it was.
 *
 * @throws {ServiceError | ConnectionError | CommandFailure} also when the source fails
 */
export async function upload(
  client: BlobClient,
  blob: NamedBlob,
  source: UploadSource,
  { contentType, onStored }: UploadOptions,
): Promise<void> {
  const blockBytes = blockBytesFor(source.size);
  const blocks = blocksOf(source.bytes, blockBytes);
  const { value: first } = await blocks.next();
  if (first === undefined || first.bytes.length < blockBytes) {
    const bytes = first?.bytes ?? Buffer.alloc(0);
    const facts = { md5: md5Of(bytes), contentType };
    await retrying(briefRetries, () => client.putBlob(blob, bytes, facts));
    onStored(bytes.length);
    return;
  }
  try {
    await uploadBlocks(client, blob, followed(first, blocks), { contentType, onStored });
  } catch (error) {
    throw withBlockHint(error, blob);
  } finally {
    await blocks.return(undefined);
  }
}

async function uploadBlocks(
  client: BlobClient,
  blob: NamedBlob,
  blocks: AsyncIterable<SourceBlock>,
  { contentType, onStored }: UploadOptions,
): Promise<void> {
  const stored = await blocksBefore(client, blob);
  const whole = createHash('md5');
  const ids: string[] = [];
  await concurrently(hashed(blocks, whole), blocksAtOnce, async ({ index, bytes }) => {
    const md5 = md5Of(bytes);
    const id = blockId(index, md5);
    ids[index] = id;
    if (stored.get(id) !== bytes.length) {
      await retrying(briefRetries, () => client.putBlock(blob, id, bytes, md5));
    }
    onStored(bytes.length);
  });
  const facts = { md5: whole.digest('base64'), contentType };
  await retrying(briefRetries, () => client.putBlockList(blob, ids, facts));
}

async function* followed(
  first: SourceBlock,
  rest: AsyncIterable<SourceBlock>,
): AsyncGenerator<SourceBlock> {
  yield first;
  yield* rest;
}

async function* hashed(
  blocks: AsyncIterable<SourceBlock>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<SourceBlock> {
  for await (const block of blocks) {
    hash.update(block.bytes);
    yield block;
  }
}

/** The blocks that an interrupted upload has left; none when the user may write but not read. */
async function blocksBefore(
  client: BlobClient,
  blob: NamedBlob,
): Promise<ReadonlyMap<string, number>> {
  try {
    return await retrying(briefRetries, () => client.uncommittedBlocks(blob));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'BlobNotFound' || error.status === 403) return new Map();
    throw error;
  }
}

function withBlockHint(error: unknown, blob: NamedBlob): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'InvalidBlobOrBlock') return error;
  return new ServiceError(
    error.status,
    error.code,
    `${error.message} Another client has stored blocks of ${locationText(blob)} in another way: ` +
      'delete the blob first.',
  );
}
