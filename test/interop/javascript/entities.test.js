import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { odata } from '@azure/data-tables';
import { all, assertRefused, freshTable } from './server.js';

const keys = { partitionKey: 'p', rowKey: 'r' };

/** The properties of an entity without those that every entity has. */
function properties(entity) {
  const { partitionKey, rowKey, timestamp, etag, ...rest } = entity;
  assert.ok(partitionKey !== undefined && rowKey !== undefined && timestamp && etag);
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('odata.')));
}

describe('an entity', () => {
  it('is created, read and deleted', async () => {
    const table = await freshTable();
    const { etag } = await table.createEntity({ ...keys, name: 'Ada' });
    const found = await table.getEntity('p', 'r');
    assert.deepEqual(properties(found), { name: 'Ada' });
    assert.equal(found.etag, etag);
    assert.ok(Math.abs(Date.parse(found.timestamp) - Date.now()) < 60_000);
    await table.deleteEntity('p', 'r');
    await assertRefused(table.getEntity('p', 'r'), 404, 'ResourceNotFound');
    await assertRefused(table.deleteEntity('p', 'r'), 404, 'ResourceNotFound');
  });

  it('is not inserted twice', async () => {
    const table = await freshTable();
    await table.createEntity(keys);
    await assertRefused(table.createEntity(keys), 409, 'EntityAlreadyExists');
  });

  it('keeps values of every type', async () => {
    const table = await freshTable();
    const entity = {
      text: 'žluťoučký kůň 🐎',
      empty: '',
      small: { type: 'Int32', value: '-2147483648' },
      big: { type: 'Int64', value: '9223372036854775807' },
      negative: { type: 'Int64', value: '-9223372036854775808' },
      whole: { type: 'Double', value: '3.0' },
      fraction: { type: 'Double', value: '-2.5e-300' },
      large: { type: 'Double', value: '1.7976931348623157e308' },
      tiny: { type: 'Double', value: '5e-324' },
      nan: { type: 'Double', value: 'NaN' },
      high: { type: 'Double', value: 'Infinity' },
      low: { type: 'Double', value: '-Infinity' },
      truth: true,
      untruth: false,
      moment: { type: 'DateTime', value: '2025-11-21T10:30:15.1234567Z' },
      first: { type: 'DateTime', value: '1601-01-01T00:00:00Z' },
      last: { type: 'DateTime', value: '9999-12-31T23:59:59.9999999Z' },
      identity: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
      bytes: Uint8Array.of(0, 1, 0xfe, 0xff),
      noBytes: new Uint8Array(),
    };
    await table.createEntity({ ...keys, ...entity });
    const typed = await table.getEntity('p', 'r', { disableTypeConversion: true });
    for (const name of ['big', 'negative', 'nan', 'high', 'low', 'moment', 'first', 'last']) {
      assert.deepEqual(typed[name], entity[name], name);
    }
    const plain = await table.getEntity('p', 'r');
    const { text, empty, truth, untruth } = plain;
    assert.deepEqual(
      { text, empty, truth, untruth },
      {
        text: entity.text,
        empty: '',
        truth: true,
        untruth: false,
      },
    );
    assert.deepEqual([plain.small, plain.fraction], [-2147483648, -2.5e-300]);
    assert.deepEqual([plain.large, plain.tiny], [Number.MAX_VALUE, Number.MIN_VALUE]);
    assert.equal(plain.big, 9223372036854775807n);
    assert.deepEqual(typed.identity, entity.identity);
    assert.deepEqual(new Uint8Array(plain.bytes), entity.bytes);
    assert.equal(plain.noBytes.length, 0);
    // The client reads numbers as they come, so that only the text tells a whole double.
    const filter = 'whole eq 3.0';
    assert.equal((await all(table.listEntities({ queryOptions: { filter } }))).length, 1);
    let body = '';
    await table.getEntity('p', 'r', { onResponse: (answer) => (body = answer.bodyAsText) });
    assert.match(body, /"whole":3\.0[,}]/);
  });

  it('is merged and replaced', async () => {
    const table = await freshTable();
    await table.createEntity({ ...keys, a: 1, b: 2 });
    await table.updateEntity({ ...keys, b: 3 }, 'Merge');
    assert.deepEqual(properties(await table.getEntity('p', 'r')), { a: 1, b: 3 });
    await table.updateEntity({ ...keys, c: 4 }, 'Replace');
    assert.deepEqual(properties(await table.getEntity('p', 'r')), { c: 4 });
    const missing = { partitionKey: 'p', rowKey: 'missing' };
    for (const mode of ['Merge', 'Replace']) {
      await assertRefused(table.updateEntity(missing, mode), 404, 'ResourceNotFound');
    }
  });

  it('is upserted', async () => {
    const table = await freshTable();
    const left = { Merge: { a: 1, b: 2 }, Replace: { b: 2 } };
    for (const mode of ['Merge', 'Replace']) {
      const row = { partitionKey: 'p', rowKey: mode };
      await table.upsertEntity({ ...row, a: 1 }, mode);
      await table.upsertEntity({ ...row, b: 2 }, mode);
      assert.deepEqual(properties(await table.getEntity('p', mode)), left[mode]);
    }
  });

  it('is not changed or deleted with a stale etag', async () => {
    const table = await freshTable();
    const { etag: stale } = await table.createEntity({ ...keys, a: 1 });
    const { etag: fresh } = await table.upsertEntity({ ...keys, a: 2 });
    for (const mode of ['Merge', 'Replace']) {
      const update = table.updateEntity({ ...keys, a: 3 }, mode, { etag: stale });
      await assertRefused(update, 412, 'UpdateConditionNotSatisfied');
    }
    const deletion = table.deleteEntity('p', 'r', { etag: stale });
    await assertRefused(deletion, 412, 'UpdateConditionNotSatisfied');
    assert.deepEqual(properties(await table.getEntity('p', 'r')), { a: 2 });
    const { etag } = await table.updateEntity({ ...keys, a: 4 }, 'Replace', { etag: fresh });
    await table.deleteEntity('p', 'r', { etag });
  });

  it('takes odd keys', async () => {
    const table = await freshTable();
    const odd = [
      ' ',
      "O'Neil",
      'a b+c',
      '100%',
      '50%25',
      'a&b=c;d',
      '(x)',
      'č',
      '日本',
      '🐎',
      '$@!*~',
    ];
    for (const key of odd) {
      const row = { partitionKey: key, rowKey: key };
      await table.createEntity({ ...row, key });
      const queryOptions = { filter: odata`RowKey eq ${key}` };
      const found = await all(table.listEntities({ queryOptions }));
      assert.deepEqual(
        found.map(({ rowKey }) => rowKey),
        [key],
      );
      await table.upsertEntity({ ...row, more: 1 });
      assert.deepEqual(properties(await table.getEntity(key, key)), { key, more: 1 });
      await table.deleteEntity(key, key);
    }
    assert.deepEqual(await all(table.listEntities()), []);
  });

  it('has no forbidden keys', async () => {
    const table = await freshTable();
    for (const key of ['a/b', 'a\\b', 'a#b', 'a?b', 'a\tb']) {
      const insert = table.createEntity({ partitionKey: key, rowKey: 'r' });
      await assertRefused(insert, 400, 'OutOfRangeInput');
    }
    const long = table.createEntity({ partitionKey: 'p', rowKey: 'x'.repeat(513) });
    await assertRefused(long, 400, 'PropertyValueTooLarge');
  });
});
