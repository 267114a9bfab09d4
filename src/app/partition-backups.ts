import { endsWithin } from '../base/async/deadline.js';
import type { Timers } from '../base/async/timers.js';
import { compareBytes, concatBytes, equalBytes, type Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { messageOf } from '../base/thrown.js';
import { isDataDirectory } from '../engines/lmdb/directory.js';
import { StoreWriteError } from '../kv/errors.js';
import { canBeMember } from '../kv/member-store.js';
import { pagesOf } from '../kv/pages.js';
import type { Entry, KeyRange } from '../kv/store.js';
import { partitionPrefixLength } from '../kv/partition-prefix.js';
import { decodeTuple, elementEnd, prefixRange } from '../kv/tuple.js';
import { boundOf, boundText } from '../partition/bound-text.js';
import { backupKey, storeKeys } from '../partition/keys.js';
import type { RestoreSource } from '../partition/operations/restore.js';
import { answeringReads, backupDirectory } from '../partition/reach.js';
import {
  decodeBackupNote,
  encodeBackupNote,
  type BackupNote,
  type RangeRow,
} from '../partition/rows.js';
import type { ServedMember } from '../partition/served-partitions.js';
import { openEngine, type EngineSettings } from './open-engine.js';
import { ContainerNames, type NamesOf } from './partitions/container-names.js';
import { unnamedContainers } from './partitions/references.js';

/** All data of a store. */
const allData: KeyRange = { start: Buffer.alloc(0), end: storeKeys.start };

/** Tables and queues that a message names. */
const placesNamed = 10;

/** The end of the store of a backup is waited for no longer than this, in milliseconds. */
const closesWithinMs = 10_000;

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
  readonly #timers: Timers;
  /** The places of tables and queues whose entries are not restored. */
  #leftOut: ReadonlySet<string> = new Set();
  #restored = allData;
  /** Prefixes of tables or queues. */
  #renamed: { readonly from: Bytes; readonly to: Bytes } | undefined;

  constructor(store: ServedMember, directory: string, timers: Timers) {
    this.#store = store;
    this.#directory = directory;
    this.#timers = timers;
  }

  /** Works with the store, and closes it. */
  async use<Result>(work: (store: ServedMember) => Promise<Result>): Promise<Result> {
    try {
      return await work(this.#store);
    } finally {
      await this.close();
    }
  }

  /** One whose disk hangs is closed when it answers, and not waited for. */
  async close(): Promise<void> {
    await endsWithin(this.#store.close(), { limitMs: closesWithinMs, timers: this.#timers });
  }

  /** Lets `copy` fill it, and notes that it is whole. Throws `BackupError` when it is not. */
  async make(range: RangeRow, copy: (store: ServedMember) => Promise<void>): Promise<void> {
    try {
      await copy(this.#store);
      await this.#finish(range);
    } catch (error) {
      throw new BackupError(cutOff(this.#directory, error), { cause: error });
    }
  }

  async #finish({ start, end }: RangeRow): Promise<void> {
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

  /** The entries that are restored. */
  get restored(): KeyRange {
    return this.#restored;
  }

  /**
   * Makes its entries those of another table or queue, or, when `of` names a table or queue of the
   * backup, the entries of that one, and leaves the others out. `to`: the prefix of the keys of the
   * other one. Throws `BackupError` when the entries are not of a single table or queue, or of the
   * other kind, or when there are none of that name.
   */
  async renameTo(to: Bytes, of?: string): Promise<void> {
    if (of !== undefined) this.#restored = await this.#entriesOf(of);
    const [first, last] = await this.#edges();
    if (first === undefined || last === undefined) return;
    const from = containerPrefixOf(first.key);
    const isOne = equalBytes(from, containerPrefixOf(last.key)) && decodeTuple(from)[2] !== 0;
    if (!isOne) {
      throw new BackupError(
        `The backup in ${this.#directory} is not of one table or queue. Say of which one entries are ` +
          `restored: --of ${boundText(from)}, for one.`,
      );
    }
    const [service] = decodeTuple(from);
    if (decodeTuple(to)[0] !== service) {
      throw new BackupError(`The backup in ${this.#directory} is of a ${String(service)}.`);
    }
    this.#renamed = { from, to };
  }

  /** The entries of a table or queue of the backup, which `of` names, or has by its number. */
  async #entriesOf(of: string): Promise<KeyRange> {
    const bound = boundOf(of);
    const [, , container, ...more] = bound === undefined ? [] : decodeTuple(bound);
    const isNumber = typeof container === 'number' && container !== 0 && more.length === 0;
    const prefix = isNumber ? bound : await new ContainerNames(this.#store).container(of);
    const range = prefix && prefixRange(prefix);
    const found = range && (await this.#store.range(range, { ...pageOptions, limit: 1 }));
    if (range !== undefined && found?.entries.length === 1) return range;
    throw new BackupError(
      `The backup in ${this.#directory} has no entries of ${of}. Name a table or queue of it by its ` +
        'number, such as table/ACCOUNT/#7, or by its name where the backup has that as well.',
    );
  }

  /**
   * Leaves the entries of tables and queues out that neither exist nor have their names in this
   * backup: no request could read them. Their places. Throws `BackupError` when nothing is left.
   */
  async leaveDeletedOut(namesOf: NamesOf): Promise<readonly string[]> {
    const own = new ContainerNames(this.#store);
    let containers = 0;
    const deleted = await unnamedContainers(this.#store, {
      namesOf: async (service, account) =>
        new Map([...(await namesOf(service, account)), ...(await own.namesOf(service, account))]),
      onKeys: (keys) => {
        containers += keys;
        return Promise.resolve();
      },
    });
    const [first] = deleted;
    if (first !== undefined && deleted.length === containers) {
      const places = deleted.map(({ place }) => place);
      throw new BackupError(allDeleted(this.#directory, first.place, places));
    }
    this.#leftOut = new Set(deleted.map(({ place }) => place));
    return [...this.#leftOut];
  }

  /** Throws `BackupError` when some of its partitions are outside of the range. */
  async assertWithin({ id, start, end }: RangeRow): Promise<void> {
    const edges = await this.#edges();
    const [first, last] = edges.map((entry) => entry && this.#keyOf(entry));
    if (first === undefined || last === undefined) return;
    const isWithin =
      compareBytes(start, first) <= 0 && (end === undefined || compareBytes(last, end) < 0);
    if (isWithin) return;
    if (this.#renamed !== undefined) {
      throw new BackupError(
        `The entries would be from ${boundText(first.subarray(0, partitionPrefixLength(first)))} ` +
          `on, and range ${id} does not have all of them. Merge or split ranges until it has.`,
      );
    }
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

  /** The first and the last entry. */
  async #edges(): Promise<readonly (Entry | undefined)[]> {
    const one = { ...pageOptions, limit: 1 };
    const [first] = (await this.#store.range(this.#restored, one)).entries;
    const [last] = (await this.#store.range(this.#restored, { ...one, reverse: true })).entries;
    return [first, last];
  }

  /** The key that the entry is restored with. */
  #keyOf({ key }: Entry): Bytes {
    if (this.#renamed === undefined) return key;
    return concatBytes(this.#renamed.to, key.subarray(this.#renamed.from.length));
  }

  #isLeftOut({ key }: Entry): boolean {
    return this.#leftOut.size > 0 && this.#leftOut.has(boundText(containerPrefixOf(key)));
  }

  async *#pages(): AsyncGenerator<readonly Entry[]> {
    // The range serves nobody meanwhile.
    const store = answeringReads(this.#store, this.#timers, backupDirectory);
    for await (const entries of pagesOf(store, this.#restored, pageOptions)) {
      yield entries
        .filter((entry) => !this.#isLeftOut(entry))
        .map((entry) => {
          const { value, version } = entry;
          return { key: this.#keyOf(entry), value, version };
        });
    }
  }
}

/**
 * Begins a backup in a directory that is empty or does not exist. Throws `BackupError`, and the
 * errors of engines.
 */
export async function newBackup(settings: EngineSettings, directory: string): Promise<Backup> {
  const backup = await open(settings, directory);
  if (await backup.isEmpty()) return backup;
  await backup.close();
  throw new BackupError(`${directory} is not empty: give a new directory for each backup.`);
}

/** Makes no directory. Throws `BackupError`, and what engines throw. */
export async function storedBackup(settings: EngineSettings, directory: string): Promise<Backup> {
  const none = new BackupError(`There is no whole backup of partitions in ${directory}.`);
  if (!isDataDirectory(directory)) throw none;
  const backup = await open(settings, directory);
  if ((await backup.note()) !== undefined) return backup;
  await backup.close();
  throw none;
}

async function open(settings: EngineSettings, directory: string): Promise<Backup> {
  const storage = { kind: 'directory', directory } as const;
  const store = await openEngine({ ...settings, storage, journal: 'off' }, 'exclusive');
  invariant(canBeMember(store), 'every engine can be a member');
  return new Backup(store, directory, settings.timers);
}

function cutOff(directory: string, error: unknown): string {
  const why = messageOf(error).replace(/\.?$/, '.');
  const room = error instanceof StoreWriteError ? 'see that its disk has room, ' : '';
  return (
    `${why} What is in ${directory} is no whole backup: ${room}delete it, and give the next one a ` +
    'new directory.'
  );
}

/** `place`: the first one of `places`, the tables and queues of the backup. */
function allDeleted(directory: string, place: string, places: readonly string[]): string {
  const why =
    'deleted since, or is of other data. No request could read what would be restored, so nothing ' +
    'was changed.';
  const [service = ''] = place.split('/', 1);
  const as = `exists: --as ${service}/ACCOUNT/${service.toUpperCase()}.`;
  if (places.length === 1) {
    return (
      `The backup in ${directory} is of ${place}, which was ${why} Restore it into a ${service} ` +
      `that ${as}`
    );
  }
  const more = places.length > placesNamed ? ` and ${places.length - placesNamed} more` : '';
  return (
    `The backup in ${directory} is of ${places.slice(0, placesNamed).join(', ')}${more}, each of ` +
    `which was ${why} Restore one after the other, each into an empty range and a table or queue ` +
    `of its kind: --of ${place}, for one, into a ${service} that ${as}`
  );
}

/** Service, account and table or queue. */
function containerPrefixOf(key: Bytes): Bytes {
  return key.subarray(0, elementEnd(key, elementEnd(key, elementEnd(key, 0))));
}

function textOf(bound: Bytes | undefined, none: string): string {
  return bound === undefined || bound.length === 0 ? none : boundText(bound);
}
