import { createHash } from 'node:crypto';
import { concurrentlyInOrder } from '../../base/async/concurrently.js';
import { placeText, type NamedBlob } from '../arguments/blob-place.js';
import {
  changed,
  checkedRangeBytesMax,
  type BlobClient,
  type BlobPart,
  type BlobRange,
} from '../client/blob-client.js';
import { briefRetries, retrying } from '../client/retry.js';
import { ServiceError } from '../client/service-error.js';
import { CommandFailure } from '../terminal/failure.js';

export interface DownloadOptions {
  /** Whether the MD5 that is kept with the blob must be that of its bytes. */
  readonly checksBlob: boolean;
  /** Called once, before the first bytes. */
  readonly onSize: (bytesTotal: number) => void;
}

/** Ranges in flight or in memory at a time. */
const rangesAtOnce = 4;

/**
 * The bytes of a blob in their order, all of one state of the blob. Each range is checked by its
 * MD5 before it is given.
 *
 * @throws {ServiceError | ConnectionError | CommandFailure} when the bytes that were given are no
 * whole blob, or not the one that its writer meant
 */
export async function* download(
  client: BlobClient,
  blob: NamedBlob,
  { checksBlob, onSize }: DownloadOptions,
): AsyncGenerator<Buffer> {
  const first = await firstPart(client, blob);
  onSize(first.bytesTotal);
  const hash = createHash('md5');
  for await (const { body } of parts(client, blob, first)) {
    hash.update(body);
    yield body;
  }
  const found = hash.digest('base64');
  if (!checksBlob || first.md5 === undefined || first.md5 === found) return;
  throw new CommandFailure(
    `${placeText(blob)} is not what its writer meant: its MD5 is ${found}, and ${first.md5} is ` +
      'kept with it. Get it as it is with --no-check.',
  );
}

async function firstPart(client: BlobClient, blob: NamedBlob): Promise<BlobPart> {
  const range = { start: 0, end: checkedRangeBytesMax };
  try {
    return await retrying(briefRetries, () => client.getRange(blob, range, undefined));
  } catch (error) {
    // No range of an empty blob is one.
    if (!(error instanceof ServiceError) || error.code !== 'InvalidRange') throw error;
    return retrying(briefRetries, () => client.getEmpty(blob));
  }
}

async function* parts(
  client: BlobClient,
  blob: NamedBlob,
  first: BlobPart,
): AsyncGenerator<BlobPart> {
  yield first;
  const rest = ranges(first.body.length, first.bytesTotal);
  try {
    yield* concurrentlyInOrder(rest, rangesAtOnce, (range) =>
      retrying(briefRetries, () => client.getRange(blob, range, first.etag)),
    );
  } catch (error) {
    if (error instanceof ServiceError && error.status === 412) throw changed(blob);
    throw error;
  }
}

function* ranges(from: number, total: number): Generator<BlobRange> {
  for (let start = from; start < total; start += checkedRangeBytesMax) {
    yield { start, end: Math.min(start + checkedRangeBytesMax, total) };
  }
}
