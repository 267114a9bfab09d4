import { StoreUnavailableError } from 'tabularium/kv';
import type { Candidate, Entry, KeyRange, RangeOptions, RangePage } from 'tabularium/kv';
import { compareBytes, type Bytes } from './bytes.js';
import { versionOf, type Head, type RowVersion } from './partition-rows.js';
import { keyOf, onlyPrefixOf, rowsWithin } from './places.js';
import type { PrefixIndex } from './prefix-index.js';
import type { Session } from './session.js';
import type { Statements } from './statements.js';

const rowsFirst = 32;
const rowsMost = 2_000;
/** Bytes that one statement reads, about. */
const bytesEach = 1 << 20;

export interface RangeReaderOptions {
  readonly session: Session;
  readonly statements: Statements;
  readonly index: PrefixIndex;
  readonly monotonicMs: () => number;
  /** For so long versions that were superseded can be read, in milliseconds. */
  readonly readMillisMax: number;
  /** The head of a prefix, with nothing pending. */
  readonly head: (prefix: Bytes) => Promise<Head>;
}

/** Reads pages of ranges: each of one prefix, as it was at one version. */
export class RangeReader {
  readonly #options: RangeReaderOptions;

  constructor(options: RangeReaderOptions) {
    this.#options = options;
  }

  async read(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    const page = new Page(options);
    const reverse = options.reverse === true;
    for await (const prefix of this.#prefixesOf(range, reverse)) {
      for await (const entry of this.#entriesOf(prefix, range, options)) {
        // A page ends with its prefix when it has an entry.
        if (page.isOf(prefix) || page.isEmpty) page.offer(entry, prefix);
        else return page.end(true);
        if (page.isOver) return page.end(true);
      }
    }
    return page.end(false);
  }

  async *#prefixesOf(range: KeyRange, reverse: boolean): AsyncGenerator<Bytes> {
    const only = onlyPrefixOf(range);
    if (only === undefined) yield* this.#options.index.within(range, reverse);
    else yield only;
  }

  async *#entriesOf(
    prefix: Bytes,
    range: KeyRange,
    { reverse = false, limit }: RangeOptions,
  ): AsyncGenerator<Entry> {
    const { statements, head, monotonicMs, readMillisMax } = this.#options;
    const rows = rowsWithin(prefix, range);
    if (rows === undefined) return;
    const beganMs = monotonicMs();
    const { last } = await head(prefix);
    if (last === undefined) return;
    const statement = statements.readBetween(prefix, rows.from, rows.to, reverse);
    let newest: RowVersion | undefined;
    for await (const each of this.#versions(statement, Math.min(limit + 1, rowsFirst))) {
      if (monotonicMs() - beganMs > readMillisMax) {
        throw new StoreUnavailableError('A page took too long to read: its versions may be gone.');
      }
      if (each.version > last) continue;
      if (newest !== undefined && compareBytes(newest.row, each.row) !== 0) {
        if (!newest.isGone) yield entryOf(prefix, newest);
        newest = undefined;
      }
      if (newest === undefined || newest.version < each.version) newest = each;
    }
    if (newest !== undefined && !newest.isGone) yield entryOf(prefix, newest);
  }

  async *#versions(
    statement: ReturnType<Statements['readBetween']>,
    rowsAtFirst: number,
  ): AsyncGenerator<RowVersion> {
    let rowsMax = rowsAtFirst;
    let next: string | undefined;
    do {
      const page = await this.#options.session.readPage(statement, rowsMax, next);
      const versions = page.rows.map(versionOf);
      yield* versions;
      const bytes = versions.reduce(
        (sum, each) => sum + each.row.length + (each.value?.length ?? 0),
        1,
      );
      const fitting = Math.floor((bytesEach * versions.length) / bytes);
      rowsMax = Math.min(rowsMost, 4 * rowsMax, Math.max(1, fitting));
      next = page.next;
    } while (next !== undefined);
  }
}

/** A page while it is read. */
class Page {
  readonly #options: RangeOptions;
  readonly #entries: Entry[] = [];
  #bytes = 0;
  #prefix: Bytes | undefined;
  isOver = false;

  constructor(options: RangeOptions) {
    this.#options = options;
  }

  /** No entry was taken or used. */
  get isEmpty(): boolean {
    return this.#prefix === undefined;
  }

  isOf(prefix: Bytes): boolean {
    return this.#prefix !== undefined && compareBytes(this.#prefix, prefix) === 0;
  }

  offer(entry: Entry, prefix: Bytes): void {
    const { filter, use, limit, bytesMax } = this.#options;
    const candidate: Candidate = { ...entry, valueLength: entry.value.length };
    const decision = filter?.(candidate) ?? 'take';
    if (decision === 'stop') this.isOver = true;
    if (decision === 'use') {
      this.#prefix = prefix;
      use?.(candidate);
    }
    if (decision !== 'take') return;
    this.#bytes += entry.key.length + entry.value.length;
    const isFull = this.#entries.length >= limit || this.#bytes > bytesMax;
    if (isFull && this.#entries.length > 0) this.isOver = true;
    else {
      this.#entries.push(entry);
      this.#prefix = prefix;
    }
  }

  end(more: boolean): RangePage {
    return { entries: this.#entries, more };
  }
}

function entryOf(prefix: Bytes, { row, version, value }: RowVersion): Entry {
  return { key: keyOf({ prefix, row }), value: value ?? Buffer.alloc(0), version };
}
