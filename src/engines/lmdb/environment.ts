import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { open } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import { privateFileMode } from '../../base/private-files.js';
import { DataDirectoryError } from './data-directory-error.js';
import { CursorRow } from './cursor-row.js';

/**
 * The LMDB environment of a data directory. `entries` holds what the store holds, `meta` what the
 * engine knows besides. Both keep a version with each value, which LMDB stores in front of it.
 */
export interface Environment {
  readonly root: RootDatabase<Bytes, Bytes>;
  readonly entries: Database<Bytes, Bytes>;
  /** What a range over `entries` stands on. */
  readonly row: CursorRow;
  readonly meta: Database<Bytes, Bytes>;
}

/** Keys up to 4,026 bytes need pages of 8 KiB; rows of 1 KB also scan faster than with 4 KiB. */
const pageBytes = 8192;
const dataFile = 'data.mdb';
/** How a data file begins: LMDB's mark, in the byte order of the machine. */
const mark = 0xbeefc0de;
const markOffset = 24;

/** The files of an environment that have to stay where they are while it is open. */
export function filesOf(directory: string): string[] {
  return [join(directory, dataFile), join(directory, `${dataFile}-lock`)];
}

/** Opens the environment, creating it in an empty directory. `sync` false leaves syncing to the OS. */
export function openEnvironment(directory: string, options: { sync: boolean }): Environment {
  const path = join(directory, dataFile);
  assertDataFile(path);
  // The package would make them for everybody to read; what is empty it takes for new.
  for (const file of filesOf(directory)) closeSync(openSync(file, 'a', privateFileMode));
  try {
    const root = open<Bytes, Bytes>({
      path,
      noSubdir: true,
      pageSize: pageBytes,
      // With it a commit would resolve before it is on disk.
      overlappingSync: false,
      // Groups are made here. The package's own batches also reject promises that nobody holds.
      eventTurnBatching: false,
      noSync: !options.sync,
      maxDbs: 4,
      keyEncoding: 'binary',
      encoding: 'binary',
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
    return { root, entries: root.openDB(entries), row, meta: root.openDB(meta) };
  } catch (error) {
    throw new DataDirectoryError(
      'damaged',
      `The data file ${path} cannot be opened: ${String(error)}`,
      { cause: error },
    );
  }
}

/** The package crashes the process when a file is no data file at all. A missing one is created. */
function assertDataFile(path: string): void {
  const header = Buffer.alloc(markOffset + 4);
  const count = readBeginning(path, header);
  const found =
    endianness() === 'LE' ? header.readUInt32LE(markOffset) : header.readUInt32BE(markOffset);
  if (count === 0 || (count === header.length && found === mark)) return;
  throw new DataDirectoryError(
    'damaged',
    `The file ${path} is not a data file. Restore it from a backup, or choose another directory.`,
  );
}

/** How many bytes the file has, up to those of the buffer. */
function readBeginning(path: string, into: Buffer): number {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
  try {
    return readSync(file, into, 0, into.length, 0);
  } finally {
    closeSync(file);
  }
}
