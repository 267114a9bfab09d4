import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  bulk,
  defineEntity,
  entitiesOf,
  etagOf,
  int32,
  key,
  string,
  transaction,
  TransactionFailedError,
  upgradeRows,
  writesOf,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../src/modeling/index.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/index.js';
import {
  indexedEntitiesOf,
  indexEntity,
  IndexValueTakenError,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { costly, isLong } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { impatientTimers } from './support/impatient-timers.js';
import { drainOutbox, testOutbox, waitingIntents } from './support/index-outbox.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';

// Whatever is written through the table of entities with indexes, the indexes follow.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const Person = defineEntity({
  type: 'Person',
  properties: { team: string(), id: int32(), email: string(), town: string() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`id_${p.id.padded(4)}`,
});
const Team = defineEntity({
  type: 'Team',
  properties: { team: string(), people: int32() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: () => key`team`,
});
const indexes = withIndexes(Person, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  town: indexEntity({ place: 'same-partition', rowKey: (p) => key`town_${p.town}` }),
  anywhere: otherPartition({
    partitionKey: (p) => key`mail_${p.email}`,
    rowKey: (p) => key`${p.team}_${p.id.padded(4)}`,
    include: ['town'],
  }),
});

const open = (table: TableGateway) =>
  indexedEntitiesOf(indexes, { table, outbox: testOutbox(table) }, { timers: impatientTimers });
type People = ReturnType<typeof open>;

const person = (id: number, changes: { email?: string; town?: string } = {}) => ({
  team: 't',
  id,
  email: `${id}@x`,
  town: 'Oslo',
  ...changes,
});
const at = (id: number) => ({ team: 't', id });
const any = { ifMatch: 'any' };

async function newPeople() {
  const observed = await tables.newTable();
  const people = open(observed.gateway);
  return { ...observed, people };
}

/** Acts on all intents, and compares every index with the entities. */
async function assertInStep(people: People, gateway: TableGateway): Promise<void> {
  await drainOutbox(gateway, people.handler);
  for await (const { drifts } of people.verify()) assert.deepEqual(drifts, []);
}

async function townsOf(people: People, town: string): Promise<readonly number[]> {
  return (await people.by.town.keys({ team: 't', town })).map(({ id }) => id);
}

describe('a transaction that is too large with what is derived', () => {
  const inserts = (count: number) => {
    const writes = writesOf(Person);
    return Array.from({ length: count }, (_, id) =>
      writes.insert(person(id, { town: `town${id}` })),
    );
  };

  it('is refused with the numbers before a write is sent, and takes as many as it says', async () => {
    const table = new MemoryTable(new MemoryRows());
    const people = open(table);
    // Each insert has two index rows and a message.
    await assert.rejects(people.table.transact(inserts(26)), {
      name: 'TooLargeError',
      message: /26 of the writes are the caller's, 78 are derived, together 104; .* 100\. .* 25 at/,
    });
    assert.deepEqual(table.rows.all, []);
    await people.table.transact(inserts(25));
    assert.equal(table.rows.all.length, 100);
  });

  it('counts the rows that each write changes', async () => {
    const sizes: number[] = [];
    class Counting extends MemoryTable {
      override transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
        sizes.push(writes.length);
        return super.transact(writes);
      }
    }
    const people = open(new Counting(new MemoryRows()));
    await people.insert(person(1));
    await people.update(at(1), (current) => ({ ...current, email: 'new@x' }));
    await people.update(at(1), (current) => ({ ...current, town: 'Bergen' }));
    await people.delete(at(1), any);
    // The entity and a message in each; the copy by email and the list of the town, once where they
    // come, go or change, and twice where they change their keys.
    assert.deepEqual(sizes, [4, 4, 5, 4]);
  });
});

describe('the table of entities with indexes', () => {
  it('keeps them in a transaction of several entities and other rows', async () => {
    const { people, gateway } = await newPeople();
    await transaction(people.table)
      .insert(Team, { team: 't', people: 2 })
      .insert(Person, person(1))
      .insert(Person, person(2))
      .run();
    await assertInStep(people, gateway);
    assert.deepEqual(await townsOf(people, 'Oslo'), [1, 2]);
    const [one, two] = await people.getMany([at(1), at(2)]);
    assert.ok(one !== undefined && two !== undefined);
    // Each takes the value that the other one gives up.
    await transaction(people.table)
      .replace(Person, { ...one, email: '2@x', town: 'Bergen' })
      .merge(Person, two, { email: '1@x' })
      .run();
    await assertInStep(people, gateway);
    assert.equal((await people.by.email.get({ team: 't', email: '1@x' }))?.id, 2);
    await transaction(people.table).delete(Person, at(1), any).delete(Person, at(2), any).run();
    await assertInStep(people, gateway);
    assert.deepEqual(await townsOf(people, 'Bergen'), []);
  });

  it('refuses as the service does, and names the write by its place', async () => {
    const { people, gateway } = await newPeople();
    const stored = await people.insert(person(1));
    await people.merge(at(1), { town: 'Bergen' }, any);
    const attempt = (work: () => Promise<unknown>, index: number, reason: string) =>
      assert.rejects(work(), (error) => {
        assert.ok(error instanceof TransactionFailedError);
        assert.deepEqual([error.index, error.reason.name], [index, reason]);
        return true;
      });
    const start = () => transaction(people.table).insert(Team, { team: 't', people: 1 });
    const taken = person(3, { email: '1@x' });
    await attempt(() => start().replace(Person, stored).run(), 1, 'ConditionFailedError');
    await attempt(() => start().insert(Person, person(1)).run(), 1, 'EntityExistsError');
    await attempt(() => start().delete(Person, at(9), any).run(), 1, 'EntityNotFoundError');
    await attempt(() => start().insert(Person, taken).run(), 1, 'IndexValueTakenError');
    const twins = [person(4, { email: 'same@x' }), person(5, { email: 'same@x' })] as const;
    const both = start().insert(Person, twins[0]).insert(Person, twins[1]);
    await attempt(() => both.run(), 2, 'IndexValueTakenError');
    await assertInStep(people, gateway);
    assert.equal((await people.query({ partition: { team: 't' } }).toArray({ max: 9 })).length, 1);
    const alone = entitiesOf(Person, people.table);
    await assert.rejects(alone.insert(taken), IndexValueTakenError);
    const current = await alone.get(at(1));
    assert.ok(current !== undefined);
    const replaced = await alone.replace({ ...current, email: 'new@x' });
    assert.equal(etagOf(replaced), etagOf((await alone.get(at(1))) ?? {}));
    await assertInStep(people, gateway);
  });

  it('keeps them in bulk work, upgrades and deletes by a condition', costly(), async () => {
    const { people, gateway } = await newPeople();
    const make = writesOf(Person, { stamp: false });
    const inserts = Array.from({ length: 44 }, (_, id) =>
      make.insert(person(id, { town: id % 2 === 0 ? 'Oslo' : 'Bergen' })),
    );
    const report = await bulk(people.table, [
      ...inserts,
      make.insert(person(200, { email: '8@x' })),
    ]);
    assert.deepEqual([report.applied, report.failures.length], [44, 1]);
    assert.equal(report.failures[0]?.error?.name, 'IndexValueTakenError');
    await assertInStep(people, gateway);
    assert.equal((await townsOf(people, 'Bergen')).length, 22);
    await upgradeRows(entitiesOf(Person, people.table));
    const rowKeys = { from: 'id_', before: 'id`' };
    const scope = { partitionKey: 't', rowKeys, filter: "town eq 'Bergen'" };
    const { deleted } = await deleteWhere(people.table, scope);
    assert.equal(deleted, 22);
    await assertInStep(people, gateway);
    assert.deepEqual(await townsOf(people, 'Bergen'), []);
    assert.equal((await waitingIntents(gateway)).length, 0);
    await deleteWhere(people.table, { partitionKey: 't' });
    const { rows } = await gateway.page({ filter: "PartitionKey eq 't' and RowKey lt '~'" });
    assert.deepEqual(rows, []);
  });

  it('keeps them when many write the same entities', costly(), async () => {
    for (let seed = 1; seed <= (isLong ? 500 : 12); seed += 1) {
      const random = new SimRandom(seed);
      const rows = new MemoryRows();
      const writer = async (): Promise<void> => {
        const table = new MemoryTable(rows, {
          before: async () => {
            for (let turns = random.int(4); turns > 0; turns -= 1) await turn();
          },
        });
        const people = open(table);
        for (let step = 0; step < 5; step += 1) {
          const work = transaction(people.table);
          for (const id of [1, 2]) {
            const values = person(id, { email: `${random.int(3)}@x`, town: `t${random.int(2)}` });
            const kind = random.int(3);
            if (kind === 0) work.upsertReplace(Person, values);
            else if (kind === 1) work.delete(Person, at(id), any);
            else work.upsertMerge(Person, values);
          }
          await work.run().catch((error: unknown) => {
            const isExpected =
              error instanceof TransactionFailedError &&
              ['EntityNotFoundError', 'IndexValueTakenError'].includes(error.reason.name);
            if (!isExpected) throw error;
          });
        }
      };
      await Promise.all([writer(), writer(), writer()]);
      const found = rows.all.filter(({ rowKey }) => rowKey.startsWith('id_'));
      const text = (row: (typeof found)[number], name: string) =>
        String(row.properties[name]?.value);
      assert.deepEqual(
        rows.all
          .filter(({ rowKey }) => rowKey.startsWith('email_'))
          .map((row) => `${row.rowKey} ${text(row, 'id')}`),
        found.map((row) => `email_${text(row, 'email')} ${Number(row.rowKey.slice(3))}`).sort(),
        `copies, seed ${seed}`,
      );
      const lists = rows.all.filter(({ rowKey }) => rowKey.startsWith('town_'));
      const listed = lists.flatMap((row) =>
        (JSON.parse(text(row, 'Keys')) as readonly string[]).map((each) => `${row.rowKey} ${each}`),
      );
      const expected = found.map((row) => `town_${text(row, 'town')} ${row.rowKey}`);
      assert.deepEqual(listed.sort(), expected.sort(), `lists, seed ${seed}`);
    }
  });
});

describe('a table with derived rows', () => {
  it('takes no more writes at once, with these, than the table beneath', async () => {
    const beneath = Object.assign(new MemoryTable(new MemoryRows()), { writesMax: 3 });
    const people = indexedEntitiesOf(
      withIndexes(Person, { email: samePartition({ rowKey: (p) => key`email_${p.email}` }) }),
      { table: beneath },
    );
    await people.insert(person(1));
    const two = transaction(people.table).insert(Person, person(2)).insert(Person, person(3));
    await assert.rejects(two.run(), /together 4; a transaction holds 3/);
  });
});
