import { requireCounts, requireRate } from '../../definition/count.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyRange } from '../../definition/key-template.js';
import { isReservedKey } from '../../definition/reserved-keys.js';
import { storedAsOf } from '../../definition/stored-entity.js';
import { ValueError } from '../../rows/model-error.js';
import type { RowKey } from '../../rows/row.js';
import { isTooLargeTogether } from '../../table/divided.js';
import type { Entities } from '../../table/entities.js';
import {
  ConditionFailedError,
  EntityNotFoundError,
  TransactionFailedError,
} from '../../table/errors.js';
import { transactionWritesMax, type RowWrite, type TableGateway } from '../../table/gateway.js';
import type { PartitionQuery, TableScan } from '../../table/query-plan.js';
import type { RowSelection } from '../../table/row-selection.js';
import { sleep } from '../../../base/async/sleep.js';

/**
 * The rows to delete. Reading a whole table to find them must be requested by name. Rows that the
 * library keeps beside entities, whose keys begin with `~` or `!`, are kept unless the scope names
 * them: waiting messages, moving children, leases and the like belong to their writers.
 */
export type DeleteScope =
  | {
      /** One that begins with `~` or `!` is one of the library, and its rows are deleted. */
      readonly partitionKey: string;
      /**
       * Rows with these RowKeys; all that are not of the library when absent. A range that begins
       * with `~` or `!` asks for its rows with that initial.
       */
      readonly rowKeys?: KeyRange;
      /** OData; all rows of the range when absent. */
      readonly filter?: string;
    }
  | {
      readonly scan: 'table';
      /** OData. A condition on the PartitionKey avoids reading the rest of the table. */
      readonly filter: string;
    };

/**
 * The entities to delete, by typed keys and a typed condition. Rows of other types are kept.
 * Reading a whole table to find them must be requested by name.
 */
export type EntityDeleteScope<D extends AnyDefinition> =
  | PartitionQuery<D>
  | (TableScan<D> & {
      readonly scan: 'table';
      /** To delete every row of a table, drop the table. */
      readonly where: NonNullable<TableScan<D>['where']>;
    });

/** Entities, indexed or not. */
export type DeletedEntities<D extends AnyDefinition> = Pick<
  Entities<D>,
  'definition' | 'table' | 'query' | 'scanTable'
>;

/** The counts of this call so far. */
export interface DeleteProgress {
  /** Rows found. */
  readonly found: number;
  readonly deleted: number;
  /** Rows that had been deleted meanwhile by others, or by an earlier attempt of the client. */
  readonly gone: number;
  /** Rows that were kept because another writer changed them after they were found. */
  readonly changed: number;
  /** Where to resume; undefined at the end. A plain text that can be stored across crashes. */
  readonly cursor: string | undefined;
}

/** How much is deleted, and how fast. */
export interface DeleteOptions {
  /** Counts the rows and deletes none. */
  readonly dryRun?: boolean;
  /**
   * The cursor of an earlier call with the same scope. Without it, a call starts again, which does
   * no harm.
   */
  readonly cursor?: string;
  /**
   * The call ends when it has found this many rows, or up to a page of 1,000 more. Unlimited when
   * absent.
   */
  readonly rowsMax?: number;
  /** Maximum rows deleted per second, so that others can work meanwhile. Unlimited when absent. */
  readonly rowsPerSecondMax?: number;
  /** Deletes a row even if another writer changed it after it was found. */
  readonly evenIfChanged?: boolean;
  /** Concurrent transactions. 4 when absent. */
  readonly concurrency?: number;
  /** Called after each page. */
  readonly onProgress?: (progress: DeleteProgress) => void;
  /** The call ends after the current page. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly timers?: Timers;
}

/**
 * Deletes rows that cannot be deleted by dropping their table. Reads only keys, and deletes the
 * rows of a page in transactions of up to 100 rows of one partition, before it reads the next page.
 *
 * Sends one range read per 1,000 rows, and a transaction per 100 rows of a partition; one more for
 * each row that another writer changed or deleted meanwhile, and a range read for every third such
 * row of a transaction. A dry run only reads.
 *
 * Not atomic: a crash, an abort or an error leaves some rows deleted. Run it again, from the last
 * `cursor` or from the beginning. Rows that are added after the position of the reading are
 * deleted, too.
 */
export function deleteWhere(
  table: TableGateway,
  scope: DeleteScope,
  options?: DeleteOptions,
): Promise<DeleteProgress>;
/**
 * The same for entities of a definition, by typed conditions; with indexes, for their index rows as
 * well. Reads whole rows where the definition has older versions.
 */
export function deleteWhere<D extends AnyDefinition>(
  entities: DeletedEntities<D>,
  scope: EntityDeleteScope<D>,
  options?: DeleteOptions,
): Promise<DeleteProgress>;
export async function deleteWhere<D extends AnyDefinition>(
  source: TableGateway | DeletedEntities<D>,
  scope: DeleteScope | EntityDeleteScope<D>,
  options: DeleteOptions = {},
): Promise<DeleteProgress> {
  checkOptions(options);
  if ('definition' in source) {
    return deletePages(source.table, entityPages(source, scope as EntityDeleteScope<D>), options);
  }
  return deletePages(source, rowPages(source, scope as DeleteScope), options);
}

/** The rows of one page to delete. */
interface FoundRow extends RowKey {
  readonly etag: string;
}

/** Reads a page from a cursor on. */
type Pages = (
  cursor: string | undefined,
) => Promise<{ readonly rows: readonly FoundRow[]; readonly cursor?: string }>;

function rowPages(table: TableGateway, scope: DeleteScope): Pages {
  const selection = selectionOf(scope);
  const isKept = keptBy(scope);
  return async (cursor) => {
    const page = await table.page({ ...selection, select: [], cursor });
    return { ...page, rows: page.rows.filter((row) => !isKept(row)) };
  };
}

/** The rows of the library that are outside of the scope. */
function keptBy(scope: DeleteScope): (row: RowKey) => boolean {
  if ('scan' in scope) {
    return ({ partitionKey, rowKey }) => isReservedKey(partitionKey) || isReservedKey(rowKey);
  }
  const { partitionKey, rowKeys } = scope;
  if (isReservedKey(partitionKey)) return () => false;
  const asked = rowKeys?.from.charAt(0);
  return ({ rowKey }) => isReservedKey(rowKey) && rowKey.charAt(0) !== asked;
}

function entityPages<D extends AnyDefinition>(
  entities: DeletedEntities<D>,
  scope: EntityDeleteScope<D>,
): Pages {
  const query =
    'scan' in scope
      ? entities.scanTable({ ...scope, select: [] })
      : entities.query({ ...scope, select: [] });
  return async (cursor) => {
    const page = await query.page(cursor === undefined ? {} : { cursor });
    const rows = page.items.flatMap((entity): readonly FoundRow[] => {
      const stored = storedAsOf(entity);
      return stored === undefined ? [] : [{ ...stored.key, etag: stored.etag }];
    });
    return page.cursor === undefined ? { rows } : { rows, cursor: page.cursor };
  };
}

async function deletePages(
  table: TableGateway,
  pages: Pages,
  options: DeleteOptions,
): Promise<DeleteProgress> {
  const { clock = systemClock, rowsMax = Number.POSITIVE_INFINITY, signal } = options;
  const startedMs = clock.monotonicMs();
  let progress: DeleteProgress = { ...nothingYet, cursor: options.cursor };
  for (;;) {
    const { cursor } = progress;
    const page = await pages(cursor);
    const counts =
      options.dryRun === true ? nothingYet : await deleteRows(table, page.rows, options);
    progress = {
      found: progress.found + page.rows.length,
      deleted: progress.deleted + counts.deleted,
      gone: progress.gone + counts.gone,
      changed: progress.changed + counts.changed,
      cursor: page.cursor,
    };
    options.onProgress?.(progress);
    if (page.cursor === undefined || progress.found >= rowsMax) return progress;
    if (!isAborted(signal)) await keepRate(options, progress.deleted, startedMs);
    if (isAborted(signal)) return progress;
  }
}

/** A function, because the signal may change during an await. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

const nothingYet = { found: 0, deleted: 0, gone: 0, changed: 0 };

type Counts = Pick<DeleteProgress, 'deleted' | 'gone' | 'changed'>;

function selectionOf(scope: DeleteScope): RowSelection {
  if ('scan' in scope) {
    if (scope.filter.trim() !== '') return { filter: scope.filter };
    throw new ValueError('no filter: to delete every row of a table, drop the table');
  }
  const { partitionKey, rowKeys, filter } = scope;
  return { partitionKey, rowKey: rowKeys, filter };
}

function checkOptions({ rowsMax, rowsPerSecondMax, concurrency }: DeleteOptions): void {
  requireCounts({ rowsMax, concurrency });
  requireRate('rowsPerSecondMax', rowsPerSecondMax);
}

async function keepRate(
  { rowsPerSecondMax, clock = systemClock, timers = holdingTimers, signal }: DeleteOptions,
  deleted: number,
  startedMs: number,
): Promise<void> {
  if (rowsPerSecondMax === undefined) return;
  const earlyMs = (deleted / rowsPerSecondMax) * 1000 - (clock.monotonicMs() - startedMs);
  if (earlyMs > 0) await sleep(timers, earlyMs, signal);
}

async function deleteRows(
  table: TableGateway,
  rows: readonly FoundRow[],
  { evenIfChanged = false, concurrency = 4 }: DeleteOptions,
): Promise<Counts> {
  const { writesMax = transactionWritesMax } = table;
  const groups = groupsOf(rows, evenIfChanged, writesMax);
  const counts = { deleted: 0, gone: 0, changed: 0 };
  await concurrently(groups, concurrency, async (group) => {
    const done = await deleteGroup(table, group);
    counts.deleted += done.deleted;
    counts.gone += done.gone;
    counts.changed += done.changed;
  });
  return counts;
}

type Delete = Extract<RowWrite, { readonly kind: 'delete' }>;

/** Groups of rows of one partition: a page is in key order. */
function groupsOf(
  rows: readonly FoundRow[],
  evenIfChanged: boolean,
  rowsMax: number,
): readonly Delete[][] {
  const groups: Delete[][] = [];
  let key: RowKey | undefined;
  for (const { partitionKey, rowKey, etag } of rows) {
    const last = groups.at(-1);
    const write: Delete = {
      kind: 'delete',
      key: { partitionKey, rowKey },
      etag: evenIfChanged ? '*' : etag,
    };
    const fits = key?.partitionKey === partitionKey && (last?.length ?? 0) < rowsMax;
    if (fits && last !== undefined) last.push(write);
    else groups.push([write]);
    ({ key } = write);
  }
  return groups;
}

/** More conflicting rows in one transaction mean that another program works on the same rows. */
const obstaclesMax = 3;

/** Deletes rows together; conflicting rows are removed and the rest is retried. */
async function deleteGroup(table: TableGateway, group: readonly Delete[]): Promise<Counts> {
  const counts = { deleted: 0, gone: 0, changed: 0 };
  let left = [...group];
  for (let obstacles = 1; left.length > 0; obstacles++) {
    try {
      await table.transact(left);
      return { ...counts, deleted: left.length };
    } catch (error) {
      if (left.length > 1 && isTooLargeTogether(error)) {
        return added(counts, await deleteHalves(table, left));
      }
      const obstacle = obstacleOf(error);
      if (obstacle === undefined) throw error;
      left.splice(obstacle.index, 1);
      counts[obstacle.kind] += 1;
    }
    if (obstacles % obstaclesMax > 0) continue;
    const found = await lookAgain(table, left);
    counts.gone += left.length - found.length;
    left = found;
  }
  return counts;
}

/** A table that writes further rows with each may not take a hundred at once. */
async function deleteHalves(table: TableGateway, group: readonly Delete[]): Promise<Counts> {
  const middle = Math.ceil(group.length / 2);
  const first = await deleteGroup(table, group.slice(0, middle));
  return added(first, await deleteGroup(table, group.slice(middle)));
}

function added(left: Counts, right: Counts): Counts {
  return {
    deleted: left.deleted + right.deleted,
    gone: left.gone + right.gone,
    changed: left.changed + right.changed,
  };
}

/** The rows that still exist, by one range read. */
async function lookAgain(table: TableGateway, rows: readonly Delete[]): Promise<Delete[]> {
  const [first, last] = [rows.at(0)?.key, rows.at(-1)?.key];
  if (first === undefined || last === undefined) return [];
  const { partitionKey } = first;
  const range = { from: first.rowKey, to: last.rowKey };
  const page = await table.page({ partitionKey, rowKey: range, select: [] });
  const there = new Set(page.rows.map(({ rowKey }) => rowKey));
  const end = page.rows.at(-1)?.rowKey;
  const isBehind = (rowKey: string) =>
    page.cursor !== undefined && (end === undefined || end < rowKey);
  return rows.filter(({ key }) => there.has(key.rowKey) || isBehind(key.rowKey));
}

interface Obstacle {
  readonly index: number;
  readonly kind: 'gone' | 'changed';
}

function obstacleOf(error: unknown): Obstacle | undefined {
  if (!(error instanceof TransactionFailedError) || error.index === undefined) return undefined;
  const { index, reason } = error;
  if (reason instanceof ConditionFailedError) return { index, kind: 'changed' };
  return reason instanceof EntityNotFoundError ? { index, kind: 'gone' } : undefined;
}
