import { requireCounts } from '../../definition/count.js';
import type { Clock } from '../../../base/clock.js';
import { dueBackups, type BackupIntervals } from '../../../placement/due-backups.js';
import { tableExists } from './absent-table.js';
import { listName, wholeAmong, type ShardBackup } from './backup-list.js';
import type { BackupStore } from './backup-store.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';
import { backUpShard } from './shard-backup.js';
import { rowsPerReport } from './restore-progress.js';
import {
  giveUpRestore,
  restoreBackup,
  type RestoreOfShard,
  type RestoreParts,
} from './shard-restore.js';
import { isServing, shardInfo, type ShardInfo } from './shard-statuses.js';
import { refuseUnbound } from './shard-tables.js';

export interface BackupSchedule {
  readonly to: BackupStore;
  /** How often data of each criticality are backed up, in milliseconds. */
  readonly intervals: BackupIntervals;
  /** How many backups of each shard stay, from 1. */
  readonly keep: number;
  readonly signal?: AbortSignal;
  /**
   * Called after each 1,000 rows of a table, and after each table. What it throws fails the backup
   * of the shard.
   */
  readonly onProgress?: (progress: BackupProgress) => void;
}

/** How far the backup of a table is. How many rows it has is not known before. */
export interface BackupProgress {
  readonly shard: string;
  readonly table: string;
  /** Rows that are read. */
  readonly rows: number;
}

export interface BackupReport {
  readonly made: readonly ShardBackup[];
  /** Shards whose backup, or the deletion of former ones, failed. The others are backed up. */
  readonly failed: readonly { readonly shard: string; readonly error: unknown }[];
  /** Names of the backups that were deleted. */
  readonly deleted: readonly string[];
  /** Shards that hold nothing with an interval, and were not backed up: say what they hold. */
  readonly unplanned: readonly string[];
  /**
   * When the next one is due: in the past when it failed now. Undefined: no shard has an interval
   * and a backup.
   */
  readonly next: Date | undefined;
}

/** What the manager gives to its backups. */
export interface BackupParts extends RestoreParts {
  readonly clock: Clock;
  readonly shards: () => Promise<readonly ShardInfo[]>;
}

/** A backup without its list may be one that another program is just making, for so long. */
const abandonedMs = 86_400_000;

/** Backups of the shards of a manager: of all tables that maps have there. */
export class ShardBackups {
  readonly #parts: BackupParts;

  constructor(parts: BackupParts) {
    this.#parts = parts;
  }

  /**
   * Makes the backups that are due, by the most critical data that each shard holds, the most
   * overdue first, and deletes those of a shard that are more than `keep`: for a timer that calls
   * it again and again. When each began stands in the control table. A backup counts when it is
   * whole; what a killed call has left is none, and is deleted a day later. Two programs at once
   * may make one twice, and so may one whose clock was ahead before. Detached shards are left out.
   * A shard that fails stands in `failed`, is due again with the next call, and the others are
   * backed up: also one of which the account is that of another shard (`ShardTakenError`), or knows
   * nothing of a map that leads there, and one whose row changes meanwhile, such as by `detach`.
   * Nothing of such a shard is deleted. Throws the reason of `signal`, the errors of the control
   * table, and `ValueError` for a schedule that keeps none.
   */
  makeDue(schedule: BackupSchedule): Promise<BackupReport> {
    return backUpDue(this.#parts, schedule);
  }

  /** The names of the whole backups of a shard, the latest first. */
  namesOf(store: BackupStore, shard: string): Promise<readonly string[]> {
    return backupsOf(store, shard);
  }

  /**
   * Writes a backup into the empty tables of its shard, which is detached; then attach it. Makes
   * tables that are not there. The control table says that it is under way, from before the first
   * row until after the last, and `attach` refuses the shard. After a kill call it again with
   * `resume`, which writes all rows anew; another backup is refused until `giveUpRestore`. A
   * program that still restores when another one resumes or gives up ends with `ManagerError`; what
   * it has sent before changes nothing, however late it comes, since each partition is claimed.
   * Throws `ManagerError`, before any row is written, for a backup or a file of it that is not
   * whole, a shard that is not detached, tables that maps do not have or that have rows, and a
   * restore that has not ended, and `ShardTakenError` for the account of another shard; later
   * `ManagerError` for rows that are refused, when another program takes over, and when one claims
   * a partition to move it. Throws the reason of `signal`. Reads the files twice. A range read of
   * the maps and of each table, the point reads of the look by `attach`, a transaction and a
   * delete. For each partition an insert and a point read, or two point reads and a transaction
   * when it is resumed, and a transaction for up to 97 rows. A point read before requests that are
   * sent together.
   */
  restore(store: BackupStore, name: string, options: RestoreOfShard = {}): Promise<ShardBackup> {
    return restoreBackup(this.#parts, store, name, options);
  }

  /**
   * Gives up a restore that was begun and has not ended, such as to restore another backup; does
   * nothing when there is none. Throws `ManagerError` while the tables of the shard have rows,
   * unless they are to be kept, such as those of an account that another tool has restored: a part
   * of a backup would be taken for all of it. A range read of the maps, two of each table, three
   * point reads, a write and a delete; a delete more for each claim that the restore has left.
   */
  giveUpRestore(shard: string, options: { readonly rows?: 'kept' } = {}): Promise<void> {
    return giveUpRestore(this.#parts, shard, options);
  }
}

async function backUpDue(parts: BackupParts, schedule: BackupSchedule): Promise<BackupReport> {
  const { to, intervals, keep, signal } = schedule;
  requireCounts({ keep });
  const nowMs = (): number => Math.floor(parts.clock.nowMicros() / 1000);
  const made: ShardBackup[] = [];
  const failed: { readonly shard: string; readonly error: unknown }[] = [];
  const deleted: string[] = [];
  const due = dueBackups(intervals, notAhead(await backedUp(parts), nowMs()), nowMs());
  const unplanned = due.filter(({ criticality }) => criticality === undefined);
  for (const { shard, criticality } of due) {
    if (criticality === undefined) continue;
    signal?.throwIfAborted();
    const begunMs = nowMs();
    try {
      const backup = await backUpAll(parts, schedule, { shard, begunMs });
      await note(parts.rows, { shard, begunMs, nowMs: nowMs() });
      made.push(backup);
      deleted.push(...(await deleteOthers(to, { backup, keep, nowMs: nowMs() })));
    } catch (error) {
      signal?.throwIfAborted();
      failed.push({ shard, error });
    }
  }
  const next = nextOf(intervals, await backedUp(parts));
  const unnamed = unplanned.map(({ shard }) => shard);
  return Object.freeze({ made, failed, deleted, unplanned: unnamed, next });
}

async function backupsOf(store: BackupStore, shard: string): Promise<readonly string[]> {
  return wholeAmong(await store.list(prefixOf(shard)));
}

/**
 * The row of a shard that can be backed up. Throws `ManagerError` for a detached one, and where a
 * map leads to a table that knows nothing of it, `ShardTakenError` for the account of another
 * shard: a backup of that would take the place of one that is needed.
 */
async function requireOwnTables({ rows, tables }: BackupParts, shard: string): Promise<ManagerRow> {
  const row = await rows.find('shard', shard);
  if (row === undefined || shardInfo(row).status === 'detached') {
    throw new ManagerError(
      `the shard '${shard}' was detached, and is backed up when it is attached`,
    );
  }
  const { unbound } = await tables.lackedBy(shard, await rows.list('map'));
  const instead =
    'it is not backed up; give the right account, or detach the shard, restore it and attach it';
  refuseUnbound(shard, unbound, instead);
  return row;
}

/** Throws `ManagerError` when somebody has changed the row of a shard. */
async function requireUnchanged(
  { rows }: BackupParts,
  shard: string,
  before: ManagerRow,
): Promise<void> {
  if ((await rows.find('shard', shard))?.etag === before.etag) return;
  throw new ManagerError(
    `the shard '${shard}' was changed while it was backed up, and may have been restored; the next ` +
      'call backs it up',
  );
}

async function backUpAll(
  parts: BackupParts,
  { to, signal, onProgress }: BackupSchedule,
  { shard, begunMs }: { readonly shard: string; readonly begunMs: number },
): Promise<ShardBackup> {
  const row = await requireOwnTables(parts, shard);
  const at = new Date(begunMs).toISOString().replaceAll(':', '-');
  const name = `${prefixOf(shard)}${at}_${parts.randomness.uuid().slice(0, 8)}/`;
  const counts: Record<string, number> = {};
  const hasAll = isServing(shardInfo(row).status);
  for (const [table, gateway] of await parts.tables.of(shard)) {
    // One that was made while the shard is offline is not there yet.
    if (!hasAll && !(await tableExists(gateway))) continue;
    let rows = 0;
    const counted = async function* (): AsyncGenerator<string, void, undefined> {
      for await (const line of backUpShard(gateway)) {
        signal?.throwIfAborted();
        rows += 1;
        if (rows % rowsPerReport === 0) onProgress?.({ shard, table, rows });
        yield line;
      }
    };
    await to.write(`${name}${table}.jsonl`, counted());
    counts[table] = rows;
    onProgress?.({ shard, table, rows });
  }
  await requireUnchanged(parts, shard, row);
  const backup = Object.freeze({ name, shard, tables: counts });
  await to.write(`${name}${listName}`, lineOf({ shard, tables: counts }));
  await requireFiles(to, backup);
  return backup;
}

/**
 * Throws `ManagerError`, and deletes the list, when files of a backup are not there: a program
 * whose clock is ahead took them for those of an abandoned one.
 */
async function requireFiles(to: BackupStore, { name, tables }: ShardBackup): Promise<void> {
  const names = new Set(await to.list(name));
  const missing = Object.keys(tables)
    .map((table) => `${name}${table}.jsonl`)
    .find((file) => !names.has(file));
  if (missing === undefined) return;
  await to.delete(`${name}${listName}`);
  throw new ManagerError(
    `'${missing}' was deleted while the backup was made; look whether the clock of another ` +
      'program is ahead; the next call makes it again',
  );
}

async function* lineOf(value: object): AsyncGenerator<string, void, undefined> {
  yield `${JSON.stringify(value)}\n`;
}

/**
 * Deletes all but the last `keep` backups of a shard. Never deletes the one that was just made: its
 * name may sort before those made under a clock that was ahead. Deletes the list of a backup first,
 * because files without a list do not count as a backup.
 */
async function deleteOthers(
  to: BackupStore,
  {
    backup: made,
    keep,
    nowMs,
  }: { readonly backup: ShardBackup; readonly keep: number; readonly nowMs: number },
): Promise<readonly string[]> {
  const names = await to.list(prefixOf(made.shard));
  const complete = wholeAmong(names);
  const surplus = complete.filter((backup) => backup !== made.name).slice(keep - 1);
  const begun = new Set(names.map((name) => name.slice(0, name.lastIndexOf('/') + 1)));
  const abandoned = [...begun].filter(
    (backup) => !complete.includes(backup) && begunMsOf(backup) < nowMs - abandonedMs,
  );
  for (const backup of [...surplus, ...abandoned]) {
    await to.delete(`${backup}${listName}`);
    for (const name of names.filter((each) => each.startsWith(backup))) await to.delete(name);
  }
  return [...surplus, ...abandoned];
}

/** Infinite for a name of somebody else, which is left alone. */
function begunMsOf(backup: string): number {
  const [, day, hour, minute, rest] =
    /\/(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-([\d.]+Z)_[0-9a-f]{8}\/$/.exec(backup) ?? [];
  const ms = Date.parse(`${day}${hour}:${minute}:${rest}`);
  return Number.isNaN(ms) ? Infinity : ms;
}

function prefixOf(shard: string): string {
  return `${encodeURIComponent(shard)}/`;
}

interface BackedUp {
  readonly name: string;
  readonly holds: readonly string[];
  readonly lastMs?: number;
}

/** A detached shard is one that nobody knows about. */
async function backedUp({ rows, shards }: BackupParts): Promise<readonly BackedUp[]> {
  const notes = new Map((await rows.list('backup')).map(({ name, texts }) => [name, texts]));
  const known = (await shards()).filter(({ status }) => status !== 'detached');
  return known.map(({ name, holds }) => {
    const lastMs = Number(notes.get(name)?.['BegunAtMs'] ?? NaN);
    return Number.isNaN(lastMs) ? { name, holds } : { name, holds, lastMs };
  });
}

/** A note of the future is that of a clock that was ahead: the shard is due. */
function notAhead(shards: readonly BackedUp[], nowMs: number): readonly BackedUp[] {
  return shards.map(({ lastMs, ...shard }) =>
    lastMs === undefined || lastMs > nowMs ? shard : { ...shard, lastMs },
  );
}

interface Noted {
  readonly shard: string;
  readonly begunMs: number;
  readonly nowMs: number;
}

/** A later backup of another program stays noted, and a note of the future does not. */
async function note(rows: ManagerRows, { shard, begunMs, nowMs }: Noted): Promise<void> {
  for (;;) {
    const found = await rows.find('backup', shard);
    const foundMs = Number(found?.texts['BegunAtMs'] ?? NaN);
    if (foundMs >= begunMs && foundMs <= nowMs) return;
    const texts = { BegunAtMs: String(begunMs) };
    if (await rows.put('backup', shard, texts, found?.etag)) return;
  }
}

function nextOf(intervals: BackupIntervals, shards: readonly BackedUp[]): Date | undefined {
  const times = shards.flatMap(({ holds, lastMs }) => {
    const lengths = holds.flatMap((each) =>
      Object.hasOwn(intervals, each) ? [intervals[each] ?? Infinity] : [],
    );
    return lastMs === undefined || lengths.length === 0 ? [] : [lastMs + Math.min(...lengths)];
  });
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}
