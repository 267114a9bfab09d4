import { fork } from 'node:child_process';
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
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  } finally {
    await client.end();
  }
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
