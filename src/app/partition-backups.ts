import { compareBytes, type Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { canBeMember } from '../kv/member-store.js';
import type { Entry } from '../kv/store.js';
import { keyAfter } from '../kv/tuple.js';
import { boundText } from '../partition/bound-text.js';
import { backupKey, storeKeys } from '../partition/keys.js';
import type { RestoreSource } from '../partition/operations/restore.js';
import {
  decodeBackupNote,
  encodeBackupNote,
  type BackupNote,
  type RangeRow,
} from '../partition/rows.js';
import type { ServedMember } from '../partition/served-partitions.js';
import { openEngine, type EngineSettings } from './open-engine.js';

/** All data of a store. */
export const allData = { start: Buffer.alloc(0), end: storeKeys.start };

const pageOptions = { limit: 1_000, bytesMax: 4 << 20 } as const;

/** A directory cannot have or get a backup. The message says why. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/**
 * A copy of a range, in a data directory of its own: entries with their versions and checksums,
 * which `tabularium check` reads. A note says of which range it is, and that it is whole.
 */
export class Backup {
  readonly #store: ServedMember;
  readonly #directory: string;

  constructor(store: ServedMember, directory: string) {
    this.#store = store;
    this.#directory = directory;
  }

  /** Works with the store, and closes it. */
  async use<Result>(work: (store: ServedMember) => Promise<Result>): Promise<Result> {
    try {
      return await work(this.#store);
    } finally {
      await this.close();
    }
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Notes that the backup of the range is whole. */
  async finish({ start, end }: RangeRow): Promise<void> {
    const floor = await this.#store.lastVersion();
    const value = encodeBackupNote({ start, end, floor });
    await this.#store.commit({ checks: [], puts: [{ key: backupKey, value }], deletes: [] });
  }

  /** Undefined: the backup was not finished, or it is none. */
  async note(): Promise<BackupNote | undefined> {
    const found = await this.#store.get(backupKey);
    return found && decodeBackupNote(found.value);
  }

  async isEmpty(): Promise<boolean> {
    const { entries } = await this.#store.range(
      { start: allData.start },
      { ...pageOptions, limit: 1 },
    );
    return entries.length === 0;
  }

  /** Throws `BackupError` when some of its partitions are outside of the range. */
  async assertWithin({ id, start, end }: RangeRow): Promise<void> {
    const [first] = (await this.#store.range(allData, { ...pageOptions, limit: 1 })).entries;
    const edge = { ...pageOptions, limit: 1, reverse: true };
    const [last] = (await this.#store.range(allData, edge)).entries;
    if (first === undefined || last === undefined) return;
    const isWithin =
      compareBytes(start, first.key) <= 0 && (end === undefined || compareBytes(last.key, end) < 0);
    if (isWithin) return;
    const note = await this.note();
    const from = textOf(note?.start, 'the beginning');
    throw new BackupError(
      `The backup in ${this.#directory} has partitions from ${from} to ` +
        `${textOf(note?.end, 'the end')}, and range ${id} does not have all of them. Merge or ` +
        'split ranges until it has.',
    );
  }

  async source(): Promise<RestoreSource> {
    const note = await this.note();
    return { pages: this.#pages(), floor: note?.floor ?? 0 };
  }

  async *#pages(): AsyncGenerator<readonly Entry[]> {
    let isMore = true;
    for (let rest = allData; isMore;) {
      const page = await this.#store.range(rest, pageOptions);
      if (page.entries.length > 0) yield page.entries;
      const last = page.entries.at(-1);
      isMore = page.more && last !== undefined;
      if (last !== undefined) rest = { ...allData, start: Buffer.from(keyAfter(last.key)) };
    }
  }
}

/** A directory that is made, or is empty. Throws `BackupError`, and what engines throw. */
export async function newBackup(settings: EngineSettings, directory: string): Promise<Backup> {
  const backup = await open(settings, directory);
  if (await backup.isEmpty()) return backup;
  await backup.close();
  throw new BackupError(`${directory} is not empty: give a new directory for each backup.`);
}

/** Throws `BackupError`, and what engines throw. */
export async function storedBackup(settings: EngineSettings, directory: string): Promise<Backup> {
  const backup = await open(settings, directory);
  if ((await backup.note()) !== undefined) return backup;
  await backup.close();
  throw new BackupError(`There is no whole backup of partitions in ${directory}.`);
}

async function open(settings: EngineSettings, directory: string): Promise<Backup> {
  const storage = { kind: 'directory', directory } as const;
  const store = await openEngine({ ...settings, storage, journal: 'off' }, 'exclusive');
  invariant(canBeMember(store), 'every engine can be a member');
  return new Backup(store, directory);
}

function textOf(bound: Bytes | undefined, none: string): string {
  return bound === undefined || bound.length === 0 ? none : boundText(bound);
}
