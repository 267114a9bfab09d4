import { fork } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/engines/postgres/store.js';
import { quoted } from '../../src/engines/postgres/statements.js';
import { remoteStore } from '../../src/kv/conformance/remote-store.js';
import type { SpawnedStore } from '../../src/kv/conformance/suite.js';

const child = fileURLToPath(new URL('./engine-postgres-child.js', import.meta.url));
let schemas = 0;

/** In which form commits are applied, and on whose tables. */
export type FormOptions = Pick<PostgresStoreOptions, 'commitForm' | 'product'>;

/** A store in a schema of its own, for a conformance suite. */
export async function postgresUnderTest(
  options: FormOptions & Pick<PostgresStoreOptions, 'url' | 'clock' | 'durability'>,
) {
  schemas += 1;
  const schema = `test ${process.pid} ${schemas}`;
  const { url, commitForm, product } = options;
  let store = await openPostgresStore({ ...options, schema });
  return {
    store,
    schema,
    stats: () => store.stats(),
    async reopen() {
      await store.close();
      store = await openPostgresStore({ ...options, schema });
      return store;
    },
    spawn: () => spawnPostgresStore(url, schema, { commitForm, product }),
    dispose: async () => {
      await store.close();
      await dropSchema(url, schema);
    },
  };
}

export async function dropSchema(url: string, schema: string): Promise<void> {
  await runSql(url, `drop schema if exists ${quoted(schema)} cascade`);
}

/** Runs statements on a connection of its own. Returns the rows of the last one. */
export async function runSql(url: string, text: string): Promise<readonly unknown[]> {
  const client = new Client(url);
  await client.connect();
  try {
    // The package returns a list when there are several statements.
    const results = [await client.query<Record<string, unknown>>(text)].flat();
    return results.at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

/** Resolves when so many transactions wait for locks of others to work in a schema. */
export async function lockWaits(url: string, schema: string, count: number): Promise<void> {
  const waiting = `select from pg_stat_activity
    where wait_event_type = 'Lock' and strpos(query, '${schema}') > 0`;
  while ((await runSql(url, waiting)).length < count) await pause(5);
}

/** The same schema in another process, whose standard error is not shown. */
export function spawnPostgresStore(
  url: string,
  schema: string,
  form: FormOptions = {},
): Promise<SpawnedStore> {
  return remoteStore(
    fork(child, [url, schema, JSON.stringify(form)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }),
  );
}
