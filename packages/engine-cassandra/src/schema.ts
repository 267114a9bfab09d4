import { StoreFailedError } from 'tabularium/kv';
import type { CassandraSession } from './session.js';
import { tables, type Statements } from './statements.js';

const format = 1;

export interface SchemaOptions {
  readonly keyspace: string;
  /** Copies of each row, where the keyspace is made. */
  readonly replicas: number;
  readonly localDataCenter: string;
  readonly durability: 'durable' | 'relaxed';
}

/**
 * Makes what is not there yet, and goes into the keyspace. Rejects with `StoreFailedError` for a
 * cluster that acknowledges what a crash may lose, and for data of another format.
 */
export async function openSchema(
  session: CassandraSession,
  statements: Statements,
  options: SchemaOptions,
): Promise<void> {
  const { keyspace, replicas, localDataCenter } = options;
  if (options.durability === 'durable') await assertDurable(session);
  if (!(await isMade(session, keyspace))) {
    const strategy = `{'class': 'NetworkTopologyStrategy', '${localDataCenter}': ${replicas}}`;
    await session.run(
      `create keyspace if not exists ${quoted(keyspace)} with replication = ${strategy}`,
    );
    for (const table of tables) await session.run(table(quoted(keyspace)));
  }
  await session.run(`use ${quoted(keyspace)}`);
  await session.write(statements.writeFormat(format));
  const { rows } = await session.readPage(statements.readStore(), 1);
  const found = rows[0]?.['format'];
  if (found === format) return;
  const text = `The keyspace ${keyspace} has data of format ${String(found)}, not ${format}.`;
  throw new StoreFailedError(text);
}

/** Making what is there already would have all nodes agree on it again. */
async function isMade(session: CassandraSession, keyspace: string): Promise<boolean> {
  const name = `'${keyspace.replaceAll("'", "''")}'`;
  const query = `select table_name from system_schema.tables where keyspace_name = ${name}`;
  return (await session.run(query)).length === tables.length;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** With `periodic`, the default of Cassandra, nodes answer before a change is on disk. */
async function assertDurable(session: CassandraSession): Promise<void> {
  const query = "select value from system_views.settings where name = 'commitlog_sync'";
  const found = await session.runOnEach(query);
  const modes = found.map(({ value }) => String(value));
  if (modes.every((mode) => mode === 'batch' || mode === 'group')) return;
  throw new StoreFailedError(
    `A node has commitlog_sync '${modes.join("', '")}', and would acknowledge what a crash loses: ` +
      "set it to 'batch' or 'group' in cassandra.yaml, or open the store with durability 'relaxed'.",
  );
}
