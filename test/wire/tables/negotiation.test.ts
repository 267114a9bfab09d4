import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptFull, acceptMinimal, acceptNone, entityPath } from '../kit/client.js';
import type { Headers } from '../kit/request-bytes.js';
import { assertXmlError } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// table-service §4.1: how Accept and $format choose the metadata level.

const { client } = await startFixture();
const table = await client.newTable();
await client.put(table, { PartitionKey: 'p', RowKey: 'r' });

const typeOf = (level: string) => `application/json;odata=${level};streaming=true;charset=utf-8`;

async function levelOf(headers: Headers, query = ''): Promise<string | undefined> {
  const response = await client.send({ path: `/${table}()${query}`, headers });
  assert.equal(response.status, 200, response.text);
  return response.header('content-type');
}

describe('Accept', () => {
  const accepted: readonly (readonly [accept: string, level: string])[] = [
    ['application/json;odata=nometadata', 'nometadata'],
    ['application/json;odata=minimalmetadata', 'minimalmetadata'],
    ['application/json;odata=fullmetadata', 'fullmetadata'],
    ['application/json', 'minimalmetadata'],
    ['application/json; odata=minimalmetadata', 'minimalmetadata'],
    ['application/json; odata=nometadata', 'nometadata'],
    ['  application/json ; odata = fullmetadata  ', 'fullmetadata'],
    ['APPLICATION/JSON;ODATA=NOMETADATA', 'nometadata'],
    ['application/json;odata=fullmetadata;charset=utf-8', 'fullmetadata'],
    ['application/json;odata=nometadata, application/json;odata=fullmetadata', 'nometadata'],
    ['text/html, application/json;odata=fullmetadata', 'fullmetadata'],
    ['application/atom+xml,application/json;odata=nometadata', 'nometadata'],
    // Choice of this server: the service would respond in Atom (table-service §4.1).
    ['*/*', 'minimalmetadata'],
  ];
  for (const [accept, level] of accepted) {
    it(`${accept} gives ${level}`, async () => {
      assert.equal(await levelOf({ Accept: accept }), typeOf(level));
    });
  }

  const refused: readonly (readonly [accept: string | undefined, code: string])[] = [
    [undefined, 'AtomFormatNotSupported'],
    ['', 'AtomFormatNotSupported'],
    ['application/atom+xml', 'AtomFormatNotSupported'],
    ['application/atom+xml,application/xml', 'AtomFormatNotSupported'],
    ['text/html', 'MediaTypeNotSupported'],
    ['application/json;odata=verbose', 'JsonVerboseFormatNotSupported'],
  ];
  for (const [accept, code] of refused) {
    it(`${accept ?? 'no header'} gives 415 ${code}`, async () => {
      for (const path of [`/${table}()`, entityPath(table, 'p', 'r'), '/Tables']) {
        const response = await client.send({ path, headers: { Accept: accept } });
        assertXmlError(response, { status: 415, code });
      }
    });
  }

  it('may be missing on writes that return no body', async () => {
    const Accept = undefined;
    const path = entityPath(table, 'q', 'r');
    const put = await client.send({ method: 'PUT', path, body: '{}', headers: { Accept } });
    assert.equal(put.status, 204);
    const merge = await client.send({ method: 'MERGE', path, body: '{}', headers: { Accept } });
    assert.equal(merge.status, 204);
    const headers = { Accept, 'If-Match': '*' };
    assert.equal((await client.send({ method: 'DELETE', path, headers })).status, 204);
    const prefer = { Accept, Prefer: 'return-no-content' };
    const insert = await client.insert(table, { PartitionKey: 'q', RowKey: 'r' }, prefer);
    assert.equal(insert.status, 204);
  });
});

describe('$format', () => {
  const formats: readonly (readonly [level: string, accept: string])[] = [
    ['nometadata', acceptFull],
    ['minimalmetadata', acceptNone],
    ['fullmetadata', acceptMinimal],
  ];
  for (const [level, accept] of formats) {
    it(`${level} wins over Accept`, async () => {
      const format = encodeURIComponent(`application/json;odata=${level}`);
      assert.equal(await levelOf({ Accept: accept }, `?$format=${format}`), typeOf(level));
      assert.equal(await levelOf({ Accept: accept }, `?%24format=${format}`), typeOf(level));
    });
  }

  it('serves a request whose Accept is missing or Atom', async () => {
    const query = '?$format=application%2Fjson%3Bodata%3Dfullmetadata';
    assert.equal(await levelOf({ Accept: undefined }, query), typeOf('fullmetadata'));
    assert.equal(await levelOf({ Accept: 'application/atom+xml' }, query), typeOf('fullmetadata'));
  });

  it('an unsupported one is refused although Accept would do', async () => {
    const path = `/${table}()?$format=application%2Fatom%2Bxml`;
    assertXmlError(await client.send({ path }), { status: 415, code: 'AtomFormatNotSupported' });
  });

  it('is heard by every operation that answers with a body', async () => {
    const format = '?$format=application%2Fjson%3Bodata%3Dnometadata';
    const none = typeOf('nometadata');
    const list = await client.send({ path: `/Tables${format}` });
    assert.equal(list.header('content-type'), none);
    const one = await client.send({ path: `/Tables('${table}')${format}` });
    assert.equal(one.header('content-type'), none);
    const entity = await client.send({ path: entityPath(table, 'p', 'r') + format });
    assert.equal(entity.header('content-type'), none);
    const insert = await client.send({
      method: 'POST',
      path: `/${table}${format}`,
      body: '{"PartitionKey":"format","RowKey":"r"}',
    });
    assert.equal(insert.header('content-type'), none);
  });
});

describe('data service versions', () => {
  const values = ['1.0;NetFx', '2.0;NetFx', '3.0;NetFx', '3.0;', '3.0', undefined, 'whatever'];
  for (const value of values) {
    it(`${value ?? 'none'} is accepted and changes nothing`, async () => {
      const headers = { DataServiceVersion: value, MaxDataServiceVersion: value };
      assert.equal(await levelOf(headers), typeOf('minimalmetadata'));
    });
  }
});

describe('Content-Type of writes', () => {
  const types = [
    'application/json',
    'application/json;odata=nometadata',
    'application/json;odata=minimalmetadata',
    'application/json;type=entry',
    'application/json;charset=utf-8',
    'application/json; charset=utf-8',
  ];
  for (const type of types) {
    it(`${type} is accepted`, async () => {
      const fresh = await client.newTable();
      const headers = { 'Content-Type': type };
      const response = await client.insert(fresh, { PartitionKey: 'p', RowKey: 'r' }, headers);
      assert.equal(response.status, 201, response.text);
    });
  }
});
