import { ticksOfIso, isoOfTicks } from '../../rows/ticks.js';
import type { BlobMetadata } from './log-blobs.js';

/** What a blob's metadata says of its records. */
export interface LogSpan {
  /** Ticks of the earliest record. */
  readonly first: bigint;
  /** Ticks of the latest record; undefined while records are still appended, or after a crash. */
  readonly last?: bigint;
  readonly records?: number;
}

/** Names of metadata. Times are texts of ISO 8601 with up to seven digits of a second. */
const names = { first: 'firsttime', last: 'lasttime', records: 'records', batch: 'batch' };

/** `batch` marks what one attempt wrote, so that a repeated attempt recognises its own success. */
export function metadataOf({ first, last, records }: LogSpan, batch: string): BlobMetadata {
  return {
    [names.first]: isoOfTicks(first),
    ...(last === undefined ? {} : { [names.last]: isoOfTicks(last) }),
    ...(records === undefined ? {} : { [names.records]: String(records) }),
    [names.batch]: batch,
  };
}

/** Undefined when the blob is not of a log. */
export function spanOf(metadata: BlobMetadata): LogSpan | undefined {
  const first = ticksOfIso(metadata[names.first] ?? '');
  const last = ticksOfIso(metadata[names.last] ?? '');
  const records = Number(metadata[names.records] ?? Number.NaN);
  if (first === undefined) return undefined;
  return {
    first,
    ...(last === undefined ? {} : { last }),
    ...(Number.isNaN(records) ? {} : { records }),
  };
}

export function batchOf(metadata: BlobMetadata): string | undefined {
  return metadata[names.batch];
}
