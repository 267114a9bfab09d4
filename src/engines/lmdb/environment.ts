import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { open } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { DataDirectoryError } from './directory/data-directory-error.js';
import { pageBytes } from './check/page.js';
import { CursorRow } from './cursor-row.js';
import { reasonText, startError } from './disk-error.js';
import { dataFile, lockFile } from './directory/file-kinds.js';
import { newEnvironment } from './mapped/native-addon.js';
import { prepareFiles } from './new-files.js';
import { Records } from './records.js';

/**
 * The LMDB environment of a data directory. `entries` holds the content of the store, `meta` the
 * engine's own records. Both keep a version with each value, which LMDB stores before it.
 */
export interface Environment {
  readonly root: RootDatabase<Bytes, Bytes>;
  readonly entries: Records;
  /** The row at the position of a range over `entries`. */
  readonly row: CursorRow;
  readonly meta: Records;
}

/** The files of an environment that must stay at their paths while it is open. */
export function filesOf(directory: string): string[] {
  return [join(directory, dataFile), lockFileOf(directory)];
}

export function lockFileOf(directory: string): string {
  return join(directory, lockFile);
}

function fileOptions(path: string) {
  return {
    path,
    noSubdir: true,
    pageSize: pageBytes,
    maxDbs: 4,
    keyEncoding: 'binary',
    encoding: 'binary',
  } as const;
}

/** Opens an existing environment read-only, without waiting for locks. */
export function openReadOnly(directory: string): RootDatabase<Bytes, Bytes> {
  assertPresent(directory);
  return open<Bytes, Bytes>({ ...fileOptions(join(directory, dataFile)), readOnly: true });
}

/**
 * Without this, reading one page that is not in the cache of the system would read megabytes.
 * `ColdReads` reads neighbouring pages ahead where many are needed. The types of the package lack
 * this option.
 */
const withoutReadAhead = { noReadAhead: true } as const;

export interface EnvironmentOptions {
  /** False leaves syncing to the operating system. */
  readonly sync: boolean;
}

/**
 * Opens the environment; creates it in an empty directory. Blocks the process while another one
 * writes.
 */
export function openEnvironment(directory: string, options: EnvironmentOptions): Environment {
  prepareFiles(directory);
  return openPrepared(directory, options);
}

/**
 * Opens an environment that this process has open already, here or in another thread. Opens no
 * file: when a process closes any descriptor of the lock file, it loses all its locks on it, and
 * LMDB then treats its readers as dead and makes the locks anew.
 */
export function openAgain(directory: string, options: EnvironmentOptions): Environment {
  assertPresent(directory);
  return openPrepared(directory, options);
}

/** `MDB_NOSUBDIR`, `MDB_NOSYNC` and `MDB_NORDAHEAD`, as the options of `openPrepared` set them. */
const nativeFlags = { noSubdir: 0x4000, noSync: 0x1_0000, noReadAhead: 0x80_0000 } as const;
/** The size of the map to begin with, as the package has it. */
const firstMapBytes = 0x2_0000;

/**
 * Opens the data file of an existing environment without a transaction, so without waiting for a
 * lock. Later openings of the environment share its file as long as it is open.
 */
export function attach(directory: string, { sync }: EnvironmentOptions): { close(): void } {
  assertPresent(directory);
  const environment = newEnvironment();
  const { path, pageSize, maxDbs } = fileOptions(join(directory, dataFile));
  const options = {
    path,
    pageSize,
    maxDbs,
    mapSize: firstMapBytes,
    keyBytes: Buffer.alloc(0x1000),
  };
  const flags = nativeFlags.noSubdir | nativeFlags.noReadAhead | (sync ? 0 : nativeFlags.noSync);
  const failure = environment.open(options, flags, 0);
  invariant(!failure, 'the engine throws what went wrong');
  return environment;
}

/** The package would make the files of a directory that was removed, and the directory, anew. */
function assertPresent(directory: string): void {
  for (const file of filesOf(directory)) statSync(file);
}

function openPrepared(directory: string, options: EnvironmentOptions): Environment {
  const path = join(directory, dataFile);
  try {
    const root = open<Bytes, Bytes>({
      ...fileOptions(path),
      // With it a commit would resolve before it is on disk.
      overlappingSync: false,
      // The store forms its own groups. The package's batches also reject promises that have no
      // handler.
      eventTurnBatching: false,
      noSync: !options.sync,
      ...withoutReadAhead,
    });
    const row = new CursorRow();
    const entries = {
      name: 'entries',
      useVersions: true,
      keyEncoder: {
        writeKey(key: Bytes, target: Bytes, start: number): number {
          target.set(key, start);
          return start + key.length;
        },
        readKey: (source: Bytes, start: number, end: number) => row.setKey(source, start, end),
      },
      encoder: {
        encode: (value: Bytes) => value,
        decode: (source: Bytes, length: number) => row.setValue(source, length),
      },
    };
    const meta = {
      name: 'meta',
      useVersions: true,
      keyEncoding: 'binary',
      encoding: 'binary',
    } as const;
    return {
      root,
      entries: new Records(root.openDB<Bytes, Bytes>(entries), path),
      row,
      meta: new Records(root.openDB<Bytes, Bytes>(meta), path),
    };
  } catch (error) {
    const failure = startError(directory, error);
    if (failure instanceof DataDirectoryError) throw failure;
    throw new DataDirectoryError(
      'damaged',
      `The data file ${path} cannot be opened: ${reasonText(error)}.`,
      { cause: error },
    );
  }
}

/**
 * Bytes of the data file that no tree uses: the space of deleted entries, which writes use first.
 * The types of the package lack these statistics.
 */
export function reusableBytes({ root, entries, meta }: Environment): number {
  const main: Statistics = root.getStats();
  const trees = [main, main.free, entries.database.getStats(), meta.database.getStats()];
  const used = trees.reduce((sum: number, tree: Statistics = {}) => {
    const { treeBranchPageCount = 0, treeLeafPageCount = 0, overflowPages = 0 } = tree;
    return sum + treeBranchPageCount + treeLeafPageCount + overflowPages;
  }, 0);
  return Math.max(0, (main.lastPageNumber ?? 0) + 1 - used) * pageBytes;
}

interface Statistics {
  readonly treeBranchPageCount?: number;
  readonly treeLeafPageCount?: number;
  readonly overflowPages?: number;
  /** The last page number of all trees together. */
  readonly lastPageNumber?: number;
  /** The tree of what is free. */
  readonly free?: Statistics;
}
