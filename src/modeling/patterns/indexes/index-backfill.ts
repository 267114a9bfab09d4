import type { RowKey, StoredRow } from '../../rows/row.js';
import { DecodeError } from '../../table/errors.js';
import type { RowWrite } from '../../table/gateway.js';
import { allRows } from '../../table/all-rows.js';
import type { RowSelection } from '../../table/row-selection.js';
import { operationBytes, transactionBytesMax } from '../../table/request-size.js';
import { planRowListChange } from '../index-entities/row-list.js';
import { listChanges } from './beside-plan.js';
import { transactIf, writeIf } from '../../table/conditional-write.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { requirePace, type CheckOptions, type CheckPage, type IndexCheck } from './index-check.js';
import type { Drift } from './index-drift.js';
import { isCopyEntry, type IndexEntry } from './index-entry.js';
import type { IndexPlaces } from './index-places.js';
import { touch, type IndexRepair } from './index-repair.js';
import {
  entitySource,
  readScanCursor,
  readScanPage,
  writeScanCursor,
  type ScanPage,
} from './index-scan.js';
import type { IndexUpdater } from './index-updater.js';
import type { ResolvedIndex } from './with-indexes.js';
import { keyOf, nameOfKey } from '../../rows/row-parts.js';

/** The progress of a backfill after a page. */
export interface BackfillPage {
  /**
   * `fill`: index rows are written for entities. `check`: both directions are compared and
   * repaired.
   */
  readonly phase: 'fill' | 'check';
  /** Entities of the page, or comparisons. */
  readonly checked: number;
  /** Rows and list entries that were written. */
  readonly written: number;
  /** Differences that could not be repaired. */
  readonly drifts: readonly Drift[];
  /** Resumes after this page, also in another process. Absent: the index is complete. */
  readonly cursor?: string;
}

/** An entity, and the index entry that it needs. */
interface Work {
  readonly row: StoredRow;
  readonly entry: IndexEntry;
}

/** Entities in one transaction, each with its index row. */
const groupMax = 48;
/**
 * Bounds the chunks that a change of a long list writes: they have 64 KiB each, or somewhat more.
 */
const listGroupMax = 16;
const groupBytesMax = transactionBytesMax / 2;

/**
 * Fills a new index of a table that is in use. All writers must know the index before it begins, so
 * that they index all later changes; existing entities are indexed page by page. A page is done
 * when every entity of it was seen unchanged after its row was written.
 */
export class IndexBackfill {
  readonly #places: IndexPlaces;
  readonly #updater: IndexUpdater;
  readonly #repair: IndexRepair;
  readonly #check: IndexCheck;

  constructor(
    places: IndexPlaces,
    parts: {
      readonly updater: IndexUpdater;
      readonly repair: IndexRepair;
      readonly check: IndexCheck;
    },
  ) {
    this.#places = places;
    this.#updater = parts.updater;
    this.#repair = parts.repair;
    this.#check = parts.check;
  }

  async *pages(
    index: ResolvedIndex,
    options: CheckOptions,
  ): AsyncGenerator<BackfillPage, void, undefined> {
    const { source, cursor } = readScanCursor(options.cursor);
    // A cursor holds the phase: 0 to fill; 1, with the cursor of the check, to check.
    if (source === 0) yield* this.#fill(index, cursor, options);
    const checkCursor = source === 0 ? undefined : cursor;
    const { cursor: _, ...rest } = options;
    const checkOptions = checkCursor === undefined ? rest : { ...rest, cursor: checkCursor };
    for await (const page of this.#check.pages([index], true, checkOptions)) yield checkPage(page);
  }

  async *#fill(
    index: ResolvedIndex,
    from: string | undefined,
    { pageRows = 200, concurrency = 16 }: CheckOptions,
  ): AsyncGenerator<BackfillPage, void, undefined> {
    requirePace({ pageRows, concurrency });
    let cursor = from;
    do {
      const page = await readScanPage(this.#places, entitySource(this.#places), cursor, pageRows);
      const filled = await this.#fillPage(index, page, concurrency);
      cursor = page.cursor;
      const next = { source: cursor === undefined ? 1 : 0, cursor };
      yield { ...filled, phase: 'fill', cursor: writeScanCursor(next) };
    } while (cursor !== undefined);
  }

  async #fillPage(
    index: ResolvedIndex,
    { rows }: ScanPage,
    concurrency: number,
  ): Promise<Pick<BackfillPage, 'checked' | 'written' | 'drifts'>> {
    const drifts: Drift[] = [];
    const works = rows.flatMap((row) => this.#workOf(index, row, drifts));
    let written = 0;
    // Concurrent requests for one list would only conflict.
    await concurrently(groupsOf(index, works), concurrency, async (groups) => {
      for (const group of groups) {
        if (await this.#write(index, group)) written += group.length;
        else for (const work of group) if (await this.#mend(work, drifts)) written += 1;
      }
    });
    if (index.place !== 'same-partition') {
      const changed = await this.#changedSince(works);
      await concurrently(changed, concurrency, async (work) => {
        await this.#mend(work, drifts);
      });
    }
    return { checked: works.length, written, drifts };
  }

  #workOf(index: ResolvedIndex, row: StoredRow, drifts: Drift[]): readonly Work[] {
    if (!this.#places.codec.matches(row)) return [];
    try {
      return this.#places.entriesOf(index, row).map((entry) => ({ row, entry }));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const place = { primary: keyOf(row), key: keyOf(row) };
      drifts.push({ kind: 'unreadable', index: index.name, reason: error.message, ...place });
      return [];
    }
  }

  /** Writes a group at once, assuming that none of its rows exist. False when one does. */
  async #write(index: ResolvedIndex, group: readonly Work[]): Promise<boolean> {
    const table = this.#places.table;
    const touches = [...new Set(group.map(({ row }) => row))].map(touch);
    const [first] = group;
    if (first === undefined) return true;
    if (index.kind === 'copy') {
      const inserts = group.flatMap(({ entry }) => insertOf(entry));
      if (index.place === 'same-partition') return transactIf(table, [...touches, ...inserts]);
      const [insert] = inserts;
      return insert === undefined || writeIf(this.#places.tableOf(index), insert);
    }
    const [list] = listChanges(group.map(({ entry }) => ({ entry, verb: 'add' as const })));
    if (list === undefined) return true;
    if (index.place !== 'same-partition') {
      await this.#updater.changeList(index, list);
      return true;
    }
    const writes = await planRowListChange(table, list.key, index.layout, list.change);
    return writes.length === 0 || transactIf(table, [...touches, ...writes]);
  }

  async #mend({ row, entry }: Work, drifts: Drift[]): Promise<boolean> {
    const { index, key } = entry;
    const primary = keyOf(row);
    if (await this.#repair.repair({ index, primary, key })) return true;
    drifts.push({ kind: 'taken', by: undefined, index: index.name, primary, key });
    return false;
  }

  /** The entities of a page that have changed since it was read. Up to three range reads. */
  async #changedSince(works: readonly Work[]): Promise<readonly Work[]> {
    const [first, last] = [works.at(0), works.at(-1)];
    if (first === undefined || last === undefined) return [];
    const etags = new Map<string, string>();
    for (const range of rangesOf(first.row, last.row)) {
      const rows = allRows(this.#places.table, { ...range, select: [] });
      for await (const row of rows) etags.set(nameOfKey(row), row.etag);
    }
    return works.filter(({ row }) => etags.get(nameOfKey(row)) !== row.etag);
  }
}

/**
 * Selections that together cover all rows from one to another, both included. The service can seek
 * to each of these ranges, but not to one with `or`.
 */
function rangesOf(first: RowKey, last: RowKey): readonly RowSelection[] {
  const [from, to] = [first.rowKey, last.rowKey];
  const [after, before] = [first.partitionKey, last.partitionKey];
  if (after === before) return [{ partitionKey: after, rowKey: { from, to } }];
  return [
    { partitionKey: after, rowKey: { from } },
    { partitionKey: { after, before } },
    { partitionKey: before, rowKey: { to } },
  ];
}

function insertOf(entry: IndexEntry): readonly RowWrite[] {
  return isCopyEntry(entry) ? [{ kind: 'insert', row: entry.row }] : [];
}

interface OpenGroup {
  readonly works: Work[];
  readonly keys: Set<string>;
  bytes: number;
}

/**
 * Groups of works that one request can write: entities of one partition, entities of one list, or a
 * single one. Groups in the same inner list must be written one after another.
 */
function groupsOf(
  index: ResolvedIndex,
  works: readonly Work[],
): Iterable<readonly (readonly Work[])[]> {
  const isAlone = index.kind === 'copy' && index.place !== 'same-partition';
  if (isAlone) return works.map((work) => [[work]]);
  const max = index.kind === 'list' ? listGroupMax : groupMax;
  const groups = new Map<string, OpenGroup[]>();
  for (const work of works) {
    const key = nameOfKey(work.entry.key);
    const name = index.kind === 'list' ? key : work.row.partitionKey;
    const bytes = bytesOf(work);
    const known = groups.get(name) ?? [];
    groups.set(name, known);
    let group = known.at(-1);
    const isFull =
      group !== undefined &&
      (group.works.length >= max ||
        group.bytes + bytes > groupBytesMax ||
        // A transaction writes a row once. A second entity with the key finds it taken.
        (index.kind === 'copy' && group.keys.has(key)));
    if (group === undefined || isFull) {
      group = { works: [], keys: new Set(), bytes: 0 };
      known.push(group);
    }
    group.works.push(work);
    group.keys.add(key);
    group.bytes += bytes;
  }
  return [...groups.values()].map((each) => each.map((group) => group.works));
}

function bytesOf({ row, entry }: Work): number {
  const inserted = insertOf(entry).reduce((sum, write) => sum + operationBytes(write), 0);
  return operationBytes(touch(row)) + inserted;
}

function checkPage({ checked, repaired, drifts, cursor }: CheckPage): BackfillPage {
  const page = { phase: 'check' as const, checked, written: repaired, drifts };
  if (cursor === undefined) return page;
  return { ...page, cursor: writeScanCursor({ source: 1, cursor }) };
}
