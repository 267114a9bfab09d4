import { readFile } from 'node:fs/promises';
import { codeOf } from '../../base/thrown.js';
import { DatabaseError } from './database-error.js';
import type { Connection } from './connection.js';
import { rulesOf, type Product } from './product.js';
import { bytesOf } from './rows.js';
import { inSchema, quoted } from './statements.js';

/** The SQL files are not copied to `dist`; they are read from the source folder. */
const folder = new URL('../../../../src/engines/postgres/sql/', import.meta.url);

/**
 * Migrates the tables of a schema to the format of this release. Where the product has transactions
 * for definitions, one process at a time does it. Throws `DatabaseError` when the tables have a
 * newer format, or belong to something else.
 */
export async function migrate(
  connection: Connection,
  schema: string,
  product: Product,
): Promise<void> {
  const { migrations, adapt } = rulesOf(product);
  await makeFormatTable(connection, schema).catch((error: unknown) => {
    throw isOfOtherTables(error) ? otherTables(schema, error) : error;
  });
  const read = {
    name: 'format',
    text: inSchema("select value from tabularium.kv_meta where name = 'format' for update", schema),
  };
  await connection.run('begin');
  try {
    const [row] = await connection.query(read, []);
    const format = Number(bytesOf(row?.[0]).toString());
    if (!Number.isSafeInteger(format) || format < 0) throw otherTables(schema);
    if (format > migrations.length) throw newerFormat(format, migrations.length);
    for (const name of migrations.slice(format)) {
      const statements = adapt(await readFile(new URL(name, folder), 'utf8'));
      await connection.run(inSchema(statements, schema));
    }
    const write = `update tabularium.kv_meta set value = '${migrations.length}' where name = 'format'`;
    if (format < migrations.length) await connection.run(inSchema(write, schema));
    await connection.run('commit');
  } catch (error) {
    await connection.run('rollback').catch(() => undefined);
    throw isOfOtherTables(error) ? otherTables(schema, error) : error;
  }
}

/** Throws `DatabaseError` when the schema has no tables of this kind. */
export async function assertTables(connection: Connection, schema: string): Promise<void> {
  const name = inSchema('tabularium.kv_meta', schema);
  const text = 'select to_regclass($1) is not null';
  const [row] = await connection.query({ name: 'tables', text }, [name]);
  if (bytesOf(row?.[0])[0] === 1) return;
  throw new DatabaseError(`The database has no data in the schema ${quoted(schema)}.`);
}

/** Processes that start at the same time may collide: `if not exists` does not prevent that. */
const collisionsMax = 10;
const collisionCodes = new Set(['23505', '42P06', '42P07', '42710', 'XX000']);

/** The table exists already, lacks a column, or has another key. */
const otherTablesCodes = new Set(['42P07', '42703', '42P10']);

function isOfOtherTables(error: unknown): boolean {
  return otherTablesCodes.has(codeOf(error) ?? '');
}

async function makeFormatTable(connection: Connection, schema: string): Promise<void> {
  const text = `create table if not exists tabularium.kv_meta (
      name text primary key, value text not null);
    insert into tabularium.kv_meta (name, value) values ('format', '0') on conflict do nothing`;
  for (let collisions = 1; ; collisions += 1) {
    try {
      await makeSchema(connection, schema);
      await connection.run(inSchema(text, schema));
      return;
    } catch (error) {
      const isCollision = collisionCodes.has(codeOf(error) ?? '');
      if (!isCollision || collisions >= collisionsMax) throw error;
    }
  }
}

/**
 * Checks first whether the schema exists, because `create schema if not exists` needs the right to
 * create schemas even then.
 */
async function makeSchema(connection: Connection, schema: string): Promise<void> {
  const text = 'select 1 from pg_catalog.pg_namespace where nspname = $1';
  const rows = await connection.query({ name: 'schema', text }, [schema]);
  if (rows.length === 0) await connection.run(`create schema if not exists ${quoted(schema)}`);
}

/** The schema belongs to something else. */
function otherTables(schema: string, cause?: unknown): DatabaseError {
  return new DatabaseError(
    `The schema ${quoted(schema)} has tables of something else. Choose another one: ` +
      '--postgres-schema NAME.',
    { cause },
  );
}

function newerFormat(format: number, known: number): DatabaseError {
  return new DatabaseError(
    `The tables in the database have the format ${format}, which is newer than this release knows ` +
      `(${known}). Start a newer release.`,
  );
}
