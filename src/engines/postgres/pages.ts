import type { Bytes } from '../../base/bytes.js';
import type { GuardedRangeOptions } from '../../kv/guards.js';
import type { Candidate, Decision, Entry, KeyRange, RangePage } from '../../kv/store.js';
import { readChunk, restOf, type Chunk, type Query } from './range-chunks.js';
import type { SharedReaders, SnapshotReaders } from './readers.js';
import type { Statements } from './statements.js';

/** Entries that one statement returns. */
const chunkEntriesMax = 1_024;
/**
 * The size of the first chunk. Small, because it is not known yet how many entries the filter
 * takes.
 */
const firstChunkEntries = 128;
/** Bytes of keys and values that one statement returns; the entry that exceeds them is included. */
const chunkBytesMax = 4 * 1024 * 1024;

export interface PageReaders {
  readonly shared: SharedReaders;
  readonly snapshots: SnapshotReaders;
  readonly statements: Statements;
}

/**
 * Reads a page of a range. A statement sees one snapshot, so a page that one statement can return
 * is read by it. Any other page is read in chunks, in a transaction with one snapshot.
 */
export async function readPage(
  { shared, snapshots, statements }: PageReaders,
  range: KeyRange,
  options: GuardedRangeOptions,
): Promise<RangePage> {
  const { limit, bytesMax, filter } = options;
  const chunkBytes = filter === undefined ? Math.min(bytesMax, chunkBytesMax) : chunkBytesMax;
  const page = new Page(options);
  const read = (query: Query, count: number): Promise<Chunk> => {
    const { guard, reverse = false } = options;
    const rest = page.last === undefined ? range : restOf(range, reverse, page.last);
    const request = { range: rest, reverse, limit: count, bytesMax: chunkBytes, guard };
    return readChunk(query, statements, request);
  };
  if (filter === undefined && limit < chunkEntriesMax) {
    // One entry more than the limit, which shows whether entries are left.
    const chunk = await read((statement, values) => shared.read(statement, values), limit + 1);
    const isCut = chunk.more && chunk.entries.length <= limit && chunkBytes < bytesMax;
    if (!isCut) return page.whole(chunk);
  }
  const readAll = async (query: Query): Promise<void> => {
    let entries = filter === undefined ? chunkEntriesMax : firstChunkEntries;
    let isOver = false;
    while (!isOver) {
      isOver = page.add(await read(query, entries));
      entries = chunkEntriesMax;
    }
  };
  await snapshots.read(readAll, () => page.isNew);
  return page.result();
}

/** A page as it grows. */
class Page {
  readonly #options: GuardedRangeOptions;
  readonly #entries: Entry[] = [];
  #bytes = 0;
  #more = false;
  /** The key of the last entry that was taken, used or skipped. */
  last: Bytes | undefined;

  constructor(options: GuardedRangeOptions) {
    this.#options = options;
  }

  /** Neither `filter` nor `use` has been called. */
  get isNew(): boolean {
    return this.last === undefined;
  }

  /** Whether the page is complete. */
  add({ entries, more }: Chunk): boolean {
    for (const entry of entries) {
      const isOver = this.#addEntry(entry);
      if (isOver) {
        this.#more = true;
        return true;
      }
    }
    return !more;
  }

  result(): RangePage {
    return { entries: this.#entries, more: this.#more };
  }

  /** The page that consists of one chunk. `more` includes entries that the chunk did not reach. */
  whole(chunk: Chunk): RangePage {
    this.add(chunk);
    return { entries: this.#entries, more: this.#more || chunk.more };
  }

  /** Whether the page ends before the entry. */
  #addEntry(entry: Entry): boolean {
    const { filter, use, limit, bytesMax } = this.#options;
    const candidate = candidateOf(entry);
    const decision: Decision = filter?.(candidate) ?? 'take';
    if (decision === 'stop') return true;
    if (decision === 'take') {
      const bytes = this.#bytes + entry.key.length + entry.value.length;
      const isFull = this.#entries.length >= limit || bytes > bytesMax;
      if (isFull && this.#entries.length > 0) return true;
      this.#bytes = bytes;
      this.#entries.push(entry);
    }
    this.last = entry.key;
    if (decision === 'use') use?.(candidate);
    return false;
  }
}

function candidateOf({ key, value, version }: Entry): Candidate {
  return { key, value, valueLength: value.length, version };
}
