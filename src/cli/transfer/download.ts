import { createHash } from 'node:crypto';
import { concurrentlyInOrder } from '../../base/async/concurrently.js';
import { locationText, type NamedBlob } from '../arguments/blob-location.js';
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
import type { Resumable } from './new-file.js';

export interface DownloadOptions {
  /** Whether the MD5 that is kept with the blob must be that of its bytes. */
  readonly checksBlob: boolean;
  /**
   * Called once, before the first bytes, with the size of the blob and the bytes that the file has
   * already.
   */
  readonly onSize: (bytesTotal: number, bytesThere: number) => void;
  /**
   * Keeps the bytes of an interrupted download, so that the next one resumes. Absent: they are not
   * kept.
   */
  readonly file?: Resumable;
}

/** Ranges in flight or in memory at a time. */
const rangesAtOnce = 4;

/**
 * The bytes of a blob in their order, all of one state of the blob, without those that the file has
 * already. Each range is checked by its MD5 before it is given. A partial file is kept and resumed
 * only when the MD5 of the whole will be checked.
 *
 * @throws {ServiceError | ConnectionError | CommandFailure} when the bytes that were given are no
 * whole blob, or not the one that its writer meant
 */
export async function* download(
  client: BlobClient,
  blob: NamedBlob,
  { checksBlob, onSize, file }: DownloadOptions,
): AsyncGenerator<Buffer> {
  const first = await firstPart(client, blob);
  const { bytesTotal, etag, md5 } = first;
  const hash = createHash('md5');
  const isKept = checksBlob && md5 !== undefined && first.body.length < bytesTotal;
  const kept = isKept ? await file?.resume(stateOf(etag)) : undefined;
  const bytesThere = kept?.bytes ?? 0;
  onSize(bytesTotal, bytesThere);
  try {
    for await (const chunk of kept?.chunks ?? []) hash.update(chunk);
    for await (const body of partsBehind(bytesThere, client, blob, first)) {
      hash.update(body);
      yield body;
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status !== 412) throw error;
    file?.forget();
    throw changed(blob);
  }
  const found = hash.digest('base64');
  if (!checksBlob || md5 === undefined || md5 === found) return;
  file?.forget();
  if (bytesThere > 0) {
    throw new CommandFailure(
      `What an earlier try had kept of ${locationText(blob)} was damaged: get it again.`,
    );
  }
  throw new CommandFailure(
    `${locationText(blob)} is not what its writer meant: its MD5 is ${found}, and ${md5} is ` +
      'kept with it. Get it as it is with --no-check.',
  );
}

/** Identifies the state of a blob in the name of a file. */
function stateOf(etag: string): string {
  return etag.replaceAll(/[^0-9A-Za-z]/g, '');
}

async function firstPart(client: BlobClient, blob: NamedBlob): Promise<BlobPart> {
  const range = { start: 0, end: checkedRangeBytesMax };
  try {
    return await retrying(briefRetries, () => client.getRange(blob, range, undefined));
  } catch (error) {
    // Every range of an empty blob is refused.
    if (!(error instanceof ServiceError) || error.code !== 'InvalidRange') throw error;
    return retrying(briefRetries, () => client.getEmpty(blob));
  }
}

/** The bytes from a place on. */
async function* partsBehind(
  there: number,
  client: BlobClient,
  blob: NamedBlob,
  first: BlobPart,
): AsyncGenerator<Buffer> {
  if (there < first.body.length) yield first.body.subarray(there);
  const rest = ranges(Math.max(there, first.body.length), first.bytesTotal);
  const parts = concurrentlyInOrder(rest, rangesAtOnce, (range) =>
    retrying(briefRetries, () => client.getRange(blob, range, first.etag)),
  );
  for await (const { body } of parts) yield body;
}

function* ranges(from: number, total: number): Generator<BlobRange> {
  for (let start = from; start < total; start += checkedRangeBytesMax) {
    yield { start, end: Math.min(start + checkedRangeBytesMax, total) };
  }
}
