import { SharedRuns } from '../../../base/async/shared-runs.js';
import { holdingTimers } from '../../../base/async/timers.js';
import type { Randomness } from '../../../base/randomness.js';
import { ModelError } from '../../rows/model-error.js';
import { ifTableExists } from '../../table/if-table-exists.js';
import { backOffs } from '../../table/back-offs.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTransient } from '../../table/transient.js';
import { endRestoreClaims } from '../shard-map/fence.js';

import { readList, requireWhole, type ShardBackup } from './backup-list.js';
import type { BackupStore } from './backup-store.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';
import { RestoreLog, type RestoreProgress } from './restore-progress.js';
import type { RestoringRun } from './restored-partition.js';
import { restoreTable } from './restored-table.js';
import { howToEnd } from './restoring-shards.js';
import { requireEmpty, rowsIn } from './shard-backup.js';
import { createTableOf, type ShardLocation } from './shard-location.js';
import type { ReleaseOptions } from './shard-release.js';
import { shardInfo } from './shard-statuses.js';
import type { ShardTables } from './shard-tables.js';

// A restore has the row `restore_<shard>` in the control table, from before it writes its first row
// until after its last. While that is there, the shard has a part of what it should have, and is
// not attached. The row is written together with that of the shard: an `attach` that has not seen
// the one does not bring the shard online over the other. Each partition is claimed while it is
// written, so that late requests of a run are refused after another run has taken over.

export interface RestoreOfShard {
  /** Whether a restore of this backup that was begun goes on; false when absent. */
  readonly resume?: boolean;
  /**
   * Stops the restore after the requests that are under way. Once rows were written it is resumed,
   * as after a kill.
   */
  readonly signal?: AbortSignal;
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
  /** Throws `DefinitionError` for a shard that this program has no location of. */
  readonly location: (shard: string) => ShardLocation;
  readonly tables: Pick<ShardTables, 'lackedBy' | 'of'>;
}

/** One call of `restore`. */
interface Run {
  readonly backup: ShardBackup;
  /** What the row of the restore, and its claims of partitions, tell it by. */
  readonly id: string;
  /** Whether it goes on with a restore that was begun. */
  readonly isResumed: boolean;
}

/** Writes a backup into the tables of its detached shard. */
export async function restoreBackup(
  parts: RestoreParts,
  store: BackupStore,
  name: string,
  { resume = false, signal, onProgress }: RestoreOfShard,
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
  await requireWhole(store, backup, { signal, onProgress });
  const restored = [...there].filter(([table]) => Object.hasOwn(tables, table));
  for (const [, gateway] of left === undefined ? restored : []) {
    await ifTableExists(() => requireEmpty(gateway, resume ? endedAlready : undefined));
  }
  signal?.throwIfAborted();
  const run: Run = { backup, id: randomness.uuid(), isResumed: left !== undefined };
  // Before tables are there: an operation takes an empty one for that of a shard without rows.
  await begin(rows, run, { row, left });
  for (const [table] of restored) {
    await createTableOf(parts.location(shard), table, `the shard '${shard}'`);
  }
  const log = new RestoreLog(backup, 'writing', onProgress);
  for (const [table, gateway] of restored) {
    const written = { rows, store, randomness, run, log, signal };
    await writeTable(written, { table, gateway });
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
  { rows, tables, randomness }: RestoreParts,
  shard: string,
  options: ReleaseOptions,
): Promise<void> {
  const left = await rows.find('restore', shard);
  if (left === undefined) return;
  const { rows: kept } = options;
  const there = [...(await tables.of(shard)).values()];
  const instead = `empty the tables of '${shard}', or say that their rows are kept (rows: 'kept')`;
  const requireAllEmpty = async (): Promise<void> => {
    for (const table of there) await ifTableExists(() => requireEmpty(table, instead));
  };
  if (kept === undefined) await requireAllEmpty();
  // A program that still restores ends; what it has sent is refused without its claims.
  const ending = { ...left.texts, Run: randomness.uuid() };
  await rows.put('restore', shard, ending, left.etag);
  const found = await rows.find('restore', shard);
  if (found === undefined) return;
  if (found.texts['Run'] === ending.Run) {
    if (kept === undefined) await requireAllEmpty();
    for (const table of there) await ifTableExists(() => endRestoreClaims(table));
    if (await rows.removeRead('restore', found)) return;
    if ((await rows.find('restore', shard)) === undefined) return;
  }
  throw new ManagerError(`the restore into the shard '${shard}' was resumed meanwhile`);
}

const endedAlready =
  'no restore is there to resume: if it has ended, attach the shard, else restore into empty tables';

async function requireDetached(rows: ManagerRows, shard: string): Promise<ManagerRow> {
  const row = await rows.find('shard', shard);
  if (row !== undefined && shardInfo(row).status === 'detached') return row;
  throw new ManagerError(
    row === undefined
      ? `the shard '${shard}' of the backup is not registered: make it again with rebuild, if its ` +
          'row was lost, or restore the rows into a table of your own with restoreShard'
      : `the shard '${shard}' is ${shardInfo(row).status}; detach it`,
  );
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

interface WriteParts {
  readonly rows: ManagerRows;
  readonly store: BackupStore;
  readonly randomness: Randomness;
  readonly run: Run;
  readonly log: RestoreLog;
  readonly signal: AbortSignal | undefined;
}

/** Attempts of a request that fails transiently. */
const attemptsMax = 6;

async function writeTable(
  { rows, store, randomness, run, log, signal }: WriteParts,
  { table, gateway }: { readonly table: string; readonly gateway: TableGateway },
): Promise<void> {
  const { name, tables } = run.backup;
  // Not thrown at once: what was sent is waited for.
  const stop = new AbortController();
  const ended = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  let written = 0;
  const onRows = (count: number): void => {
    written += count;
    if (ended.aborted) return;
    try {
      log.note(table, written);
    } catch (error) {
      stop.abort(error);
    }
  };
  const restoring: RestoringRun = {
    table: gateway,
    id: run.id,
    isResumed: run.isResumed,
    look: lookOf(rows, run, ended, stop),
    retries: { attemptsMax, backOffMs: backOffs.request, timers: holdingTimers, randomness },
  };
  const count = tables[table] ?? 0;
  const lines = store.read(`${name}${table}.jsonl`);
  const failure = await restoreTable(restoring, rowsIn(lines), onRows).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  ended.throwIfAborted();
  if (failure === undefined && written === count) return log.end(table, count);
  const { error } = failure ?? {};
  if (failure !== undefined && !(error instanceof ModelError)) throw failure.error;
  const details = error instanceof ManagerError ? `: ${error.message}` : '';
  throw new ManagerError(
    `${table} has ${written} of the ${count} rows of the backup; restore it again with ` +
      `resume${details}`,
    { cause: error },
  );
}

/**
 * Looks at the row of the restore; requests that wait for it share a look. One that does not find
 * the run stops it, and so does an error that would not pass, as where the control table may not be
 * read any more.
 */
function lookOf(
  rows: ManagerRows,
  run: Run,
  ended: AbortSignal,
  stop: AbortController,
): () => Promise<void> {
  const looks = new SharedRuns();
  const look = async (): Promise<void> => {
    ended.throwIfAborted();
    await requireRun(rows, run).catch((error: unknown) => {
      // One that passes is an error of the request, which is sent again.
      if (!isTransient(error)) stop.abort(error);
      throw error;
    });
  };
  return async () => {
    await looks.run('restore', undefined, look);
  };
}
