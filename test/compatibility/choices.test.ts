import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startWorld } from '../support/compatibility-world.js';
import {
  changesetError,
  insertOperation,
  plainBatchBody,
  plainPart,
  sendBatch,
  sendChangeset,
} from '../wire/kit/batch.js';
import { acceptFull, acceptNone, entityPath } from '../wire/kit/client.js';
import { assertStatus } from '../wire/kit/errors.js';

// Choices of docs/decisions/0005-unconfirmed-behaviour.md that no other test names, and the format
// of that page.

const page = readFileSync(
  new URL('../../../docs/decisions/0005-unconfirmed-behaviour.md', import.meta.url),
  'utf8',
);
const cases = page
  .split('\n')
  .filter((line) => /^\| (?!case +\||-)/.test(line))
  .map((line) => line.split(' | ')[0]?.slice(2).trim() ?? '');

const { tables, table } = await startWorld();
const entity = entityPath(table, 'p', '1');

let rows = 0;

/** Inserts an entity with these members; returns the stored ones. */
async function stored(members: string): Promise<string> {
  rows += 1;
  await tables.put(table, `{"PartitionKey":"choice","RowKey":"${rows}",${members}}`);
  const { text } = await tables.get(table, 'choice', String(rows), { Accept: acceptNone });
  return /"Timestamp":"[^"]+",(.*)\}$/s.exec(text)?.[1] ?? text;
}

async function refused(members: string): Promise<void> {
  const body = `{"PartitionKey":"choice","RowKey":"refused",${members}}`;
  assertStatus(await tables.insert(table, body), 400, 'InvalidInput');
}

async function found(filter: string): Promise<unknown[]> {
  return tables.rowKeys(table, `PartitionKey eq 'p' and (${filter})`);
}

const choices: Readonly<Record<string, () => Promise<void>>> = {
  'case of `Tables` in a URL': async () => {
    assertStatus(await tables.send({ path: '/tables' }), 200);
    assertStatus(await tables.send({ path: `/TABLES('${table}')` }), 200);
  },
  'table name in `odata.metadata` and `Location`': async () => {
    const { json } = await tables.send({ path: entity.replace(table, table.toUpperCase()) });
    assert.match(String(json['odata.metadata']), new RegExp(`#${table.toUpperCase()}/@Element$`));
  },
  'Create Table without a name': async () =>
    assertStatus(
      await tables.send({ method: 'POST', path: '/Tables', body: '{}' }),
      400,
      'PropertiesNeedValue',
    ),
  'key in a body that is no string': async () =>
    assertStatus(
      await tables.insert(table, '{"PartitionKey":1,"RowKey":"1"}'),
      400,
      'InvalidInput',
    ),
  'property `partitionKey`': async () =>
    assert.equal(await stored('"partitionKey":"x"'), '"partitionKey":"x"'),
  'Edm.Int64 sent as a number': async () =>
    assert.equal(await stored('"n@odata.type":"Edm.Int64","n":5'), '"n":"5"'),
  'unknown `@odata.type`': () => refused('"n@odata.type":"Edm.Byte","n":5'),
  'object or array as a value': async () => {
    await refused('"n":{"a":1}');
    await refused('"n":[1]');
  },
  '`If-Match` on an insert': async () => {
    const row = { PartitionKey: 'choice', RowKey: 'if-match' };
    assertStatus(await tables.insert(table, row, { 'If-Match': 'nonsense' }), 201);
  },
  'case of `%3A` in `If-Match`': async () => {
    const etag = (await tables.send({ path: entity })).header('etag') ?? '';
    const headers = { 'If-Match': etag.replaceAll('%3A', '%3a') };
    assertStatus(await tables.send({ method: 'MERGE', path: entity, body: '{}', headers }), 204);
  },
  'conditional headers on reads of entities': async () => {
    const etag = (await tables.send({ path: entity })).header('etag') ?? '';
    for (const name of ['If-Match', 'If-None-Match']) {
      assertStatus(await tables.send({ path: entity, headers: { [name]: etag } }), 200);
      assertStatus(await tables.send({ path: entity, headers: { [name]: 'W/"x"' } }), 200);
    }
  },
  '`$filter` and `$top` on a get of one entity': async () =>
    assertStatus(await tables.send({ path: `${entity}?$filter=nonsense(&$top=-1` }), 200),
  '`$select` in a query of tables': async () => {
    const { json, items } = await tables.send({ path: '/Tables?$select=x' });
    assert.match(String(json['odata.metadata']), /#Tables&\$select=x$/);
    assert.ok(items.every(({ TableName }) => typeof TableName === 'string'));
  },
  'links of full metadata when the keys are not selected': async () => {
    const headers = { Accept: acceptFull };
    const { json } = await tables.send({ path: `${entity}?$select=n`, headers });
    assert.match(String(json['odata.id']), /\(PartitionKey='p',RowKey='1'\)$/);
    assert.equal(json['PartitionKey'], undefined);
  },
  'literal on the left in a filter': async () => {
    assert.deepEqual(await found('1 eq n'), ['1']);
    assert.deepEqual(await found('2 gt n'), ['1']);
    assert.deepEqual(await found('2 lt n'), []);
  },
  '`not` before a comparison without parentheses': async () => {
    assert.deepEqual(await found('not n eq 1'), []);
    assert.deepEqual(await found('not n eq 2'), ['1']);
  },
  'offset in a date of a filter': async () => {
    const year = new Date().getUTCFullYear();
    assert.deepEqual(await found(`Timestamp gt datetime'${year - 1}-01-01T00:00:00+02:00'`), ['1']);
  },
  'position in `Syntax error at position`': async () => {
    const { text } = await tables.query(table, { filter: 'n eq' });
    assert.match(text, /Syntax error at position 4 in 'n eq'\./);
    const words = await tables.query(table, { filter: 'aaa bbb ccc' });
    assert.match(words.text, /Syntax error at position 7 in 'aaa bbb ccc'\./);
  },
  'operation of a changeset on another table': async () => {
    const response = await sendChangeset(tables, [
      insertOperation(table, { PartitionKey: 'choice', RowKey: 'a' }),
      insertOperation('other', { PartitionKey: 'choice', RowKey: 'b' }),
    ]);
    assert.equal(changesetError(response).code, 'CommandsInBatchActOnDifferentPartitions');
  },
  'query of many entities in a batch': async () => {
    await tables.put(table, { PartitionKey: 'q', RowKey: '1' });
    const query = { method: 'GET', path: `/${table}()?$top=1`, headers: { Accept: acceptNone } };
    const part = plainPart(await sendBatch(tables, plainBatchBody(tables.base, [query])));
    assert.equal(part.status, 200);
    assert.match(part.head, /^x-ms-continuation-NextPartitionKey: /m);
  },
  '`Content-MD5` of tables': async () => {
    const headers = { 'Content-MD5': '1B2M2Y8AsgTpgAmY7PhCfg==' };
    assertStatus(await tables.send({ method: 'MERGE', path: entity, body: '{}', headers }), 204);
  },
};

describe('choices where the cloud is not known', () => {
  it('are written down once each', () => {
    assert.ok(cases.length > 50);
    assert.deepEqual(cases.toSorted(), [...new Set(cases)].toSorted());
  });

  for (const [name, probe] of Object.entries(choices)) {
    it(name.replaceAll('`', ''), async () => {
      assert.ok(cases.includes(name), 'the page has the case');
      await probe();
    });
  }
});
