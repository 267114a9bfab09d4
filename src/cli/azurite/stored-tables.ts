import type { SeedEntity, SeedValue } from '../../app/index.js';
import { entityInputOf } from '../../app/seed/seed-entity.js';
import { checkEntity, checkNewKeys } from '../../services/tables/limits.js';
import { checkTableName } from '../../services/tables/table-name.js';
import { isInt32 } from '../../wire/edm/literal.js';
import { isDocument, textIn, type Collections, type Document } from './data-files.js';
import { accountIn, isAccepted, type Refuse, type StoredAccounts } from './stored-data.js';
import { policiesOf, propertiesOf } from './stored-settings.js';

const typeSuffix = '@odata.type';
const guid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Adds the tables of `__azurite_db_table__.json`: a collection of tables, and one for each table.
 */
export function addTables(
  accounts: StoredAccounts,
  collections: Collections,
  refuse: Refuse,
): void {
  const known = new Set<string>();
  for (const document of collections.get('$TABLES_COLLECTION$') ?? []) {
    const [account, table] = [textIn(document, 'account'), textIn(document, 'table')];
    const location = `${account}/${table}`;
    if (!isAccepted(location, refuse, () => checkTableName(table))) continue;
    if (!isFirst(known, location.toLowerCase())) {
      refuse(location, 'a table before has the same name, in another case perhaps');
      continue;
    }
    const rows = collections.get(`${account}$${table}`) ?? [];
    accountIn(accounts, account).tables.set(table, {
      entities: entitiesOf(rows, location, refuse),
      policies: policiesOf(document['tableAcl'], 'table', location, refuse),
    });
  }
  for (const document of collections.get('$SERVICES_COLLECTION$') ?? []) {
    const name = textIn(document, 'accountName');
    if (name !== '') accountIn(accounts, name).tableProperties = propertiesOf(document);
  }
}

/**
 * Uses the first of two entities with the same keys, which concurrent writes can leave in
 * Azurite.
 */
function entitiesOf(
  rows: readonly Document[],
  table: string,
  refuse: Refuse,
): readonly SeedEntity[] {
  const known = new Set<string>();
  return rows.flatMap((row) => {
    const [entity] = entityOf(row, table, refuse);
    if (entity === undefined) return [];
    if (isFirst(known, JSON.stringify([row['PartitionKey'], row['RowKey']]))) return [entity];
    refuse(locationOf(row, table), 'an entity before has the same keys');
    return [];
  });
}

function isFirst(known: Set<string>, name: string): boolean {
  if (known.has(name)) return false;
  known.add(name);
  return true;
}

function locationOf(row: Document, table: string): string {
  return `${table}(PartitionKey='${textIn(row, 'PartitionKey')}',RowKey='${textIn(row, 'RowKey')}')`;
}

function entityOf(row: Document, table: string, refuse: Refuse): readonly SeedEntity[] {
  const location = locationOf(row, table);
  const stored = isDocument(row['properties']) ? row['properties'] : {};
  const { PartitionKey, RowKey } = row;
  const entity = Object.fromEntries(
    Object.entries({ ...stored, PartitionKey, RowKey }).map(([name, value]) => [
      name,
      valueOf(value, stored[name + typeSuffix]),
    ]),
  );
  const isGood = isAccepted(location, refuse, () => {
    const input = entityInputOf(entity, []);
    checkNewKeys(input.partitionKey, input.rowKey);
    checkEntity(input);
  });
  return isGood ? [entity] : [];
}

/** The value as a seed needs it: Azurite stores a Guid as the base64 of its text. */
function valueOf(value: unknown, type: unknown): SeedValue {
  if (type === 'Edm.Guid' && typeof value === 'string' && !guid.test(value)) {
    return Buffer.from(value, 'base64').toString('latin1');
  }
  // A number without a type that is no Int32 was written, and is returned, as a Double.
  if (typeof value === 'number' && type === undefined && !isInt32(value)) {
    return { type: 'Double', value };
  }
  const isScalar = ['string', 'number', 'boolean'].includes(typeof value);
  return isScalar ? (value as string | number | boolean) : null;
}
