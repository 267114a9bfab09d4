import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { SortedByKey } from '../../base/sorted-by-key.js';
import { invariant } from '../../base/invariant.js';
import { encodeFrame, type FoundFrame } from './frame.js';
import { FrameChange } from './frame-change.js';

/** The last change of a key that the base may lack. Immutable except for `mayBeInBase`. */
export class TableEntry extends FrameChange {
  /** The number of the frame that made it durable. */
  readonly sequence: number;
  /** Whether the base has the key, or a write of it is under way. */
  mayBeInBase: boolean;

  constructor({ memory, at }: FrameChange, sequence: number, mayBeInBase: boolean) {
    super(memory, at);
    this.sequence = sequence;
    this.mayBeInBase = mayBeInBase;
  }
}

/** The approximate memory of an entry beside its bytes. */
const entryBytes = 200;

/** The bounds of what is written to the base in one transaction. */
export interface Portion {
  /** Changes of later frames are left out. */
  readonly sequenceMax: number;
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export interface TableEntries {
  readonly entries: readonly TableEntry[];
  /** The key to continue from; undefined when there are no more entries. */
  readonly next: Bytes | undefined;
}

/** The last change of each key that the base does not have yet. */
export class MemoryTable {
  #entries = new SortedByKey<TableEntry>();
  #bytes = 0;
  #count = 0;
  #hidden: TableEntry | undefined;
  /** Reads that use a view of the entries. */
  #readers = 0;
  /** Whether a read has begun after the last change. */
  #isViewed = false;

  /** The approximate memory that the table takes. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#count;
  }

  get(key: Bytes): TableEntry | undefined {
    return this.#entries.get(key);
  }

  /** The entry whose key has this name. */
  named(name: string): TableEntry | undefined {
    return this.#entries.named(name);
  }

  /** Calls `read` with a view of all entries as they are now, valid until its result settles. */
  async during<Result>(
    read: (entries: SortedByKey<TableEntry>) => Promise<Result>,
  ): Promise<Result> {
    this.#readers += 1;
    this.#isViewed = true;
    try {
      return await read(this.#entries.view());
    } finally {
      this.#readers -= 1;
    }
  }

  /** `isNew`: neither the table nor the base has the key. `name`: `nameOfBytes` of the key. */
  apply(change: FrameChange, sequence: number, isNew: boolean, name = change.name): void {
    this.#beforeChange();
    const entry = new TableEntry(change, sequence, !isNew);
    const before = this.#entries.put(entry, name);
    this.#count += 1;
    this.#bytes += bytesOf(entry);
    if (before !== undefined) {
      this.#forget(before);
      entry.mayBeInBase = before.mayBeInBase;
    }
    // The base has never had the key, so the deletion need not be kept.
    if (entry.mayBeInBase || !entry.isDeletion) return;
    this.#entries.delete(entry.key, name);
    this.#forget(entry);
  }

  /**
   * Fills an empty table with the changes of frames, which are in order. The base may have any of
   * their keys. Faster than `apply` for each change.
   */
  fill(frames: readonly FoundFrame[]): void {
    invariant(this.#entries.isEmpty, 'a table is filled first');
    const last = new Map<string, TableEntry>();
    for (const { changes, sequence } of frames) {
      for (const change of changes) last.set(change.name, new TableEntry(change, sequence, true));
    }
    this.#entries = SortedByKey.ofNamed(last);
    this.#count = last.size;
    for (const entry of last.values()) this.#bytes += bytesOf(entry);
  }

  /** Hides a key of the base from reads. No pass takes this entry. */
  hide(key: Bytes): void {
    this.#beforeChange();
    const deletion = { key, value: undefined, version: 0 };
    const frame = { kind: 'changes', sequence: 0, lastVersion: 0, changes: [deletion] } as const;
    const [change] = encodeFrame(frame, 0).changes;
    this.#hidden = change && new TableEntry(change, frame.sequence, true);
    if (this.#hidden !== undefined) this.#entries.put(this.#hidden, nameOfBytes(key));
  }

  /** The next entries in key order, from `start` on, for a write to the base. */
  take(start: Bytes, { sequenceMax, entriesMax, bytesMax }: Portion): TableEntries {
    const entries: TableEntry[] = [];
    let bytes = 0;
    for (const entry of this.#entries.forward({ start })) {
      if (entry.sequence > sequenceMax || entry === this.#hidden) continue;
      bytes += bytesOf(entry);
      const isFull = entries.length >= entriesMax || bytes > bytesMax;
      if (isFull && entries.length > 0) return { entries, next: entry.key };
      entries.push(entry);
      entry.mayBeInBase = true;
    }
    return { entries, next: undefined };
  }

  /** Removes entries that the base has now, unless they have changed since. In key order. */
  settle(applied: readonly TableEntry[]): void {
    this.#beforeChange();
    for (const entry of this.#entries.deleteEach(applied)) this.#forget(entry);
  }

  #beforeChange(): void {
    if (this.#isViewed && this.#readers > 0) this.#entries.keepViews();
    this.#isViewed = false;
  }

  #forget(entry: TableEntry): void {
    this.#count -= 1;
    this.#bytes -= bytesOf(entry);
  }
}

function bytesOf(entry: TableEntry): number {
  return entryBytes + entry.bytes;
}
