import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import type { Row } from '../../src/modeling/index.js';
import { filledShards, Order, orderSchema, type MemoryShards } from './support/memory-shards.js';
import { MemoryTable } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// What a program asks an account before it opens partitions there.

/** A program that is new, and what it sends that concerns the bindings of shards. */
async function newProgram(shards: MemoryShards) {
  const sent: string[] = [];
  const program = shards.manager(
    (port) =>
      wrappedMethods(port, async (method, send, given) => {
        const isOfShard = port instanceof MemoryTable && port.table === 'orders';
        if (isOfShard && inspect(given, { depth: 5 }).includes('!shard-binding')) sent.push(method);
        // As over a network: what is sent at the same time is under way together.
        await new Promise(setImmediate);
        return send();
      }),
    { refreshMs: 3_600_000 },
  );
  return { orders: (await program.open('orders', orderSchema)).entities(Order), sent };
}

const many = Array.from({ length: 40 }, (_, at) => 200 + at);

describe('a program that opens many partitions of a shard at once', () => {
  it('looks at its account once', async () => {
    const { shards } = await filledShards();
    const { orders, sent } = await newProgram(shards);
    const insert = (customer: number) => orders.insert({ customer, id: 1, amount: 1 });
    await Promise.all(many.map(insert));
    assert.deepEqual(sent, ['get']);
  });

  it('makes one of them the witness of the shard', async () => {
    const { shards } = await filledShards();
    const south = shards.rows('south', 'orders');
    const binding = south.all.find(({ partitionKey }) => partitionKey.includes('!shard-binding'));
    assert.ok(binding !== undefined);
    const { Witness: _, WitnessText: __, ...properties } = binding.properties;
    const row: Row = { ...binding, properties };
    south.apply([{ kind: 'upsert-replace', row }]);
    const { orders, sent } = await newProgram(shards);
    const insert = (customer: number) => orders.insert({ customer, id: 1, amount: 1 });
    await Promise.all(many.map(insert));
    assert.deepEqual(sent, ['get', 'write']);
  });

  it('tells each that the account was emptied, and opens none', async () => {
    const { shards } = await filledShards();
    const { orders, sent } = await newProgram(shards);
    const south = shards.rows('south', 'orders');
    south.apply(south.all.map((row) => ({ kind: 'delete', key: row, etag: '*' })));
    const insert = (customer: number) => orders.insert({ customer, id: 1, amount: 1 });
    const done = await Promise.allSettled(many.map(insert));
    const reasons = done.map((each) => (each.status === 'rejected' ? String(each.reason) : ''));
    for (const reason of reasons) assert.match(reason, /'south' knows nothing of the map/);
    assert.ok(sent.length <= 2, `${sent.length} looks`);
    assert.deepEqual(
      south.all.filter(({ rowKey }) => rowKey === '!shard:owner'),
      [],
    );
  });
});
