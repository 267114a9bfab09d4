import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SpawnedStore } from '../../../dist/src/kv/conformance/suite.js';
import { remoteStore } from '../../../dist/src/kv/conformance/remote-store.js';
import { openCassandraStore, type CassandraStoreOptions } from './index.js';

const child = fileURLToPath(new URL('./test-child.js', import.meta.url));
let stores = 0;

/** Where the cluster is that scripts/test-cassandra.js has started. */
export const contactPoints = (process.env['TABULARIUM_TEST_CASSANDRA'] ?? '').split(',');

/** The cluster, with a keyspace that all tests use. */
export const cluster = {
  contactPoints,
  localDataCenter: 'datacenter1',
  keyspace: 'tabularium_test',
  replicas: Math.min(3, contactPoints.length),
} as const;

/** A name that no other store of the cluster has. */
export function newStoreName(): string {
  stores += 1;
  return `test ${process.pid} ${stores} ${Date.now()}`;
}

/** A new store, for the conformance suite. */
export async function cassandraUnderTest({
  clock,
}: Required<Pick<CassandraStoreOptions, 'clock'>>) {
  const options = { ...cluster, clock, store: newStoreName() };
  let store = await openCassandraStore(options);
  return {
    store,
    stats: () => store.stats(),
    async reopen() {
      await store.close();
      store = await openCassandraStore(options);
      return store;
    },
    spawn: () => spawnStore(options.store),
    dispose: () => store.close(),
  };
}

/** The same store in another process. */
export function spawnStore(store: string): Promise<SpawnedStore> {
  return remoteStore(
    fork(child, [store], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
}
