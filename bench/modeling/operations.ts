import type { TableClient, TransactionAction } from '@azure/data-tables';
import { invariant } from '../../src/base/invariant.js';
import { entitiesOf, openTable, transaction, type Entities } from '../../src/modeling/index.js';
import { fromClientEntity, Person, person, rowKeyOf, toClientEntity } from './person.js';

export const operationNames = [
  'get',
  'insert',
  'upsert',
  'page of 100',
  'page of 1,000',
  'EGT of 100',
] as const;
export type OperationName = (typeof operationNames)[number];

/** Each operation of one way to use a table. One call is one request and checks what came back. */
export type Operations = Readonly<Record<OperationName, () => Promise<void>>>;

/** Entities that every table holds before the clock starts, in one partition. */
export const storedEntities = 1000;
const storedDepartment = 'Stored';
const transactionSize = 100;

/** Ids that no other call has, so that inserts never meet. */
class FreshIds {
  #next = storedEntities;

  take(count: number): readonly number[] {
    const first = this.#next;
    this.#next += count;
    return Array.from({ length: count }, (_unused, index) => first + index);
  }
}

function checkCount(found: number, wanted: number): void {
  invariant(found === wanted, `${found} results instead of ${wanted}`);
}

/** By the client alone, with the conversions that a program then has to write by hand. */
export function operationsOfClient(client: TableClient): Operations {
  const ids = new FreshIds();
  let turn = 0;
  const page = async (size: number): Promise<void> => {
    const pages = client
      .listEntities({ queryOptions: { filter: `PartitionKey eq '${storedDepartment}'` } })
      .byPage({ maxPageSize: size });
    const { value } = await pages.next();
    checkCount((value ?? []).map(fromClientEntity).length, size);
  };
  return {
    get: async () => {
      turn = (turn + 1) % storedEntities;
      fromClientEntity(await client.getEntity(storedDepartment, rowKeyOf(turn)));
    },
    insert: async () => {
      for (const id of ids.take(1)) await client.createEntity(toClientEntity(person('New', id)));
    },
    upsert: async () => {
      turn = (turn + 1) % storedEntities;
      await client.upsertEntity(toClientEntity(person('Upserted', turn)), 'Replace');
    },
    'page of 100': () => page(100),
    'page of 1,000': () => page(1000),
    'EGT of 100': async () => {
      const actions = ids
        .take(transactionSize)
        .map((id): TransactionAction => ['create', toClientEntity(person('Group', id))]);
      const { subResponses } = await client.submitTransaction(actions);
      checkCount(subResponses.length, transactionSize);
    },
  };
}

/** By entities of a definition. */
export function operationsOfEntities(client: TableClient): Operations {
  const table = openTable(client);
  const people: Entities<typeof Person> = entitiesOf(Person, table);
  const ids = new FreshIds();
  let turn = 0;
  const page = async (size: number): Promise<void> => {
    const query = people.query({ partition: { department: storedDepartment } });
    const { items } = await query.page({ limit: size });
    checkCount(items.length, size);
  };
  return {
    get: async () => {
      turn = (turn + 1) % storedEntities;
      const found = await people.get({ department: storedDepartment, id: turn });
      invariant(found !== undefined, 'a stored entity is there');
    },
    insert: async () => {
      for (const id of ids.take(1)) await people.insert(person('New', id));
    },
    upsert: async () => {
      turn = (turn + 1) % storedEntities;
      await people.upsertReplace(person('Upserted', turn));
    },
    'page of 100': () => page(100),
    'page of 1,000': () => page(1000),
    'EGT of 100': async () => {
      const group = transaction(table);
      for (const id of ids.take(transactionSize)) group.insert(Person, person('Group', id));
      checkCount((await group.run()).length, transactionSize);
    },
  };
}

/** Stores the entities that the client reads, by the client. */
export async function fillByClient(client: TableClient): Promise<void> {
  for (let id = 0; id < storedEntities; id += 1) {
    await client.createEntity(toClientEntity(person(storedDepartment, id)));
  }
}

/** Stores the entities that the library reads, by the library, with the properties that it adds. */
export async function fillByEntities(client: TableClient): Promise<void> {
  const people = entitiesOf(Person, openTable(client));
  for (let id = 0; id < storedEntities; id += 1) await people.insert(person(storedDepartment, id));
}
