import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { open } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import { DataDirectoryError } from './data-directory-error.js';
import { SlabCopier } from './slab-copier.js';

/**
 * The LMDB environment of a data directory. `entries` holds what the store holds, `meta` what the
 * engine knows besides. Both keep a version with each value, which LMDB stores in front of it.
 */
export interface Environment {
  readonly root: RootDatabase<Bytes, Bytes>;
  readonly entries: Database<Bytes, Bytes>;
  readonly meta: Database<Bytes, Bytes>;
}

/** Keys up to 4,026 bytes need pages of 8 KiB; rows of 1 KB also scan faster than with 4 KiB. */
const pageBytes = 8192;
const dataFile = 'data.mdb';

/** Opens the environment, creating it in an empty directory. `sync` false leaves syncing to the OS. */
export function openEnvironment(directory: string, options: { sync: boolean }): Environment {
  try {
    const root = open<Bytes, Bytes>({
      path: join(directory, dataFile),
      noSubdir: true,
      pageSize: pageBytes,
      // With it a commit would resolve before it is on disk.
      overlappingSync: false,
      noSync: !options.sync,
      maxDbs: 4,
      keyEncoding: 'binary',
      encoding: 'binary',
    });
    const copier = new SlabCopier();
    // Keys and values of a range are copied into slabs: half the time of one allocation each.
    const entries = {
      name: 'entries',
      useVersions: true,
      keyEncoder: {
        writeKey(key: Bytes, target: Bytes, start: number): number {
          target.set(key, start);
          return start + key.length;
        },
        readKey: (source: Bytes, start: number, end: number) =>
          copier.copy(source, start, end - start),
      },
      encoder: {
        encode: (value: Bytes) => value,
        decode: (source: Bytes, length: number) => copier.copy(source, 0, length),
      },
    };
    const meta = {
      name: 'meta',
      useVersions: true,
      keyEncoding: 'binary',
      encoding: 'binary',
    } as const;
    return { root, entries: root.openDB(entries), meta: root.openDB(meta) };
  } catch (error) {
    throw new DataDirectoryError(
      'damaged',
      `The data file ${join(directory, dataFile)} cannot be opened: ${String(error)}`,
      { cause: error },
    );
  }
}
