import type { Bytes } from '../../base/bytes.js';
import { SortedByKey } from '../../base/sorted-by-key.js';
import { changeBytes, type Change } from './frame.js';

/** What is known of a key before the base knows it. Never changed but for `mayBeInBase`. */
export interface TableEntry extends Change {
  /** Of the frame that made it durable. */
  readonly sequence: number;
  /** Whether the base holds the key, or is being told of it. */
  mayBeInBase: boolean;
}

/** What an entry costs beside its bytes, about. */
const entryBytes = 200;

/** How much is taken out of the table to be applied at once. */
export interface Portion {
  /** Only what is in frames up to this one. */
  readonly sequenceMax: number;
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export interface Taken {
  readonly entries: readonly TableEntry[];
  /** Where to go on; undefined when there is no more. */
  readonly next: Bytes | undefined;
}

/** The changes that the base does not have yet, by key: the last of each. */
export class MemoryTable {
  readonly #entries = new SortedByKey<TableEntry>();
  #bytes = 0;
  #count = 0;

  /** About the memory that it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#count;
  }

  get(key: Bytes): TableEntry | undefined {
    return this.#entries.get(key);
  }

  /** All entries as they are now, whatever comes. */
  copy(): SortedByKey<TableEntry> {
    return this.#entries.copy();
  }

  /** `isNew`: neither the table nor the base has the key. */
  apply(change: Change, sequence: number, isNew: boolean): void {
    const { key, value, version } = change;
    const entry = { key, value, version, sequence, mayBeInBase: !isNew };
    const before = this.#entries.put(entry);
    this.#count += 1;
    this.#bytes += bytesOf(entry);
    if (before !== undefined) {
      this.#forget(before);
      entry.mayBeInBase = before.mayBeInBase;
    }
    // Nobody but the table has ever known it.
    if (value === undefined && !entry.mayBeInBase) this.#remove(entry);
  }

  /** The key is not to be seen, and the base is never told of it. */
  hide(key: Bytes): void {
    const sequence = Number.MAX_SAFE_INTEGER;
    this.#entries.put({ key, value: undefined, version: 0, sequence, mayBeInBase: true });
  }

  /** The next entries in key order, from `start` on; the base is going to be told of them. */
  take(start: Bytes, { sequenceMax, entriesMax, bytesMax }: Portion): Taken {
    const entries: TableEntry[] = [];
    let bytes = 0;
    for (const entry of this.#entries.forward({ start })) {
      if (entry.sequence > sequenceMax) continue;
      bytes += bytesOf(entry);
      const isFull = entries.length >= entriesMax || bytes > bytesMax;
      if (isFull && entries.length > 0) return { entries, next: entry.key };
      entries.push(entry);
      entry.mayBeInBase = true;
    }
    return { entries, next: undefined };
  }

  /** The base has them: those that were not changed since are gone. */
  settle(applied: readonly TableEntry[]): void {
    for (const entry of applied) if (this.#entries.get(entry.key) === entry) this.#remove(entry);
  }

  #remove(entry: TableEntry): void {
    this.#entries.delete(entry.key);
    this.#forget(entry);
  }

  #forget(entry: TableEntry): void {
    this.#count -= 1;
    this.#bytes -= bytesOf(entry);
  }
}

function bytesOf(entry: TableEntry): number {
  return entryBytes + changeBytes(entry);
}
