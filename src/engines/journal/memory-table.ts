import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { SortedByKey } from '../../base/sorted-by-key.js';
import { encodeFrame } from './frame.js';
import { FrameChange } from './frame-change.js';

/** What is known of a key before the base knows it. Never changed but for `mayBeInBase`. */
export class TableEntry extends FrameChange {
  /** Of the frame that made it durable. */
  readonly sequence: number;
  /** Whether the base holds the key, or is being told of it. */
  mayBeInBase: boolean;

  constructor({ memory, at }: FrameChange, sequence: number, mayBeInBase: boolean) {
    super(memory, at);
    this.sequence = sequence;
    this.mayBeInBase = mayBeInBase;
  }
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
  #hidden: TableEntry | undefined;
  /** Reads that look at views of the entries, and whether one began after the last change. */
  #readers = 0;
  #isViewed = false;

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

  /** `read` gets all entries as they are now, and may use them until its result settles. */
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

  /** `isNew`: neither the table nor the base has the key. `name`: that of the key, if known. */
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
    // Nobody but the table has ever known it.
    if (entry.mayBeInBase || !entry.isDeletion) return;
    this.#entries.delete(entry.key, name);
    this.#forget(entry);
  }

  /** The key is not to be seen, and the base is never told of it. */
  hide(key: Bytes): void {
    this.#beforeChange();
    const deletion = { key, value: undefined, version: 0 };
    const frame = { kind: 'changes', sequence: 0, lastVersion: 0, changes: [deletion] } as const;
    const [change] = encodeFrame(frame, 0).changes;
    this.#hidden = change && new TableEntry(change, frame.sequence, true);
    if (this.#hidden !== undefined) this.#entries.put(this.#hidden, nameOfBytes(key));
  }

  /** The next entries in key order, from `start` on; the base is going to be told of them. */
  take(start: Bytes, { sequenceMax, entriesMax, bytesMax }: Portion): Taken {
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

  /** The base has them, which are in key order: those that were not changed since are gone. */
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
