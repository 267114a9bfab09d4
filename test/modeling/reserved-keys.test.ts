import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  defineEntity,
  entitiesOf,
  Instant,
  int32,
  key,
  string,
  type RowProperties,
  type TableGateway,
} from '../../src/modeling/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { keyTemplate } from '../../src/modeling/definition/key-template.js';
import { changeFeedOf, trimFeed } from '../../src/modeling/patterns/change-feed/index.js';
import {
  indexedEntitiesOf,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { eventViewOf } from '../../src/modeling/patterns/materialised-views/index.js';
import { rowLeasesOf } from '../../src/modeling/patterns/row-leases/index.js';
import {
  relayOf,
  type Relay,
  tableRegistryOf,
} from '../../src/modeling/patterns/transactional-outbox/index.js';
import {
  reservedInitials,
  reservedPartitionKeys,
  reservedRowKeys,
} from '../../src/modeling/definition/reserved-keys.js';
import { closePartition, isFenceRow } from '../../src/modeling/patterns/shard-map/fence.js';
import { startTables } from './support/observed-tables.js';
import { Employee } from './support/employees.js';
import { employee } from './support/indexed-employees.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

// Nothing but the value is in the key, so that it can begin like the keys of the library.
const Person = defineEntity({
  type: 'Person',
  properties: { team: string(), name: string(), members: int32().default(0) },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`${p.name}`,
});
const team = 'Sales';
const later = manualClock((Date.now() + 2 * 86_400_000) * 1000);
const allKeys = [...Object.values(reservedRowKeys), ...Object.values(reservedPartitionKeys)];

/** Names like the keys of the library, with and without their first characters. */
const names = allKeys.flatMap((text) => [`${text}0002`, `${text.slice(1)}0002`]);

async function people(table: TableGateway): Promise<readonly string[]> {
  const found = await entitiesOf(Person, table)
    .query({ partition: { team } })
    .toArray({ max: 100 });
  return found.map(({ name }) => name);
}

async function filled(): Promise<TableGateway> {
  const { gateway } = await started.newTable();
  for (const name of names) await entitiesOf(Person, gateway).insert({ team, name });
  return gateway;
}

async function insertForeign(table: TableGateway, rowKey: string): Promise<void> {
  const properties: RowProperties = { Message: { type: 'String', value: 'mine' } };
  await table.write({ kind: 'insert', row: { partitionKey: team, rowKey, properties } });
}

function testRelay(table: TableGateway): Relay {
  const registry = tableRegistryOf(table, 'people', { buckets: 1 });
  return relayOf({ table, registry, dispatch: () => Promise.resolve() });
}

function relationOf(table: TableGateway) {
  return oneToManyOf({
    parent: Person,
    child: Person,
    table,
    parentOf: () => ({ team, name: 'parent' }),
    count: 'members',
    clock: later,
  });
}

describe('keys that the library keeps for its own rows', () => {
  it('are all in the reserved space', () => {
    for (const text of allKeys) assert.ok(reservedInitials.includes(text.charAt(0)), text);
  });

  it('are refused in the texts of a template, and where a value before them may be empty', () => {
    const [part] = Person.rowKey.parts;
    const refusal = { name: 'DefinitionError', message: /cannot begin with/ };
    for (const text of reservedInitials) {
      assert.throws(() => keyTemplate([`${text}a`], []), refusal);
      assert.throws(() => keyTemplate([`${text}a`, ''], [part]), refusal);
      assert.throws(() => keyTemplate(['', text], [part]), refusal);
      assert.doesNotThrow(() => keyTemplate(['a', text], [part]));
    }
  });

  it('are not those of entities whose keys begin with such values', async () => {
    const table = await filled();
    const { rows } = await table.page({ filter: `PartitionKey eq '${team}'` });
    assert.equal(rows.length, names.length);
    for (const { rowKey } of rows) assert.ok(!reservedInitials.includes(rowKey.charAt(0)), rowKey);
    assert.deepEqual(await people(table), names.toSorted());
    const begun = entitiesOf(Person, table).query({
      partition: { team },
      startsWith: '~outbox',
    });
    assert.equal((await begun.toArray({ max: 10 })).length, 2);
  });

  it('leave alone entities and rows of others when moves are finished', async () => {
    const table = await filled();
    for (const kind of ['arrived', 'moving']) await insertForeign(table, `~${kind}_foreign`);
    const { finished, stuck, marksRemoved } = await relationOf(table).finishMoves({ team });
    assert.deepEqual([finished, stuck, marksRemoved], [0, [], 0]);
    assert.deepEqual(await people(table), names.toSorted());
    for (const kind of ['arrived', 'moving']) {
      const foreign = { partitionKey: team, rowKey: `~${kind}_foreign` };
      assert.ok(await table.get(foreign));
    }
  });

  it('leave alone entities and rows of others when events are forgotten', async () => {
    const table = await filled();
    await insertForeign(table, '~applied_foreign');
    const view = eventViewOf(Person, table);
    const viewKey = { team, name: 'view' };
    await view.apply('one', viewKey, () => viewKey);
    const { deleted } = await view.forget(viewKey, Instant.ofDate(new Date(Date.now() + 1e6)));
    assert.equal(deleted, 1);
    assert.deepEqual(await people(table), [...names, 'view'].toSorted());
    assert.ok(await table.get({ partitionKey: team, rowKey: '~applied_foreign' }));
  });

  it('leave alone entities and rows of others when messages are dispatched', async () => {
    const table = await filled();
    for (const kind of ['outbox', 'outbox-poison']) await insertForeign(table, `~${kind}_foreign`);
    const relay = testRelay(table);
    assert.deepEqual(await relay.partition(team), { dispatched: 0, poisoned: 0 });
    assert.equal(await relay.redrive(team), 0);
    assert.deepEqual(await people(table), names.toSorted());
    for (const kind of ['outbox', 'outbox-poison']) {
      const foreign = { partitionKey: team, rowKey: `~${kind}_foreign` };
      assert.equal((await table.get(foreign))?.properties['Message']?.value, 'mine');
    }
  });

  it('are no rows of a feed or of a shard when other programs wrote them', async () => {
    const { gateway } = await started.newTable();
    const { ticks } = Instant.parse('2026-01-01');
    const event = { At: { type: 'DateTime', value: ticks } } as const;
    const message = '{"v":1,"type":"t","version":1,"id":"i","payload":1}';
    await gateway.write({
      kind: 'insert',
      row: {
        partitionKey: team,
        rowKey: '~feed_0000000000000000001',
        properties: { ...event, Message: { type: 'String', value: message } },
      },
    });
    const foreign = ['~feed_0000000000000000002', '~feed_x', '~feed-group_me', '!shard:claim'];
    for (const rowKey of [...foreign, '!shard:mine']) await insertForeign(gateway, rowKey);
    const feed = changeFeedOf(gateway);
    assert.equal((await feed.read(team)).events.length, 1);
    assert.equal(await trimFeed(feed, team, { keepMs: 0, clock: later }), 1);
    await closePartition(gateway, team, {});
    const { rows } = await gateway.page({});
    assert.deepEqual(
      new Set(rows.map(({ rowKey }) => rowKey)),
      new Set([...foreign, '!shard:mine']),
    );
    assert.ok(!rows.some(isFenceRow));
  });

  it('do not poison the row of an index whose value begins so', async () => {
    const { gateway } = await started.newTable();
    const indexes = withIndexes(Employee, {
      lastName: samePartition({ rowKey: (p) => key`${p.lastName}` }),
    });
    const employees = indexedEntitiesOf(indexes, { table: gateway });
    await employees.insert(employee(1, { department: team, lastName: '~outbox_' }));
    assert.deepEqual(await testRelay(gateway).partition(team), { dispatched: 0, poisoned: 0 });
    const { rows } = await gateway.page({ filter: `PartitionKey eq '${team}'` });
    const found = rows.map(({ rowKey }) => rowKey);
    assert.deepEqual(found, ['empid_000001', '}\uffee7Eoutbox_']);
  });

  it('are not written over when another program has the row of a lease', async () => {
    const table = await filled();
    const leases = rowLeasesOf(Person, table, { holder: 'me' });
    await insertForeign(table, '~lease_bob');
    await assert.rejects(leases.acquire({ team, name: 'bob' }), { name: 'DecodeError' });
    const lease = await leases.acquire({ team, name: '0002' });
    await lease.release();
    assert.deepEqual(await people(table), names.toSorted());
    const foreign = await table.get({ partitionKey: team, rowKey: '~lease_bob' });
    assert.equal(foreign?.properties['Message']?.value, 'mine');
  });
});
