import { isRecord } from '../../../base/record.js';
import { DecodeError } from '../../rows/model-error.js';
import type { BackupStore } from './backup-store.js';
import { ManagerError } from './manager-errors.js';
import { RestoreLog, type RestoreProgress } from './restore-progress.js';
import { countRows } from './shard-backup.js';

/** A backup of a shard: a file for each table, and one that lists them, which is written last. */
export interface ShardBackup {
  /** Its names begin so, such as `north/2024-05-31T00-00-00.000Z_6f3e21aa/`. */
  readonly name: string;
  readonly shard: string;
  /** Rows of each table. */
  readonly tables: Readonly<Record<string, number>>;
}

/** The file that tells what a backup has. */
export const listName = 'backup.json';

/** The names of whole backups among those of files, the latest first. */
export function wholeAmong(names: readonly string[]): readonly string[] {
  return names
    .filter((name) => name.endsWith(`/${listName}`))
    .map((name) => name.slice(0, -listName.length))
    .toReversed();
}

/** Throws `ManagerError` for a backup that has not, or not any more, all that its list says. */
export async function requireWhole(
  store: BackupStore,
  backup: ShardBackup,
  {
    signal,
    onProgress,
  }: {
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?: ((progress: RestoreProgress) => void) | undefined;
  } = {},
): Promise<void> {
  const { name, tables } = backup;
  const log = new RestoreLog(backup, 'checking', onProgress);
  const names = new Set(await store.list(name));
  for (const [table, rows] of Object.entries(tables)) {
    const file = `${name}${table}.jsonl`;
    if (!names.has(file)) throw new ManagerError(`'${file}' is not there; ${nothingWritten}`);
    const onRow = (count: number): void => {
      signal?.throwIfAborted();
      log.note(table, count);
    };
    const found = await countRows(store.read(file), onRow).catch((error: unknown) => {
      if (!(error instanceof DecodeError)) throw error;
      throw new ManagerError(`'${file}': ${error.message}; ${nothingWritten}`, { cause: error });
    });
    if (found !== rows) {
      throw new ManagerError(
        `'${file}' has ${found} of the ${rows} rows of the backup; ${nothingWritten}`,
      );
    }
    log.end(table, rows);
  }
}

const nothingWritten =
  'the backup is not whole any more, and nothing was written: bring its file back, or take another ' +
  'one that namesOf names';

/** Throws `ManagerError` for a backup that is not whole. */
export async function readList(store: BackupStore, name: string): Promise<ShardBackup> {
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
