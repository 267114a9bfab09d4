import type { RangeOptions as LmdbRangeOptions } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { guardRefusal, type GuardedRangeOptions } from '../../kv/guards.js';
import { assertKey } from '../../kv/limits.js';
import {
  keyBytesMax,
  type Candidate,
  type KeyRange,
  type RangeOptions,
  type RangePage,
} from '../../kv/store.js';
import { CursorRows } from './cursor-row.js';
import { EntryGatherer } from './entry-gatherer.js';
import type { Environment } from './environment.js';
import { lastVersionKey, readGuard } from './group-writer.js';
import { MappedEntries, type MappedSnapshot } from './mapped/mapped-entries.js';
import { VerifiedPages } from './mapped/verified-pages.js';
import { isIntactRecord, type StoredRecord } from './rows/record.js';
import { VerifiedRows } from './verified-rows.js';

/** From the pages that the engine has mapped, or from the package's cursor alone. */
export type RangesFrom = 'map' | 'package';

export interface RangeReaderOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** `map` by default. */
  readonly rangesFrom?: RangesFrom;
  readonly lockFile: string;
}

/** The rows of a range, one after the other. */
interface Rows {
  /** The row that `next` has moved to. */
  readonly row: Candidate & StoredRecord;
  next(): boolean;
  /** Whether the checksum of the row was verified lately. */
  isVerified(): boolean;
  /** For a row that did not count as verified. */
  noteVerified(): void;
}

/**
 * Reads pages of ranges, each from one snapshot, which the caller ends with `endRead` in the same
 * turn. Ranges in key order come from the mapped pages where the system tells where these are.
 */
export class RangeReader {
  readonly #environment: Environment;
  /** Rows that the package's cursor has read, and rows of mapped pages. */
  readonly #verifiedRows: VerifiedRows;
  readonly #verifiedPages: VerifiedPages;
  readonly #mapped: MappedEntries | undefined;

  constructor(environment: Environment, { clock, rangesFrom, lockFile }: RangeReaderOptions) {
    const { database: meta } = environment.meta;
    this.#environment = environment;
    this.#verifiedRows = new VerifiedRows(clock);
    const verified = new VerifiedPages(clock);
    this.#verifiedPages = verified;
    this.#mapped =
      rangesFrom === 'package'
        ? undefined
        : new MappedEntries({ meta, key: lastVersionKey, lockFile, verified });
  }

  /** Throws `GuardError`, and `StoreDamagedError` for a file or a row that is damaged. */
  page(range: KeyRange, options: GuardedRangeOptions): RangePage {
    return this.#environment.entries.guard(() => {
      const snapshot = options.reverse === true ? undefined : this.#mapped?.open();
      if (snapshot === undefined) return this.#cursorPage(range, options);
      return this.#mappedPage(snapshot, range, options);
    });
  }

  #mappedPage(
    snapshot: MappedSnapshot,
    range: KeyRange,
    { guard, ...options }: GuardedRangeOptions,
  ): RangePage {
    if (guard !== undefined) {
      assertKey(guard.key);
      const refusal = guardRefusal(guard, this.#versionIn(snapshot, guard.key));
      if (refusal !== undefined) throw refusal;
    }
    this.#verifiedPages.begin();
    const rows = snapshot.rows(range);
    return rows === undefined ? { entries: [], more: false } : this.#readPage(rows, options);
  }

  #versionIn(snapshot: MappedSnapshot, key: Bytes): number | 'absent' {
    const row = snapshot.row(key);
    if (row !== undefined && !isIntactRecord(row)) throw this.#environment.entries.damaged(key);
    return row?.version ?? 'absent';
  }

  /** A page that the package reads. */
  #cursorPage(range: KeyRange, options: GuardedRangeOptions): RangePage {
    const refusal = options.guard && readGuard(this.#environment, options.guard);
    if (refusal !== undefined) throw refusal;
    // The package treats an empty bound as no bound.
    if (range.end?.length === 0) return { entries: [], more: false };
    const { entries, row } = this.#environment;
    const found = entries.database.getRange(
      options.reverse === true ? backward(range) : forward(range),
    );
    this.#verifiedRows.begin();
    const rows = new CursorRows(found, row, this.#verifiedRows);
    try {
      return this.#readPage(rows, options);
    } finally {
      rows.close();
    }
  }

  #readPage(rows: Rows, options: RangeOptions): RangePage {
    const { limit, bytesMax, filter, use } = options;
    const { row } = rows;
    const page = new EntryGatherer();
    let bytes = 0;
    while (rows.next()) {
      const decision = filter === undefined ? 'take' : filter(row);
      if (decision === 'stop') return { entries: page.entries(), more: true };
      if (decision === 'skip') {
        this.#verifyPassedOver(rows, page);
        continue;
      }
      if (decision === 'use') {
        const intact = page.laidOut(row);
        if (intact === undefined) throw this.#environment.entries.damaged(row.key);
        noteVerified(rows);
        use?.(intact);
        continue;
      }
      bytes += row.keyLength + row.valueLength;
      const full = page.count >= limit || bytes > bytesMax;
      if (full && page.count > 0) return { entries: page.entries(), more: true };
      if (!page.add(row)) throw this.#environment.entries.damaged(row.key);
      if (filter !== undefined) noteVerified(rows);
    }
    return { entries: page.entries(), more: false };
  }

  /** Verifies skipped rows, because a damaged row may be skipped by mistake. */
  #verifyPassedOver(rows: Rows, page: EntryGatherer): void {
    if (rows.isVerified()) return;
    if (!page.verify(rows.row)) throw this.#environment.entries.damaged(rows.row.key);
    rows.noteVerified();
  }
}

/**
 * Notes a row that was returned. Otherwise the rows before and behind it would be apart, of which
 * only some can be remembered, and those that are passed over would not follow each other.
 */
function noteVerified(rows: Rows): void {
  if (!rows.isVerified()) rows.noteVerified();
}

/**
 * A bound may be longer than any key. No key equals it then, and it is replaced by its longest
 * legal prefix, which is less than the bound.
 */
function bound(key: Bytes): { readonly at: Bytes; readonly cut: boolean } {
  const cut = key.length > keyBytesMax;
  return { at: cut ? key.subarray(0, keyBytesMax) : key, cut };
}

function forward(range: KeyRange): LmdbRangeOptions {
  const start = bound(range.start);
  const options: LmdbRangeOptions = {
    start: start.at,
    exclusiveStart: start.cut,
  };
  if (range.end === undefined) return options;
  const end = bound(range.end);
  return { ...options, end: end.at, inclusiveEnd: end.cut };
}

/** The package's reverse ranges begin at the upper end. */
function backward(range: KeyRange): LmdbRangeOptions {
  const last = bound(range.start);
  const options: LmdbRangeOptions = {
    end: last.at,
    inclusiveEnd: !last.cut,
    reverse: true,
  };
  if (range.end === undefined) return options;
  const first = bound(range.end);
  return { ...options, start: first.at, exclusiveStart: !first.cut };
}
