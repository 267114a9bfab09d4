import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptFull, acceptMinimal, acceptNone, entityPath } from '../kit/client.js';
import { startFixture } from '../kit/server.js';

// table-service §4.2 to §4.4: the exact bytes of bodies in the three metadata levels, and $select.

const { client } = await startFixture();

/** The properties of the recording in table-service §4.3, in the order of the insert. */
const properties =
  '"age@odata.type":"Edm.Int64","age":"39","sex":"male","married":true,"ratio":3.1,' +
  '"evenratio":3.0,"Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z",' +
  '"binary@odata.type":"Edm.Binary","binary":"YmluYXJ5","other":20,' +
  '"clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"';
const unannotated = properties.replace(/"[^"]+@odata.type":"[^"]+",/g, '');

const table = await client.newTable();
await client.put(table, `{"PartitionKey":"p k","RowKey":"r'k",${properties}}`);
const path = entityPath(table, 'p k', "r'k");
const stored = await client.send({ path });
const timestamp = String(stored.json['Timestamp']);
const etag = `W/\\"datetime'${timestamp.replaceAll(':', '%3A')}'\\"`;
const keys = `"PartitionKey":"p k","RowKey":"r'k"`;
const link = `${table}(PartitionKey='p%20k',RowKey='r''k')`;
const stamp = `"Timestamp":"${timestamp}"`;

const bodies = {
  nometadata: `${keys},${stamp},${unannotated}}`,
  minimalmetadata: `"odata.etag":"${etag}",${keys},${stamp},${properties}}`,
  fullmetadata:
    `"odata.type":"${client.account}.${table}","odata.id":"${client.base}/${link}",` +
    `"odata.etag":"${etag}","odata.editLink":"${link}",${keys},` +
    `"Timestamp@odata.type":"Edm.DateTime",${stamp},${properties}}`,
} as const;
const accepts = {
  nometadata: acceptNone,
  minimalmetadata: acceptMinimal,
  fullmetadata: acceptFull,
} as const;
const levels = ['nometadata', 'minimalmetadata', 'fullmetadata'] as const;

const metadata = (level: (typeof levels)[number], suffix: string) =>
  level === 'nometadata' ? '' : `"odata.metadata":"${client.base}/$metadata#${suffix}",`;

describe('entity bodies', () => {
  for (const level of levels) {
    it(`Get Entity in ${level}`, async () => {
      const response = await client.send({ path, headers: { Accept: accepts[level] } });
      assert.equal(response.text, `{${metadata(level, `${table}/@Element`)}${bodies[level]}`);
    });

    it(`Query Entities in ${level}`, async () => {
      const response = await client.query(table, { headers: { Accept: accepts[level] } });
      assert.equal(response.text, `{${metadata(level, table)}"value":[{${bodies[level]}]}`);
    });

    it(`Query Entities without result in ${level}`, async () => {
      const headers = { Accept: accepts[level] };
      const response = await client.query(table, { filter: "PartitionKey eq 'x'", headers });
      assert.equal(response.text, `{${metadata(level, table)}"value":[]}`);
    });

    it(`Insert Entity in ${level} answers like Get Entity`, async () => {
      const fresh = await client.newTable('echo');
      const headers = { Accept: accepts[level] };
      const body = `{"PartitionKey":"p","RowKey":"r",${properties}}`;
      const inserted = await client.insert(fresh, body, headers);
      assert.equal(inserted.status, 201);
      assert.equal(inserted.text, (await client.get(fresh, 'p', 'r', headers)).text);
    });
  }
});

describe('table bodies', () => {
  const names = ['bodiesa', 'bodiesb'];
  const query = `?$filter=${encodeURIComponent("TableName ge 'bodies' and TableName lt 'bodies{'")}`;
  const full = (name: string) =>
    `"odata.type":"${client.account}.Tables","odata.id":"${client.base}/Tables('${name}')",` +
    `"odata.editLink":"Tables('${name}')","TableName":"${name}"`;

  it('Query Tables in each level', async () => {
    for (const name of names) {
      await client.createTable(name);
    }
    const bodyIn = async (Accept: string) =>
      (await client.send({ path: `/Tables${query}`, headers: { Accept } })).text;
    const plain = '"value":[{"TableName":"bodiesa"},{"TableName":"bodiesb"}]}';
    assert.equal(await bodyIn(acceptNone), `{${plain}`);
    const head = `{"odata.metadata":"${client.base}/$metadata#Tables",`;
    assert.equal(await bodyIn(acceptMinimal), head + plain);
    assert.equal(
      await bodyIn(acceptFull),
      `${head}"value":[${names.map((name) => `{${full(name)}}`).join(',')}]}`,
    );
  });

  it('Get Table in each level', async () => {
    await client.createTable('single');
    const bodyIn = async (Accept: string) =>
      (await client.send({ path: "/Tables('single')", headers: { Accept } })).text;
    assert.equal(await bodyIn(acceptNone), '{"TableName":"single"}');
    const head = `{"odata.metadata":"${client.base}/$metadata#Tables/@Element",`;
    assert.equal(await bodyIn(acceptMinimal), `${head}"TableName":"single"}`);
    assert.equal(await bodyIn(acceptFull), `${head}${full('single')}}`);
  });

  it('no tables: an empty list', async () => {
    const none = `?$filter=${encodeURIComponent("TableName eq 'absent'")}`;
    const response = await client.send({ path: `/Tables${none}` });
    assert.equal(response.status, 200);
    assert.deepEqual(response.items, []);
  });
});

describe('$select (table-service §4.4)', () => {
  it('leaves only what is listed, null for what the entity lacks', async () => {
    const response = await client.send({ path: `${path}?$select=age,sex,xyz` });
    assert.equal(
      response.text,
      `{"odata.metadata":"${client.base}/$metadata#${table}/@Element&$select=age,sex,xyz",` +
        `"odata.etag":"${etag}","age@odata.type":"Edm.Int64","age":"39","sex":"male","xyz":null}`,
    );
  });

  it('does the same in queries', async () => {
    const response = await client.query(table, { select: 'age,sex,xyz' });
    assert.equal(
      response.text,
      `{"odata.metadata":"${client.base}/$metadata#${table}&$select=age,sex,xyz",` +
        `"value":[{"odata.etag":"${etag}","age@odata.type":"Edm.Int64","age":"39","sex":"male","xyz":null}]}`,
    );
  });

  it('returns keys and Timestamp only when listed', async () => {
    const headers = { Accept: acceptNone };
    const two = await client.query(table, { select: 'PartitionKey,Timestamp', headers });
    assert.equal(two.text, `{"value":[{"PartitionKey":"p k",${stamp}}]}`);
    const all = await client.query(table, { select: 'RowKey,PartitionKey,Timestamp', headers });
    assert.deepEqual(Object.keys(all.items[0] ?? {}).sort(), [
      'PartitionKey',
      'RowKey',
      'Timestamp',
    ]);
  });

  it('keeps id, etag and links in fullmetadata although keys are not listed', async () => {
    const headers = { Accept: acceptFull };
    const [item] = (await client.query(table, { select: 'sex', headers })).items;
    assert.deepEqual(Object.keys(item ?? {}), [
      'odata.type',
      'odata.id',
      'odata.etag',
      'odata.editLink',
      'sex',
    ]);
  });

  it('empty means absent, but is echoed in odata.metadata', async () => {
    for (const name of ['$select', '%24select']) {
      const response = await client.send({ path: `/${table}()?${name}=` });
      const head = `{"odata.metadata":"${client.base}/$metadata#${table}&$select=","value":[{`;
      assert.equal(response.text, `${head}${bodies.minimalmetadata}]}`);
    }
  });

  it('trims white space around commas', async () => {
    const headers = { Accept: acceptNone };
    const response = await client.query(table, { select: 'age , sex', headers });
    assert.deepEqual(response.items, [{ age: '39', sex: 'male' }]);
  });

  it('takes * as everything (choice of this server)', async () => {
    const headers = { Accept: acceptNone };
    const response = await client.query(table, { select: '*', headers });
    assert.equal(response.text, `{"value":[{${bodies.nometadata}]}`);
  });

  it('does not keep a filter from using other properties', async () => {
    const response = await client.query(table, { filter: "sex eq 'male'", select: 'age' });
    assert.equal(response.items.length, 1);
    assert.equal(response.items[0]?.['sex'], undefined);
  });

  it('has room for 252 names', async () => {
    const select = Array.from({ length: 252 }, (_, index) => `p${index}`).join(',');
    const response = await client.query(table, { select, headers: { Accept: acceptNone } });
    assert.equal(Object.keys(response.items[0] ?? {}).length, 252);
  });

  it('is shown in odata.metadata as it was sent', async () => {
    for (const [sent, shown] of [
      ['n,%20m', 'n,%20m'],
      ['n%2Cm', 'n,m'],
      ['n,%C3%BC', 'n,%C3%BC'],
    ]) {
      const { json } = await client.send({ path: `/${table}()?$select=${sent}&$top=1` });
      assert.equal(json['odata.metadata'], `${client.base}/$metadata#${table}&$select=${shown}`);
    }
  });
});

describe('strings in JSON', () => {
  const texts = [
    '<&>\'"\\/',
    '\u0000\u0001\b\f\n\r\t\u001f',
    '\u007f\u0080\u2028\u2029\uFEFF',
    'é日本😀',
  ];
  for (const text of texts) {
    it(`round-trips ${JSON.stringify(text)}`, async () => {
      const fresh = await client.newTable('strings');
      await client.put(fresh, { PartitionKey: 'p', RowKey: 'r', text });
      const response = await client.get(fresh, 'p', 'r', { Accept: acceptNone });
      assert.equal(response.json['text'], text);
    });
  }

  it('escapes neither < > & nor quotes nor slashes more than JSON must', async () => {
    const fresh = await client.newTable('strings');
    await client.put(fresh, { PartitionKey: 'p', RowKey: 'r', text: `<a href='b'>&/"\\` });
    const response = await client.get(fresh, 'p', 'r', { Accept: acceptNone });
    assert.ok(response.text.endsWith(`"text":"<a href='b'>&/\\"\\\\"}`), response.text);
  });
});

describe('order of properties (table-service §2.6)', () => {
  it('writes the keys and Timestamp first, whatever the insert began with', async () => {
    const fresh = await client.newTable('order');
    await client.put(fresh, '{"z":1,"RowKey":"r","a":2,"PartitionKey":"p","m":3}');
    const response = await client.get(fresh, 'p', 'r', { Accept: acceptNone });
    const names = Object.keys(response.json);
    assert.deepEqual(names.slice(0, 3), ['PartitionKey', 'RowKey', 'Timestamp']);
    assert.deepEqual(names.slice(3).sort(), ['a', 'm', 'z']);
  });
});
