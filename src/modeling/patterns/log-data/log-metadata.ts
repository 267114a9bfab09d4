import { ticksOfIso, isoOfTicks } from '../../rows/ticks.js';
import type { BlobMetadata } from './log-blobs.js';

/** The metadata of a blob about its records. */
export interface LogSpan {
  /** Ticks of the earliest record. */
  readonly first: bigint;
  /** Ticks of the latest record; undefined while records are appended, and after a crash. */
  readonly last?: bigint;
  readonly records?: number;
}

/** Names of metadata. Times are ISO 8601 with up to seven digits of a second. */
const names = { first: 'firsttime', last: 'lasttime', records: 'records', batch: 'batch' };

/** `batch` identifies an attempt, so that its repetition recognises its own success. */
export function metadataOf({ first, last, records }: LogSpan, batch: string): BlobMetadata {
  return {
    [names.first]: isoOfTicks(first),
    ...(last === undefined ? {} : { [names.last]: isoOfTicks(last) }),
    ...(records === undefined ? {} : { [names.records]: String(records) }),
    [names.batch]: batch,
  };
}

/** Undefined when the blob is no log. */
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
