import type { Clock } from '../../../base/clock.js';
import type { Randomness } from '../../../base/randomness.js';
import { isRecord } from '../../../base/record.js';
import { dueBackups, type BackupIntervals } from '../../../placement/due-backups.js';
import { DecodeError, DefinitionError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { isTableThere } from './absent-table.js';
import type { BackupStore } from './backup-store.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';
import { tablesIn } from './map-registration.js';
import { backUpShard, countRows, requireEmpty, restoreShard } from './shard-backup.js';
import { createTableOf, type ShardPlace } from './shard-place.js';
import { isServing, shardInfo, type ShardInfo } from './shard-statuses.js';
import { refuseUnbound, type ShardTables } from './shard-tables.js';

export interface BackupSchedule {
  readonly to: BackupStore;
  /** How often data of each criticality are backed up, in milliseconds. */
  readonly intervals: BackupIntervals;
  /** How many backups of each shard stay, from 1. */
  readonly keep: number;
  readonly signal?: AbortSignal;
  /** Called after each table. */
  readonly onProgress?: (progress: { readonly shard: string; readonly table: string }) => void;
}

/** A backup of a shard: a file for each table, and one that lists them, which is written last. */
export interface ShardBackup {
  /** Its names begin so, such as `north/2024-05-31T00-00-00.000Z_6f3e21aa/`. */
  readonly name: string;
  readonly shard: string;
  /** Rows of each table. */
  readonly tables: Readonly<Record<string, number>>;
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
export interface BackupParts {
  readonly rows: ManagerRows;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly shards: () => Promise<readonly ShardInfo[]>;
  /** Throws `DefinitionError` for a shard that this program has no place of. */
  readonly place: (shard: string) => ShardPlace;
  readonly tables: Pick<ShardTables, 'lackedBy'>;
}

const listName = 'backup.json';
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
   * table, and `DefinitionError` for a schedule that keeps none.
   */
  makeDue(schedule: BackupSchedule): Promise<BackupReport> {
    return backUpDue(this.#parts, schedule);
  }

  /** The names of the whole backups of a shard, the latest first. */
  namesOf(store: BackupStore, shard: string): Promise<readonly string[]> {
    return backupsOf(store, shard);
  }

  /**
   * Writes a backup into the empty tables of its shard, which is detached; then attach it. Tables
   * that are not there are made. With `resume` also over what a killed call has left. Throws
   * `ManagerError`, before anything is written, for a backup or a file of it that is not whole, a
   * shard that is not detached, and tables that maps do not have or that have rows. Reads the files
   * twice.
   */
  restore(
    store: BackupStore,
    name: string,
    { resume = false }: { readonly resume?: boolean } = {},
  ): Promise<ShardBackup> {
    return restoreBackup(this.#parts, store, name, resume);
  }
}

/** The tables of a shard, as they are whatever its status. */
async function tablesOf(
  { rows, place }: BackupParts,
  shard: string,
): Promise<ReadonlyMap<string, TableGateway>> {
  const names = (await rows.list('map')).flatMap(({ texts }) => tablesIn(texts));
  return new Map(names.map((name) => [name, place(shard).table(name)]));
}

async function backUpDue(parts: BackupParts, schedule: BackupSchedule): Promise<BackupReport> {
  const { to, intervals, keep, signal } = schedule;
  if (!Number.isSafeInteger(keep) || keep < 1) {
    throw new DefinitionError(`keep: ${keep}; give a whole number of backups, from 1 on`);
  }
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

/** The names of whole backups among those of files, the latest first. */
function wholeAmong(names: readonly string[]): readonly string[] {
  return names
    .filter((name) => name.endsWith(`/${listName}`))
    .map((name) => name.slice(0, -listName.length))
    .toReversed();
}

async function restoreBackup(
  parts: BackupParts,
  store: BackupStore,
  backup: string,
  resume: boolean,
): Promise<ShardBackup> {
  const found = await readList(store, backup);
  const { shard } = found;
  const info = (await parts.shards()).find(({ name }) => name === shard);
  if (info?.status !== 'detached') {
    throw new ManagerError(
      `the shard '${shard}' is ${info?.status ?? 'not registered'}; detach it`,
    );
  }
  const there = await tablesOf(parts, shard);
  const missing = Object.keys(found.tables).find((table) => !there.has(table));
  if (missing !== undefined) {
    throw new ManagerError(`no map has the table '${missing}' of the backup; make the map again`);
  }
  await requireWhole(store, found);
  for (const [name, table] of there) {
    if (!Object.hasOwn(found.tables, name)) continue;
    await createTableOf(parts.place(shard), name, `the shard '${shard}'`);
    if (!resume) await requireEmpty(table);
  }
  for (const [name, rows] of Object.entries(found.tables)) {
    const table = there.get(name);
    if (table === undefined) continue;
    const lines = store.read(`${backup}${name}.jsonl`);
    const { failed, failures, position } = await restoreShard(table, lines, { isOver: true });
    if (failed === 0 && position === rows) continue;
    throw new ManagerError(
      `${name} has ${position - failed} of the ${rows} rows of the backup; restore it again`,
      { cause: failures[0]?.error },
    );
  }
  return found;
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
  for (const [table, gateway] of await tablesOf(parts, shard)) {
    // One that was made while the shard is offline is not there yet.
    if (!hasAll && !(await isTableThere(gateway))) continue;
    let rows = 0;
    const counted = async function* (): AsyncGenerator<string, void, undefined> {
      for await (const line of backUpShard(gateway)) {
        signal?.throwIfAborted();
        rows += 1;
        yield line;
      }
    };
    await to.write(`${name}${table}.jsonl`, counted());
    counts[table] = rows;
    onProgress?.({ shard, table });
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

/** Throws `ManagerError` for a backup that has not, or not any more, all that its list says. */
async function requireWhole(store: BackupStore, { name, tables }: ShardBackup): Promise<void> {
  const names = new Set(await store.list(name));
  for (const [table, rows] of Object.entries(tables)) {
    const file = `${name}${table}.jsonl`;
    if (!names.has(file)) throw new ManagerError(`'${file}' is not there; ${nothingWritten}`);
    const found = await countRows(store.read(file)).catch((error: unknown) => {
      if (!(error instanceof DecodeError)) throw error;
      throw new ManagerError(`'${file}': ${error.message}; ${nothingWritten}`, { cause: error });
    });
    if (found === rows) continue;
    throw new ManagerError(
      `'${file}' has ${found} of the ${rows} rows of the backup; ${nothingWritten}`,
    );
  }
}

const nothingWritten =
  'the backup is not whole any more, and nothing was written: bring its file back, or take another ' +
  'one that namesOf names';

async function readList(store: BackupStore, name: string): Promise<ShardBackup> {
  const list = `${name}${listName}`;
  if (!(await store.list(name)).includes(list)) {
    throw new ManagerError(
      `'${name}' is no whole backup: it has no ${listName}, which is written last; whatever made it ` +
        'was stopped, or is still at it; take one that namesOf names',
    );
  }
  for await (const line of store.read(list)) {
    const value: unknown = JSON.parse(line);
    const [shard, tables] = isRecord(value) ? [value['shard'], value['tables']] : [];
    if (typeof shard !== 'string' || !isRecord(tables)) break;
    const counts = Object.entries(tables).map(([table, rows]) => [table, Number(rows)] as const);
    return Object.freeze({ name, shard, tables: Object.fromEntries(counts) });
  }
  throw new DecodeError(`'${list}' is no list of a backup`);
}

/**
 * Deletes all but so many backups of a shard, and never the one that was just made, which may have
 * an earlier name than those of a clock that was ahead. Deletes the list first: what is left of a
 * backup then is none.
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
