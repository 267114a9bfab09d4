import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Timers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { noteKey } from '../../src/engines/journal/base-note.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import type { JournalFile, JournalFiles } from '../../src/engines/journal/journal-files.js';
import {
  defaultJournalLimits,
  type JournalLimits,
} from '../../src/engines/journal/journal-limits.js';
import {
  openJournaledStore,
  type JournalBase,
  type JournaledStore,
} from '../../src/engines/journal/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreDamagedError, StoreWriteError, type StoreFailedError } from '../../src/kv/errors.js';
import type { Ingestion } from '../../src/kv/ingestion.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import type { Store } from '../../src/kv/store.js';
import { encodeTuple } from '../../src/kv/tuple.js';
import { temporaryLocation } from './engine-lmdb.js';
import { manualTimers } from './manual-timers.js';

const smallLimits: JournalLimits = { ...defaultJournalLimits, fileBytes: 65_536 };

export interface OpenOptions {
  readonly files?: (disk: JournalFiles) => JournalFiles;
  readonly base?: (memory: JournalBase) => JournalBase;
  readonly limits?: Partial<JournalLimits>;
  /** By default a pass begins only where a test or a bound asks for it. */
  readonly timers?: Timers;
  readonly onFailed?: (error: StoreFailedError) => void;
  readonly onTrouble?: (error: Error | undefined) => void;
  readonly onUnremoved?: (error: Error) => void;
  readonly onUnclosed?: (error: Error) => void;
  readonly onRead?: (files: number, openings: number) => void;
}

/** A data directory whose data file is a model in memory, which lasts as long as the directory. */
export interface JournalDirectory extends AsyncDisposable {
  readonly directory: string;
  readonly memory: JournalBase;
  /** Opening while another store is open stands for the process after a kill. */
  open(options?: OpenOptions): Promise<JournaledStore>;
}

export async function journalDirectory(): Promise<JournalDirectory> {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const clock = manualClock();
  const memory = await openMemoryStore({ clock });
  // Data of an ended process remain.
  memory.close = () => Promise.resolve();
  return {
    directory,
    memory,
    open: ({
      files = same,
      base = same,
      limits,
      onFailed,
      onTrouble,
      onUnremoved,
      onUnclosed,
      onRead,
      timers = manualTimers(),
    } = {}) =>
      openJournaledStore({
        base: base(memory),
        files: files(new DiskFiles({ directory, sync: false })),
        clock,
        timers,
        randomness: systemRandomness,
        limits: { ...smallLimits, ...limits },
        ...(onFailed !== undefined && { onFailed }),
        ...(onTrouble !== undefined && { onTrouble }),
        ...(onUnremoved !== undefined && { onUnremoved }),
        ...(onUnclosed !== undefined && { onUnclosed }),
        ...(onRead !== undefined && { onRead }),
      }),
    [Symbol.asyncDispose]: remove,
  };
}

/** Takes the note of an opening and all rows, but no later note: no pass ends. */
export function withoutNotes(base: JournalBase): JournalBase {
  let isOpened = false;
  return new Proxy(base, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      if (name !== 'ingest') return found.bind(target);
      return async (ingestion: Ingestion) => {
        const isNote = ingestion.entries.some(({ key }) => Buffer.from(noteKey).equals(key));
        if (isNote && isOpened) throw new StoreWriteError('ENOSPC: no space left on device');
        isOpened ||= isNote;
        await target.ingest(ingestion);
      };
    },
  });
}

/** A base that is told something and does not answer. */
export function holding() {
  const hold = { isOn: false, release: (): void => undefined };
  const base = (memory: JournalBase): JournalBase =>
    new Proxy(memory, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        if (name !== 'ingest') return found.bind(target);
        return async (ingestion: Ingestion) => {
          if (hold.isOn) await new Promise<void>((resolve) => (hold.release = resolve));
          hold.isOn = false;
          await target.ingest(ingestion);
        };
      },
    });
  return { hold, base };
}

/** Waits until the folder of the journal has just these folders: a removal follows its pass. */
export async function untilFolders(directory: string, expected: readonly string[]): Promise<void> {
  const folders = () => readdir(join(directory, 'journal'));
  while (!isDeepStrictEqual(await folders(), expected)) await pause(1);
}

function same<Value>(value: Value): Value {
  return value;
}

/** Files whose writes go through a function of the test. `write`: the real one. */
export function withWrites(
  decide: (write: JournalFile['write']) => JournalFile['write'],
): (disk: JournalFiles) => JournalFiles {
  return (disk) => ({
    name: disk.name,
    retire: () => disk.retire(),
    retired: () => disk.retired(),
    removeRetired: (signal) => disk.removeRetired(signal),
    begin: (generation) => disk.begin(generation),
    removeBegun: () => disk.removeBegun(),
    removeAll: (signal) => disk.removeAll(signal),
    async create(...made) {
      const file = await disk.create(...made);
      const write = decide((bytes, position) => file.write(bytes, position));
      return {
        name: file.name,
        number: file.number,
        bytes: file.bytes,
        write,
        detachment: () => file.detachment(),
        close: () => file.close(),
        remove: () => file.remove(),
      };
    },
  });
}

export function rowKey(name: string): Uint8Array {
  return Buffer.concat([partitionPrefix('T', 'account', 1, 'p'), encodeTuple([name])]);
}

/** Resolves with the version of the row. */
export async function putRow(store: Store, name: string, value = name): Promise<number> {
  const puts = [{ key: rowKey(name), value: Buffer.from(value) }];
  const result = await store.commit({ checks: [], puts, deletes: [] });
  assert.ok(result.ok);
  return result.version;
}

export async function rowOf(store: Store, name: string): Promise<string | undefined> {
  const found = await store.get(rowKey(name));
  return found && Buffer.from(found.value).toString();
}

/** What `assert.rejects` expects of a start that finds its files damaged, and says what to do. */
export function damaged(message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof StoreDamagedError);
    assert.match(error.message, message);
    assert.match(error.message, /No data were changed\. .*backup of the whole data directory\.$/);
    return true;
  };
}
