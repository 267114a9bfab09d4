import assert from 'node:assert/strict';
import { absent, holdRows, rowsOn, supported } from '../support/compatibility-rows.js';
import { startWorld, type AnyService } from '../support/compatibility-world.js';
import { acceptNone, entityPath, quoted } from '../wire/kit/client.js';
import { assertStatus } from '../wire/kit/errors.js';
import { messageBody, queryOf } from '../wire/kit/queue-client.js';
import { elementText, elementTexts, messagesOf } from '../wire/kit/queue-xml.js';
import { accountSas, withSas } from '../wire/kit/sas.js';

// The query parameters of docs/reference/compatibility.md: a server must use, ignore or refuse each
// as the page says.

const { tables, queues, services, table, queue } = await startWorld();
const onBoth = rowsOn(services);
const entity = entityPath(table, 'p', '1');

const refusedOption = (option: string) => async () => {
  assertStatus(await tables.send({ path: `/${table}()?${option}` }), 501, 'NotImplemented');
};

/** Three tables rows in two partitions, and their names, to page through. */
const paged = await tables.newTable('paged');
await tables.put(
  paged,
  { PartitionKey: 'a', RowKey: '1' },
  { PartitionKey: 'a', RowKey: '2' },
  { PartitionKey: 'b', RowKey: '1' },
);
await tables.newTable('zebra');

const page = (next?: Readonly<Record<string, string>>) =>
  tables.query(paged, { top: 2, ...(next === undefined ? {} : { next }) });

/**
 * Checks that `api-version` sets the version with a signature, and has no effect with a shared key.
 */
async function assertApiVersion(service: AnyService): Promise<void> {
  const sp = 'rl';
  const token = accountSas({ sv: '2019-02-02', ss: 'tq', srt: 'sco', sp });
  const path = service.name === 'tables' ? '/Tables' : '/?comp=list';
  const signed = await service.send({
    path: `${withSas(path, token)}&api-version=2017-07-29`,
    auth: 'none',
    headers: { 'x-ms-version': undefined },
  });
  assertStatus(signed, 200);
  assert.equal(signed.header('x-ms-version'), '2017-07-29');
  const mark = path.includes('?') ? '&' : '?';
  const keyed = await service.send({ path: `${path}${mark}api-version=2017-07-29` });
  assertStatus(keyed, 200);
  assert.notEqual(keyed.header('x-ms-version'), '2017-07-29');
}

async function assertTimeout(service: AnyService): Promise<void> {
  const path = service.name === 'tables' ? '/Tables?' : '/?comp=list&';
  for (const timeout of ['1', '30', '31', '90']) {
    assertStatus(await service.send({ path: `${path}timeout=${timeout}` }), 200);
  }
  assertStatus(
    await service.send({ path: `${path}timeout=soon` }),
    400,
    'InvalidQueryParameterValue',
  );
}

holdRows('Query parameters of tables', [
  supported('$filter', async () => {
    const filter = `PartitionKey eq ${quoted('a')} and not (RowKey lt '2')`;
    assert.deepEqual(await tables.rowKeys(paged, filter), ['2']);
    assertStatus(await tables.query(paged, { filter: `startswith(RowKey,'1')` }), 501);
  }),
  supported('$select', async () => {
    const headers = { Accept: acceptNone };
    const { text } = await tables.send({ path: `${entity}?$select=n,missing`, headers });
    assert.equal(text, '{"n":1,"missing":null}');
    const names = (count: number) =>
      Array.from({ length: count }, (_, index) => `n${index}`).join(',');
    assertStatus(await tables.query(table, { select: names(255) }), 200);
    assertStatus(await tables.query(table, { select: names(256) }), 400, 'InvalidInput');
  }),
  supported('$top', async () => {
    for (const [top, count] of [
      [0, 0],
      [1, 1],
      [1000, 3],
    ] as const) {
      assert.equal((await tables.query(paged, { top })).items.length, count);
    }
    for (const top of [1001, -1, 'many']) {
      assertStatus(await tables.query(paged, { top }), 400, 'InvalidInput');
    }
  }),
  supported('$format', async () => {
    const path = `${entity}?$format=application%2Fjson%3Bodata%3Dfullmetadata`;
    const response = await tables.send({ path, headers: { Accept: acceptNone } });
    assert.match(response.header('content-type') ?? '', /odata=fullmetadata/);
  }),
  absent('$orderby', refusedOption('$orderby=RowKey')),
  absent('$skip', refusedOption('$skip=1')),
  absent('$expand', refusedOption('$expand=x')),
  absent('$count', refusedOption('$count=true')),
  absent('$inlinecount', refusedOption('$inlinecount=allpages')),
  supported('NextPartitionKey', async () => {
    const first = await page();
    assert.equal(first.header('x-ms-continuation-nextpartitionkey'), '1!4!Yg--');
    const { items } = await page({ NextPartitionKey: '1!4!Yg--', NextRowKey: '1!4!MQ--' });
    assert.deepEqual(
      items.map(({ PartitionKey }) => PartitionKey),
      ['b'],
    );
    assert.equal((await page({ NextPartitionKey: '' })).items.length, 2);
    assertStatus(await page({ NextPartitionKey: 'nonsense' }), 400, 'InvalidInput');
  }),
  supported('NextRowKey', async () => {
    const from = async (next: Readonly<Record<string, string>>) =>
      (await page({ NextPartitionKey: '1!4!YQ--', ...next })).items[0]?.['RowKey'];
    assert.equal(await from({ NextRowKey: '1!4!Mg--' }), '2');
    assert.equal(await from({}), '1');
  }),
  supported('NextTableName', async () => {
    const first = await tables.send({ path: '/Tables?$top=1' });
    const token = first.header('x-ms-continuation-nexttablename') ?? '';
    const rest = await tables.send({
      path: `/Tables?NextTableName=${encodeURIComponent(token)}`,
    });
    const names = [...first.items, ...rest.items].map(({ TableName }) => TableName);
    assert.deepEqual(
      names,
      (await tables.send({})).items.map(({ TableName }) => TableName),
    );
  }),
  supported('comp', async () => {
    assertStatus(await tables.send({ path: `/${table}?comp=acl` }), 200);
    for (const [comp, status] of [
      ['properties', 200],
      ['stats', 400],
    ] as const) {
      assertStatus(await tables.send({ path: `/?restype=service&comp=${comp}` }), status);
    }
    const other = await tables.send({ path: `/${table}?comp=other` });
    assertStatus(other, 400, 'InvalidQueryParameterValue');
  }),
  supported('restype', async () => {
    const other = await tables.send({ path: '/?restype=other&comp=properties' });
    assertStatus(other, 400, 'InvalidQueryParameterValue');
  }),
  supported('timeout', () => onTables(assertTimeout)),
  supported('api-version', () => onTables(assertApiVersion)),
  absent('any other', async () => {
    for (const option of ['$foo=1', 'foo=1', '$TOP=1', 'numofmessages=x']) {
      const { items } = await tables.send({ path: `/${paged}()?${option}` });
      assert.equal(items.length, 3, option);
    }
  }),
]);

async function onTables(probe: (service: AnyService) => Promise<void>): Promise<void> {
  await onBoth.run((service) => (service.name === 'tables' ? probe(service) : Promise.resolve()));
}

async function onQueues(probe: (service: AnyService) => Promise<void>): Promise<void> {
  await onBoth.run((service) => (service.name === 'queues' ? probe(service) : Promise.resolve()));
}

const listed = async (query: string): Promise<string[]> =>
  elementTexts((await queues.expect(200, { path: `/?comp=list&${query}` })).text, 'Name');

holdRows('Query parameters of queues', [
  supported('comp', async () => {
    assertStatus(await queues.send({ path: '/?comp=list' }), 200);
    for (const comp of ['metadata', 'acl']) {
      assertStatus(await queues.send({ path: `/${queue}?comp=${comp}` }), 200);
    }
    for (const [comp, status] of [
      ['properties', 200],
      ['stats', 400],
      ['other', 400],
    ] as const) {
      assertStatus(await queues.send({ path: `/?restype=service&comp=${comp}` }), status);
    }
    const path = '/?restype=service&comp=userdelegationkey';
    const key = await queues.send({ method: 'POST', path, body: '<KeyInfo/>' });
    assert.notEqual(key.header('x-ms-error-code'), 'InvalidQueryParameterValue');
  }),
  supported('restype', async () => {
    const other = await queues.send({ path: '/?restype=other&comp=properties' });
    assertStatus(other, 400, 'InvalidQueryParameterValue');
  }),
  supported('prefix', async () => {
    const name = await queues.newQueue('prefixed');
    assert.deepEqual(await listed('prefix=prefixed'), [name]);
  }),
  supported('marker', async () => {
    const all = await listed('');
    const first = await queues.expect(200, { path: '/?comp=list&maxresults=1' });
    const marker = encodeURIComponent(elementText(first.text, 'NextMarker') ?? '');
    assert.deepEqual([all[0], ...(await listed(`marker=${marker}`))], all);
    assertStatus(await queues.send({ path: '/?comp=list&marker=x' }), 400, 'InvalidMarker');
  }),
  supported('maxresults', async () => {
    assert.equal((await listed('maxresults=1')).length, 1);
    assert.deepEqual(await listed('maxresults=9999'), await listed(''));
    const none = await queues.send({ path: '/?comp=list&maxresults=0' });
    assertStatus(none, 400, 'OutOfRangeQueryParameterValue');
  }),
  supported('include', async () => {
    await queues.newQueue('included', { 'x-ms-meta-Colour': 'blue' });
    const path = '/?comp=list&prefix=included';
    assert.doesNotMatch((await queues.send({ path })).text, /Colour/);
    const shown = await queues.send({ path: `${path}&include=metadata` });
    assert.match(shown.text, /<Metadata><Colour>blue<\/Colour><\/Metadata>/);
  }),
  supported('numofmessages', async () => {
    const name = await queues.newQueue();
    for (const text of ['1', '2', '3']) await queues.put(name, text);
    assert.equal((await queues.peek(name, { numofmessages: 2 })).length, 2);
    for (const count of [0, 33]) {
      const path = `/${name}/messages?numofmessages=${count}`;
      assertStatus(await queues.send({ path }), 400, 'OutOfRangeQueryParameterValue');
    }
  }),
  supported('visibilitytimeout', async () => {
    const name = await queues.newQueue();
    await queues.put(name, 'later', { visibilitytimeout: 60 });
    assert.deepEqual(await queues.texts(name), []);
    const path = `/${name}/messages?visibilitytimeout=604801`;
    assertStatus(await queues.send({ path }), 400, 'OutOfRangeQueryParameterValue');
    const message = await queues.put(name, 'text');
    const receipt = { popreceipt: message.PopReceipt };
    const update = `/${name}/messages/${message.MessageId}${queryOf(receipt)}`;
    const without = await queues.send({ method: 'PUT', path: update });
    assertStatus(without, 400, 'MissingRequiredQueryParameter');
  }),
  supported('messagettl', async () => {
    const name = await queues.newQueue();
    const { ExpirationTime } = await queues.put(name, 'for ever', { messagettl: -1 });
    assert.equal(ExpirationTime, 'Fri, 31 Dec 9999 23:59:59 GMT');
    const path = `/${name}/messages?messagettl=-1`;
    const old = { method: 'POST', path, body: messageBody('text'), version: '2016-05-31' };
    assertStatus(await queues.send(old), 400);
  }),
  supported('peekonly', async () => {
    const looked = await queues.expect(200, { path: `/${queue}/messages?peekonly=true` });
    assert.equal(messagesOf(looked)[0]?.PopReceipt, undefined);
    assert.deepEqual(await queues.texts(queue), ['text']);
  }),
  supported('popreceipt', async () => {
    const name = await queues.newQueue();
    const message = await queues.put(name, 'text');
    const path = `/${name}/messages/${message.MessageId}`;
    for (const method of ['PUT', 'DELETE']) {
      const without = await queues.send({ method, path: `${path}?visibilitytimeout=0` });
      assertStatus(without, 400, 'MissingRequiredQueryParameter');
    }
    assertStatus(await queues.delete(name, message), 204);
  }),
  supported('timeout', () => onQueues(assertTimeout)),
  supported('api-version', () => onQueues(assertApiVersion)),
  absent('any other', async () => {
    const all = await listed('');
    assert.deepEqual(await listed('foo=1&$top=1&popreceipt=x'), all);
    assert.equal((await listed('MaxResults=1')).length, 1, 'names have no case');
  }),
]);
