import { changesMax } from '../../services/tables/entity-writes.js';
import { checkTableName } from '../../services/tables/table-name.js';
import type { TableService } from '../../services/tables/table-service.js';
import type { EntityInput } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import {
  SeedError,
  type SeedEntity,
  type SeedPath,
  type SeedProgress,
  type SeedTable,
} from './seed-data.js';
import { entityInputOf } from './seed-entity.js';
import type { SeedMistakes } from './seed-mistakes.js';

/** The table to create, and the mode. */
export interface TableTarget {
  readonly tables: TableService;
  readonly account: string;
  readonly table: string;
  readonly path: SeedPath;
  readonly ifExists: 'skip' | 'replace';
  /** Called with the number of entities written or skipped. */
  readonly done: (more: Partial<SeedProgress>) => void;
}

interface SeedRow {
  readonly input: EntityInput;
  readonly path: SeedPath;
  readonly entity: SeedEntity;
}

/** The entities, and bytes of their properties, collected for transactions. */
const heldRowsMax = 20_000;
const heldBytesMax = 32 * 1024 * 1024;

/** Records mistakes that can be found before anything is created. */
export function noteTableMistakes(
  name: string,
  content: SeedTable,
  path: SeedPath,
  mistakes: SeedMistakes,
): void {
  mistakes.note(() => refused(path, () => checkTableName(name)));
  const { entities = [] } = content;
  const keys = new Set<string>();
  for (const [at, entity] of entities.entries()) {
    if (mistakes.isFull) return;
    mistakes.note(() => checkSeedEntity(entity, [...path, 'entities', at], keys));
  }
}

function checkSeedEntity(entity: SeedEntity, path: SeedPath, keys: Set<string>): void {
  const key = keyId(entityInputOf(entity, path));
  if (keys.has(key)) throw new SeedError(path, 'an entity before has the same keys', entity);
  keys.add(key);
}

/** Creates the table and its entities, in transactions as large as possible. */
export async function seedTable(target: TableTarget, content: SeedTable): Promise<void> {
  const { tables, account, table, path } = target;
  try {
    await tables.createTable(account, table);
  } catch (error) {
    const isThere = error instanceof StorageError && error.code === 'TableAlreadyExists';
    if (!isThere) throw seedErrorOf(error, path);
  }
  const held = new HeldRows();
  for await (const row of rowsOf(content, path)) {
    if (!held.takes(row)) await writeAll(target, held);
    held.add(row);
  }
  await writeAll(target, held);
}

async function* rowsOf({ entities = [], stream }: SeedTable, path: SeedPath) {
  let at = 0;
  for (const entity of entities) yield rowOf(entity, [...path, 'entities', at++]);
  if (stream === undefined) return;
  at = 0;
  for await (const entity of stream) yield rowOf(entity, [...path, 'stream', at++]);
}

function rowOf(entity: SeedEntity, path: SeedPath): SeedRow {
  return { input: entityInputOf(entity, path), path, entity };
}

/** Rows by partition. All keys are distinct, so transactions may run in any order. */
class HeldRows {
  readonly #byPartition = new Map<string, SeedRow[]>();
  readonly #keys = new Set<string>();
  #bytes = 0;

  takes({ input }: SeedRow): boolean {
    if (this.#keys.has(keyId(input))) return false;
    const bytes = this.#bytes + input.properties.bag.length;
    return this.#keys.size === 0 || (this.#keys.size < heldRowsMax && bytes <= heldBytesMax);
  }

  add(row: SeedRow): void {
    const { partitionKey } = row.input;
    const rows = this.#byPartition.get(partitionKey) ?? [];
    rows.push(row);
    this.#byPartition.set(partitionKey, rows);
    this.#keys.add(keyId(row.input));
    this.#bytes += row.input.properties.bag.length;
  }

  /** Removes all rows, in groups that each fit into one transaction. */
  take(): readonly (readonly SeedRow[])[] {
    const groups: SeedRow[][] = [];
    for (const rows of this.#byPartition.values()) {
      for (let at = 0; at < rows.length; at += changesMax) {
        groups.push(rows.slice(at, at + changesMax));
      }
    }
    this.#byPartition.clear();
    this.#keys.clear();
    this.#bytes = 0;
    return groups;
  }
}

async function writeAll(target: TableTarget, held: HeldRows): Promise<void> {
  const write = target.ifExists === 'skip' ? insertAbsent : overwrite;
  const writing = held.take().map(async (rows) => {
    const written = await write(target, rows);
    target.done({ entities: rows.length, keptEntities: rows.length - written });
  });
  // Waits for all before it reports the first failure, so that nothing continues after the error.
  const failed = (await Promise.allSettled(writing)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Overwrites all rows; returns their number. */
async function overwrite(target: TableTarget, rows: readonly SeedRow[]): Promise<number> {
  await transact(target, rows, 'insert-or-replace');
  return rows.length;
}

/** Inserts the rows that do not exist, and returns their number. */
async function insertAbsent(target: TableTarget, rows: readonly SeedRow[]): Promise<number> {
  let absent = rows;
  while (absent.length > 0) {
    try {
      await transact(target, absent, 'insert');
      return absent.length;
    } catch (error) {
      if (!(error instanceof EntityExists)) throw error;
      absent = await absentOf(target, absent);
    }
  }
  return 0;
}

/** Another writer, or an earlier run, has written one of the entities. */
class EntityExists extends Error {}

async function transact(
  { tables, account, table, path }: TableTarget,
  rows: readonly SeedRow[],
  kind: 'insert' | 'insert-or-replace',
): Promise<void> {
  const operations = rows.map(({ input }) => ({ kind, entity: input }));
  try {
    await tables.transact(account, table, operations);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.code === 'EntityAlreadyExists') throw new EntityExists(error.message);
    const row = rows[error.operationIndex ?? 0];
    throw seedErrorOf(error, row?.path ?? path, row?.entity);
  }
}

async function absentOf(
  { tables, account, table }: TableTarget,
  rows: readonly SeedRow[],
): Promise<readonly SeedRow[]> {
  const exists = async ({ input }: SeedRow): Promise<boolean> => {
    try {
      await tables.getEntity(account, table, input.partitionKey, input.rowKey);
      return true;
    } catch (error) {
      if (error instanceof StorageError && error.code === 'ResourceNotFound') return false;
      throw error;
    }
  };
  const found = await Promise.all(rows.map(exists));
  return rows.filter((_, at) => found[at] === false);
}

/** Distinct for distinct keys. */
function keyId({ partitionKey, rowKey }: EntityInput): string {
  return `${partitionKey.length}:${partitionKey}${rowKey}`;
}

/** Runs a check of the services and reports a refusal as a mistake at this path. */
export function refused(path: SeedPath, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw seedErrorOf(error, path);
  }
}

/** Converts a refusal of a service to a mistake in the seed; other errors are unchanged. */
export function seedErrorOf(error: unknown, path: SeedPath, entity?: SeedEntity): unknown {
  if (!(error instanceof StorageError)) return error;
  return new SeedError(path, `${error.code}: ${error.message}`, entity);
}
