import type { Entry } from '../../kv/store.js';
import type { StoreSnapshot } from '../../kv/snapshots.js';
import { EntryGatherer } from './entry-gatherer.js';
import type { Environment } from './environment.js';

/** A snapshot is held in memory; it is meant for test data. */
export const snapshotBytesMax = 1 << 30;

/** A copy of all entries, read in one transaction. */
export class LmdbSnapshot implements StoreSnapshot {
  readonly content: readonly Entry[];
  readonly entries: number;

  constructor(content: readonly Entry[]) {
    this.content = content;
    this.entries = content.length;
  }
}

/** Throws when the entries exceed the size limit of a snapshot. */
export function dumpEntries({ entries, row }: Environment): LmdbSnapshot {
  const content = new EntryGatherer();
  let bytes = 0;
  // Without a start, the package skips keys that begin with a byte below 5.
  const found = entries.database.getRange({ start: Buffer.of(0) });
  const iterator: Iterator<unknown> = found[Symbol.iterator]();
  try {
    while (iterator.next().done !== true) {
      bytes += row.keyLength + row.valueLength;
      if (bytes > snapshotBytesMax) {
        throw new RangeError(
          `The store holds more than ${snapshotBytesMax} bytes, which is too much for a snapshot: ` +
            'it is kept in memory. Copy the data directory of a stopped server instead.',
        );
      }
      if (!content.add(row)) throw entries.damaged(row.key);
    }
  } finally {
    iterator.return?.();
    entries.endRead();
  }
  return new LmdbSnapshot(content.entries());
}

/**
 * Replaces all entries by those of `parts`, one part after the other; inside a transaction. The
 * last version stays recorded.
 */
export function replaceEntries(
  { entries }: Environment,
  parts: readonly (readonly Entry[])[],
): void {
  entries.database.clearSync();
  for (const part of parts) {
    for (const { key, value, version } of part) entries.put(key, value, version);
  }
}
