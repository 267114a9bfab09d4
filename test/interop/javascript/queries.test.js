import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { all, assertRefused, freshTable, insertNumbers } from './server.js';

async function rows(table, filter) {
  const found = await all(table.listEntities({ queryOptions: { filter } }));
  return found.map(({ rowKey }) => rowKey);
}

describe('a query', () => {
  it('filters by every type', async () => {
    const table = await freshTable();
    const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
    const row = (rowKey, text, small, big, real, truth, day, identity, bytes) => ({
      partitionKey: 'p',
      rowKey,
      text,
      small,
      big,
      real,
      truth,
      moment: { type: 'DateTime', value: `2025-11-${day}T10:30:15.1234567Z` },
      identity: { type: 'Guid', value: identity },
      bytes: Uint8Array.from(bytes),
    });
    await table.createEntity(
      row('yes', "O'Neil & co", 7, 2n ** 40n, 2.5, true, 21, guid, [1, 255]),
    );
    const other = guid.replace('c9', '11');
    await table.createEntity(row('no', 'x', 1, 1n, 0.5, false, 20, other, [1]));
    const values = {
      text: "'O''Neil & co'",
      small: '7',
      big: '1099511627776L',
      real: '2.5',
      truth: 'true',
      moment: "datetime'2025-11-21T10:30:15.1234567Z'",
      identity: `guid'${guid}'`,
      bytes: "X'01ff'",
    };
    for (const [name, value] of Object.entries(values)) {
      assert.deepEqual(await rows(table, `${name} eq ${value}`), ['yes'], name);
      assert.deepEqual(await rows(table, `${name} ne ${value}`), ['no'], name);
      assert.deepEqual(await rows(table, `not (${name} eq ${value})`), ['no'], name);
    }
  });

  it('filters by ranges of keys', async () => {
    const table = await freshTable();
    await insertNumbers(table, 'p', 300);
    await insertNumbers(table, 'q', 10);
    const range = "PartitionKey eq 'p' and RowKey ge '00100' and RowKey lt '00103'";
    assert.deepEqual(await rows(table, range), ['00100', '00101', '00102']);
    const either = "number eq 5 or (PartitionKey eq 'p' and number lt 2)";
    assert.deepEqual(await rows(table, either), ['00000', '00001', '00005', '00005']);
  });

  it('selects properties', async () => {
    const table = await freshTable();
    await table.createEntity({ partitionKey: 'p', rowKey: 'r', a: 1, b: 2 });
    const [found] = await all(table.listEntities({ queryOptions: { select: ['rowKey', 'b'] } }));
    const { etag, ...rest } = found;
    assert.ok(etag);
    assert.deepEqual(rest, { rowKey: 'r', b: 2 });
  });

  it('pages through many rows, and goes on from a token that was kept', async () => {
    const table = await freshTable();
    await insertNumbers(table, 'p', 2500);
    const pages = await all(table.listEntities().byPage());
    assert.deepEqual(
      pages.map(({ length }) => length),
      [1000, 1000, 500],
    );
    const numbers = pages.flat().map(({ number }) => number);
    assert.deepEqual(numbers, [...Array(2500).keys()]);
    const { continuationToken } = pages[0];
    const rest = (await all(table.listEntities().byPage({ continuationToken }))).flat();
    assert.deepEqual(
      rest.map(({ number }) => number),
      numbers.slice(1000),
    );
  });

  it('gives no more in a page than asked', async () => {
    const table = await freshTable();
    await insertNumbers(table, 'p', 25);
    const pages = await all(table.listEntities().byPage({ maxPageSize: 10 }));
    assert.deepEqual(
      pages.map(({ length }) => length),
      [10, 10, 5],
    );
  });

  it('has no malformed filter', async () => {
    const table = await freshTable();
    await assertRefused(rows(table, 'PartitionKey eq'), 400, 'InvalidInput');
  });
});
