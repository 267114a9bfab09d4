import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LmdbStoreOptions } from '../../src/engines/lmdb/store.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { remoteStore } from '../../src/kv/conformance/remote-store.js';
import type { SpawnedStore } from '../../src/kv/conformance/suite.js';

/** Whether a child keeps the contract of stores. */
export type ChildWrites = 'rightly' | 'with late guards';

const child = fileURLToPath(new URL('./engine-lmdb-child.js', import.meta.url));

/** A path for a data directory that does not exist yet, in a folder that is removed afterwards. */
export async function temporaryLocation(): Promise<{
  readonly directory: string;
  readonly remove: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-engine-'));
  return {
    directory: join(folder, 'data'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The same data directory in another process, whose standard error is not shown. */
export function spawnLmdbStore(
  directory: string,
  sharing: 'join' | 'exclusive',
  env: Readonly<Record<string, string>> = {},
  writes: ChildWrites = 'rightly',
): Promise<SpawnedStore> {
  return remoteStore(
    fork(child, [directory, sharing, writes], {
      env: { ...process.env, ...env },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }),
  );
}

interface UnderTest extends Pick<
  LmdbStoreOptions,
  'clock' | 'durability' | 'ingestsInThread' | 'faults' | 'rangesFrom'
> {
  readonly childWrites?: ChildWrites;
}

/** An LMDB store for a conformance suite. */
export async function lmdbUnderTest({ childWrites, ...options }: UnderTest) {
  const { directory, remove } = await temporaryLocation();
  let store = await openLmdbStore({ directory, ...options });
  return {
    store,
    stats: () => store.stats(),
    async reopen() {
      await store.close();
      store = await openLmdbStore({ directory, ...options });
      return store;
    },
    spawn: (role: 'beside' | 'alone') =>
      spawnLmdbStore(directory, role === 'beside' ? 'join' : 'exclusive', {}, childWrites),
    async dispose() {
      await store.close();
      await remove();
    },
  };
}
