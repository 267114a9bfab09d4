import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertOperation, sendChangeset } from '../kit/batch.js';
import { entityPath, type QueryOptions } from '../kit/client.js';
import { assertJsonError, refusals } from '../kit/errors.js';
import type { WireResponse } from '../kit/response.js';
import { startFixture } from '../kit/server.js';
import { costly } from '../../support/run-length.js';

// table-service §14 no. 8 and §6: pages and their tokens.

const rowKeyOf = (index: number) => String(index).padStart(5, '0');

/** More tables than a page holds. */
const manyTables = Array.from({ length: 1001 }, (_, index) => `zmany${rowKeyOf(index)}`);
const init = { tables: Object.fromEntries(manyTables.map((name) => [name, null])) };
const { client } = await startFixture({ init });

async function filled(count: number): Promise<string> {
  const table = await client.newTable('paging');
  for (let start = 0; start < count; start += 100) {
    const operations = Array.from({ length: Math.min(100, count - start) }, (_, index) =>
      insertOperation(table, {
        PartitionKey: 'p',
        RowKey: rowKeyOf(start + index),
        n: start + index,
      }),
    );
    assert.equal((await sendChangeset(client, operations)).status, 202);
  }
  return table;
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => rowKeyOf(from + index));

/** The token of a response as query parameters; undefined when there is none. */
function tokenOf(response: WireResponse): Record<string, string> | undefined {
  const partition = response.header('x-ms-continuation-nextpartitionkey');
  const row = response.header('x-ms-continuation-nextrowkey');
  if (partition === undefined) {
    assert.equal(row, undefined);
    return undefined;
  }
  for (const part of [partition, row ?? assert.fail('NextRowKey is always sent')]) {
    assert.match(part, /^1!\d+![A-Za-z0-9*_-]*$/);
    const [, length, payload] = part.split('!');
    assert.equal(payload?.length, Number(length));
  }
  return { NextPartitionKey: partition, NextRowKey: row ?? '' };
}

async function page(table: string, options: QueryOptions) {
  const response = await client.query(table, options);
  assert.equal(response.status, 200, response.text);
  return { rows: response.items.map((item) => item['RowKey']), next: tokenOf(response), response };
}

async function pages(table: string, options: QueryOptions): Promise<unknown[][]> {
  const all: unknown[][] = [];
  let next: Record<string, string> | undefined;
  do {
    const one = await page(table, { ...options, ...(next === undefined ? {} : { next }) });
    all.push(one.rows);
    next = one.next;
  } while (next !== undefined && all.length < 500);
  return all;
}

const token = (key: string) => {
  const payload = Buffer.from(key)
    .toString('base64')
    .replaceAll('+', '*')
    .replaceAll('/', '_')
    .replaceAll('=', '-');
  return `1!${payload.length}!${payload}`;
};

describe('pages of 1,000', () => {
  const cases: readonly (readonly [count: number, sizes: readonly number[]])[] = [
    [0, [0]],
    [1, [1]],
    [999, [999]],
    [1000, [1000]],
    [1001, [1000, 1]],
    [2000, [1000, 1000]],
  ];
  for (const [count, sizes] of cases) {
    it(`${count} entities come in pages of ${sizes.join(', ')}`, async () => {
      const table = await filled(count);
      const all = await pages(table, {});
      assert.deepEqual(
        all.map((each) => each.length),
        sizes,
      );
      assert.deepEqual(all.flat(), range(0, count));
    });
  }
});

describe('$top', () => {
  it('limits each page, and the query continues after it', async () => {
    const table = await filled(10);
    const sizes = async (top: number) => (await pages(table, { top })).map((each) => each.length);
    assert.deepEqual(
      await sizes(1),
      Array.from({ length: 10 }, () => 1),
    );
    assert.deepEqual(await sizes(3), [3, 3, 3, 1]);
    assert.deepEqual(await sizes(5), [5, 5]);
    assert.deepEqual(await sizes(10), [10]);
    assert.deepEqual(await sizes(11), [10]);
    assert.deepEqual(await sizes(1000), [10]);
  });

  it('0 is an empty page without token (choice of this server)', async () => {
    const table = await filled(2);
    const { rows, next } = await page(table, { top: 0 });
    assert.deepEqual(rows, []);
    assert.equal(next, undefined);
  });

  it('counts what matches, not what is looked at', async () => {
    const table = await filled(30);
    const all = await pages(table, { filter: 'n ge 10 and n lt 20', top: 4 });
    assert.deepEqual(all.flat(), range(10, 20));
    assert.ok(all.every((each) => each.length <= 4));
  });
});

describe('with a filter', () => {
  it('over many entities finds each match once', async () => {
    const table = await filled(2500);
    const all = await pages(table, { filter: 'n ge 400 and n lt 1900', top: 700 });
    assert.deepEqual(all.flat(), range(400, 1900));
    const rare = await pages(table, { filter: 'n eq 2499' });
    assert.deepEqual(rare.flat(), [rowKeyOf(2499)]);
    const none = await pages(table, { filter: 'n eq -1' });
    assert.deepEqual(none.flat(), []);
  });

  it('a filter on both keys stays a query: 200 and an empty list', async () => {
    const table = await filled(1);
    const { rows } = await page(table, { filter: `PartitionKey eq 'p' and RowKey eq 'x'` });
    assert.deepEqual(rows, []);
  });

  it('says by its plan that a point costs one row, and a partition what it holds', async () => {
    const table = await filled(300);
    // Over several stores, ranges follow.
    const planOf = async (filter: string) =>
      (await client.query(table, { filter })).header('x-tabularium-plan')?.split(';ranges=')[0];
    const point = await planOf(`PartitionKey eq 'p' and RowKey eq '${rowKeyOf(7)}'`);
    assert.equal(point, 'class=point;intervals=1;scanned=1;returned=1');
    const partition = await planOf(`PartitionKey eq 'p'`);
    assert.equal(partition, 'class=partition-scan;intervals=1;scanned=300;returned=300');
  });
});

describe('tokens', () => {
  it('name the next entity, in the encoding of the service', async () => {
    const table = await filled(3);
    const { next } = await page(table, { top: 1 });
    assert.deepEqual(next, { NextPartitionKey: token('p'), NextRowKey: token(rowKeyOf(1)) });
  });

  it('go on with the next entity when theirs was deleted', async () => {
    const table = await filled(6);
    const { next } = await page(table, { top: 2 });
    assert.ok(next);
    const path = entityPath(table, 'p', rowKeyOf(2));
    await client.send({ method: 'DELETE', path, headers: { 'If-Match': '*' } });
    const second = await page(table, { top: 2, next });
    assert.deepEqual(second.rows, range(3, 5));
  });

  it('see an entity that was inserted at or after their place', async () => {
    const table = await filled(4);
    const { next } = await page(table, { top: 2 });
    assert.ok(next);
    await client.put(table, { PartitionKey: 'p', RowKey: `${rowKeyOf(2)}x` });
    assert.deepEqual((await page(table, { next })).rows, [
      rowKeyOf(2),
      `${rowKeyOf(2)}x`,
      rowKeyOf(3),
    ]);
  });

  it('may lack NextRowKey: then the partition is read from its start', async () => {
    const table = await client.newTable();
    for (const PartitionKey of ['a', 'b', 'c']) {
      await client.put(table, { PartitionKey, RowKey: '' }, { PartitionKey, RowKey: 'r' });
    }
    const next = { NextPartitionKey: token('b') };
    const { response } = await page(table, { next });
    const keys = response.items.map((item) => [item['PartitionKey'], item['RowKey']]);
    assert.deepEqual(keys, [
      ['b', ''],
      ['b', 'r'],
      ['c', ''],
      ['c', 'r'],
    ]);
  });

  it('with an empty NextRowKey= are served or 400 InvalidInput, nothing else', async () => {
    const table = await filled(2);
    const next = { NextPartitionKey: token('p'), NextRowKey: '' };
    const response = await client.query(table, { next });
    if (response.status === 200) assert.equal(response.items.length, 2);
    else assertJsonError(response, { status: 400, code: 'InvalidInput' });
  });

  it('that a client makes itself are understood, whatever is stored', async () => {
    const table = await filled(5);
    const next = { NextPartitionKey: token('p'), NextRowKey: token('00002x') };
    assert.deepEqual((await page(table, { next })).rows, range(3, 5));
    const before = { NextPartitionKey: token('a'), NextRowKey: token('zzz') };
    assert.deepEqual((await page(table, { next: before })).rows, range(0, 5));
    const behind = { NextPartitionKey: token('q'), NextRowKey: token('') };
    assert.deepEqual((await page(table, { next: behind })).rows, []);
  });

  it('may have their exclamation marks raw or encoded', async () => {
    const table = await filled(2);
    for (const mark of ['!', '%21']) {
      const query = `NextPartitionKey=${token('p')}&NextRowKey=${token(rowKeyOf(1))}`;
      const path = `/${table}()?${query.replaceAll('!', mark)}`;
      assert.equal((await client.send({ path })).items.length, 1);
    }
  });

  const broken = [
    'x',
    '1!',
    '1!4',
    '1!4!',
    '1!5!cA--',
    '2!4!cA--',
    '1!4!cA==',
    '1!4!****',
    '1!x!cA--',
    '!!',
    '1!-4!cA--',
    '1!4!_w--',
  ];
  for (const text of broken) {
    it(`'${text}' is 400 InvalidInput`, async () => {
      const table = await filled(1);
      assertJsonError(
        await client.query(table, { next: { NextPartitionKey: text } }),
        refusals.inputInvalid,
      );
    });
  }

  const keys = [
    '',
    'a',
    'Ü',
    '日本語',
    '😀',
    '+=',
    '!',
    ' ',
    '\uE000',
    'x'.repeat(512),
    '日'.repeat(512),
  ];
  it('carry every key, and the order is ordinal by UTF-16', async () => {
    const table = await client.newTable();
    for (const PartitionKey of keys) {
      for (const RowKey of keys) await client.put(table, { PartitionKey, RowKey });
    }
    const seen: string[] = [];
    let next: Record<string, string> | undefined;
    do {
      const one = await page(table, { top: 1, ...(next === undefined ? {} : { next }) });
      const [item] = one.response.items;
      seen.push(JSON.stringify([item?.['PartitionKey'], item?.['RowKey']]));
      next = one.next;
    } while (next !== undefined && seen.length < 1000);
    const sorted = [...keys].sort();
    const wanted = sorted.flatMap((pk) => sorted.map((rk) => JSON.stringify([pk, rk])));
    assert.deepEqual(seen, wanted);
  });

  it('stand for an empty key as 1!0!', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'a', RowKey: 'r' }, { PartitionKey: 'b', RowKey: '' });
    const { next } = await page(table, { top: 1 });
    assert.deepEqual(next, { NextPartitionKey: token('b'), NextRowKey: '1!0!' });
  });
});

describe('pages by size', () => {
  it('eight entities of 900 KB do not come in one answer of 7 MB', costly(), async () => {
    const table = await client.newTable();
    const value = Buffer.alloc(65_536, 7).toString('base64');
    const properties = Object.fromEntries(
      Array.from({ length: 14 }, (_, index) => [
        [`b${index}@odata.type`, 'Edm.Binary'],
        [`b${index}`, value],
      ]).flat(),
    ) as Record<string, string>;
    for (let index = 0; index < 8; index += 1) {
      await client.put(table, { PartitionKey: 'p', RowKey: rowKeyOf(index), ...properties });
    }
    const all = await pages(table, {});
    assert.deepEqual(all.flat(), range(0, 8));
    assert.ok(all.length >= 2 && all.length <= 4, `${all.length} pages`);
  });
});

describe('pages of tables', () => {
  it('1,001 tables come as 1,000 and one, $top pages, and broken tokens are refused', async () => {
    const filter = encodeURIComponent(`TableName ge 'zmany' and TableName lt 'zmany{'`);
    const list = async (top: string) => {
      const sizes: number[] = [];
      const seen: unknown[] = [];
      let next: string | undefined;
      do {
        const from = next === undefined ? '' : `&NextTableName=${encodeURIComponent(next)}`;
        const response = await client.send({ path: `/Tables?$filter=${filter}${top}${from}` });
        assert.equal(response.status, 200, response.text);
        sizes.push(response.items.length);
        seen.push(...response.items.map((item) => item['TableName']));
        next = response.header('x-ms-continuation-nexttablename');
        if (next !== undefined) assert.match(next, /^1!\d+![A-Za-z0-9*_-]*$/);
      } while (next !== undefined && sizes.length < 50);
      assert.deepEqual(seen, manyTables);
      return sizes;
    };
    assert.deepEqual(await list(''), [1000, 1]);
    assert.deepEqual(await list('&$top=400'), [400, 400, 201]);
    const broken = await client.send({ path: '/Tables?NextTableName=x' });
    assertJsonError(broken, { status: 400, code: 'InvalidInput' });
    const none = await client.send({ path: '/Tables?$top=0' });
    assert.deepEqual(none.items, []);
  });
});
