import { SharedRuns } from '../../../base/async/shared-runs.js';
import type { Randomness } from '../../../base/randomness.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTransient } from '../../table/transient.js';
import { ifTableExists } from './absent-table.js';
import { readList, requireWhole, type ShardBackup } from './backup-list.js';
import type { BackupStore } from './backup-store.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';
import { RestoreLog, type RestoreProgress } from './restore-progress.js';
import { requireEmpty, restoreShard } from './shard-backup.js';
import { createTableOf, type ShardPlace } from './shard-place.js';
import type { ReleaseOptions } from './shard-release.js';
import { guardedTable, shardInfo } from './shard-statuses.js';
import type { ShardTables } from './shard-tables.js';

// A restore has the row `restore_<shard>` in the control table, from before it writes its first row
// until after its last. While that is there, the shard has a part of what it should have, and is
// not attached. The row is written together with that of the shard: an `attach` that has not seen
// the one does not bring the shard online over the other.

export interface RestoreOfShard {
  /** Whether a restore of this backup that was begun goes on; false when absent. */
  readonly resume?: boolean;
  /**
   * Called while the files are checked and while rows are written: after each 1,000 rows, and after
   * each table. What it throws ends the restore, as a kill does.
   */
  readonly onProgress?: (progress: RestoreProgress) => void;
}

/** What the manager gives to restore its shards. */
export interface RestoreParts {
  readonly rows: ManagerRows;
  readonly randomness: Randomness;
  /** Throws `DefinitionError` for a shard that this program has no place of. */
  readonly place: (shard: string) => ShardPlace;
  readonly tables: Pick<ShardTables, 'lackedBy' | 'of'>;
}

/** One call of `restore`. */
interface Run {
  readonly backup: ShardBackup;
  /** What the row of the restore tells it by. */
  readonly id: string;
}

/** Writes a backup into the tables of its detached shard. */
export async function restoreBackup(
  parts: RestoreParts,
  store: BackupStore,
  name: string,
  { resume = false, onProgress }: RestoreOfShard,
): Promise<ShardBackup> {
  const { rows, randomness, tables: shardTables } = parts;
  const backup = await readList(store, name);
  const { shard, tables } = backup;
  const row = await requireDetached(rows, shard);
  const left = await rows.find('restore', shard);
  refuseLeft(left, backup, resume);
  const there = await shardTables.of(shard);
  const missing = Object.keys(tables).find((table) => !there.has(table));
  if (missing !== undefined) {
    throw new ManagerError(`no map has the table '${missing}' of the backup; make the map again`);
  }
  // Also those that another program has left: here they may be of the account of another shard.
  await shardTables.lackedBy(shard, await rows.list('map'));
  await requireWhole(store, backup, onProgress);
  const restored = [...there].filter(([table]) => Object.hasOwn(tables, table));
  for (const [table, gateway] of restored) {
    await createTableOf(parts.place(shard), table, `the shard '${shard}'`);
    if (left === undefined) await requireEmpty(gateway, resume ? endedAlready : undefined);
  }
  const run: Run = { backup, id: randomness.uuid() };
  await begin(rows, run, { row, left });
  const log = new RestoreLog(backup, 'writing', onProgress);
  for (const [table, gateway] of restored) {
    await writeTable({ rows, store, run, log }, { table, gateway });
  }
  await end(rows, run);
  return backup;
}

/**
 * Forgets that a restore of a shard has not ended; does nothing when there is none. Throws
 * `ManagerError` while tables of the shard have rows, unless they are to be kept, and when a
 * program resumes it meanwhile.
 */
export async function giveUpRestore(
  { rows, tables }: RestoreParts,
  shard: string,
  options: ReleaseOptions,
): Promise<void> {
  const left = await rows.find('restore', shard);
  if (left === undefined) return;
  const instead = `empty the tables of '${shard}', or say that their rows are kept (rows: 'kept')`;
  for (const table of (await tables.of(shard)).values()) {
    if (options.rows !== 'kept') await ifTableExists(() => requireEmpty(table, instead));
  }
  if (await rows.removeRead('restore', left)) return;
  if ((await rows.find('restore', shard)) === undefined) return;
  throw new ManagerError(`the restore into the shard '${shard}' was resumed meanwhile`);
}

/** The backup whose restore into a shard has not ended. One point read. */
export async function unendedRestore(
  rows: ManagerRows,
  shard: string,
): Promise<string | undefined> {
  return (await rows.find('restore', shard))?.texts['Backup'];
}

/** Throws `ManagerError` for the shard of a restore that has not ended. */
export function refuseRestoring(shard: string, backup: string | undefined): void {
  if (backup === undefined) return;
  throw new ManagerError(
    `the shard '${shard}' has a part of the backup '${backup}', whose restore has not ended: ` +
      `${howToEnd}; then run or cancel the operation that moves its partitions, if one is under ` +
      'way, and then attach it',
  );
}

/** As `refuseRestoring`, for any of several shards. A range read. */
export async function refuseAnyRestoring(
  rows: ManagerRows,
  shards: readonly string[],
): Promise<void> {
  for (const { name, texts } of await rows.list('restore')) {
    if (shards.includes(name)) refuseRestoring(name, texts['Backup'] ?? '');
  }
}

const howToEnd =
  'restore it again with resume, or give it up with giveUpRestore, and restore another one';

const endedAlready =
  'no restore is there to resume: if it has ended, attach the shard, else restore into empty tables';

async function requireDetached(rows: ManagerRows, shard: string): Promise<ManagerRow> {
  const row = await rows.find('shard', shard);
  if (row !== undefined && shardInfo(row).status === 'detached') return row;
  const status = row === undefined ? 'not registered' : shardInfo(row).status;
  throw new ManagerError(`the shard '${shard}' is ${status}; detach it`);
}

function refuseLeft(
  left: ManagerRow | undefined,
  { shard, name }: ShardBackup,
  resume: boolean,
): void {
  if (left === undefined) return;
  const found = left.texts['Backup'] ?? '';
  if (resume && found === name) return;
  throw new ManagerError(
    `the restore of '${found}' into the shard '${shard}' has not ended: ${howToEnd}`,
  );
}

/**
 * One transaction. Throws `ManagerError`, and nothing was written, when another program has changed
 * the shard or begun a restore.
 */
async function begin(
  rows: ManagerRows,
  { backup: { name, shard }, id }: Run,
  { row, left }: { readonly row: ManagerRow; readonly left: ManagerRow | undefined },
): Promise<void> {
  const texts = { Backup: name, Run: id };
  const isBegun = await rows.putAll([
    { kind: 'restore', name: shard, texts, etag: left?.etag },
    { kind: 'shard', name: shard, texts: row.texts, etag: row.etag },
  ]);
  // The answer to this transaction may have been lost.
  if (isBegun || (await rows.find('restore', shard))?.texts['Run'] === id) return;
  throw new ManagerError(
    `the shard '${shard}' was changed, or another restore was begun, before '${name}' was restored; ` +
      'nothing was written: look at the shard, and try again',
  );
}

/** The row of this run. Throws `ManagerError` when another one has taken it over, or ended it. */
async function requireRun(
  rows: ManagerRows,
  { backup: { name, shard }, id }: Run,
): Promise<ManagerRow> {
  const found = await rows.find('restore', shard);
  if (found?.texts['Run'] === id) return found;
  throw new ManagerError(
    `the restore of '${name}' into the shard '${shard}' was resumed or given up by another program; ` +
      'this one writes nothing more',
  );
}

async function end(rows: ManagerRows, run: Run): Promise<void> {
  const { shard } = run.backup;
  const found = await requireRun(rows, run);
  if (await rows.removeRead('restore', found)) return;
  // The answer to this delete may have been lost.
  if ((await rows.find('restore', shard)) !== undefined) await requireRun(rows, run);
}

/** Requests with rows that are under way at once. */
const concurrency = 8;

interface WriteParts {
  readonly rows: ManagerRows;
  readonly store: BackupStore;
  readonly run: Run;
  readonly log: RestoreLog;
}

async function writeTable(
  { rows, store, run, log }: WriteParts,
  { table, gateway }: { readonly table: string; readonly gateway: TableGateway },
): Promise<void> {
  const { name, tables } = run.backup;
  // Not thrown at once: what was sent is waited for.
  const stop = new AbortController();
  const { signal } = stop;
  const onPosition = (position: number): void => {
    if (signal.aborted) return;
    try {
      log.note(table, position);
    } catch (error) {
      stop.abort(error);
    }
  };
  const options = { isOver: true, concurrency, signal, onPosition };
  const lines = store.read(`${name}${table}.jsonl`);
  const report = await restoreShard(ownTable(rows, run, gateway, stop), lines, options);
  signal.throwIfAborted();
  const { failed, failures, position } = report;
  const count = tables[table] ?? 0;
  if (failed === 0 && position === count) return log.end(table, count);
  throw new ManagerError(
    `${table} has ${position - failed} of the ${count} rows of the backup; restore it again with ` +
      'resume',
    { cause: failures[0]?.error },
  );
}

/**
 * The table of a shard while this run restores it. Each request is sent after a look at the row of
 * the restore, which those that wait for it share; one that does not find the run stops it, and so
 * does an error that would not pass, as where the control table may not be read any more. So
 * another program that has taken the restore over may still meet the requests that were sent
 * before, `concurrency` at most, and no other.
 */
function ownTable(
  rows: ManagerRows,
  run: Run,
  table: TableGateway,
  stop: AbortController,
): TableGateway {
  const looks = new SharedRuns();
  const look = async (): Promise<void> => {
    stop.signal.throwIfAborted();
    await requireRun(rows, run).catch((error: unknown) => {
      // One that passes is an error of the request, which is sent again.
      if (!isTransient(error)) stop.abort(error);
      throw error;
    });
  };
  return guardedTable(table, () => looks.run('restore', undefined, look));
}
