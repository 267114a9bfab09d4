import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertChangesetDone,
  changesetError,
  deleteOperation,
  insertOperation,
  sendBatch,
  sendChangeset,
  writeOperation,
} from '../kit/batch.js';
import { acceptNone, entityPath, WireClient } from '../kit/client.js';
import { assertJsonError, messages } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// What has cost users of Azurite a release once, one test each.
// The numbers are issues of Azurite; SE marks those of Storage Explorer, PR pull requests.

const { client, server } = await startFixture();
const keys = { PartitionKey: 'p', RowKey: 'r' };
const stale = `W/"datetime'2001-01-01T00%3A00%3A00Z'"`;

async function assertKeyWorks(key: string): Promise<void> {
  const table = await client.newTable();
  await client.put(table, { PartitionKey: key, RowKey: key, n: 1 });
  const path = entityPath(table, key, key);
  assert.equal((await client.send({ path })).json['RowKey'], key);
  const put = await client.send({ method: 'PUT', path, body: '{"n":2}' });
  assert.equal(put.status, 204);
  const changed = writeOperation('MERGE', table, [key, key], { n: 3 }, '*');
  assertChangesetDone(await sendChangeset(client, [changed]), [204]);
  const literal = `'${key.replaceAll("'", "''")}'`;
  const filter = `PartitionKey eq ${literal} and RowKey eq ${literal}`;
  assert.deepEqual(await client.rowKeys(table, filter), [key]);
  const remove = await client.send({ method: 'DELETE', path, headers: { 'If-Match': '*' } });
  assert.equal(remove.status, 204);
  assert.deepEqual(await client.rowKeys(table), []);
}

describe('what cost users a release: keys', () => {
  it("#1377: quotes and percent signs (', %)", async () => {
    for (const key of ["'", '%', "50%'s", '%25', '%27']) await assertKeyWorks(key);
  });

  it('#1458: commas', async () => {
    for (const key of [',', 'a,b', "','"]) await assertKeyWorks(key);
  });

  it('SE#7555: doubled quotes', async () => {
    for (const key of ["''", "a''b", "''''"]) await assertKeyWorks(key);
  });

  it('#1211: empty keys', async () => {
    await assertKeyWorks('');
  });

  it('#150: forbidden characters are refused', async () => {
    const table = await client.newTable();
    for (const character of ['/', '\\', '#', '?', '\t', '\n', '\r', '\u007f', '\u009f']) {
      const response = await client.insert(table, { PartitionKey: `a${character}`, RowKey: 'r' });
      assertJsonError(response, { status: 400, code: 'OutOfRangeInput' });
    }
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('#1214: paging over keys that are not ASCII', async () => {
    const table = await client.newTable();
    for (const PartitionKey of ['ä', '日本', '😀']) {
      await client.put(table, { PartitionKey, RowKey: 'ü' });
    }
    let next: Record<string, string> = {};
    const seen: unknown[] = [];
    for (let count = 0; count < 3; count += 1) {
      const response = await client.query(table, { top: 1, next });
      seen.push(response.items[0]?.['PartitionKey']);
      next = {
        NextPartitionKey: response.header('x-ms-continuation-nextpartitionkey') ?? '',
        NextRowKey: response.header('x-ms-continuation-nextrowkey') ?? '',
      };
    }
    assert.deepEqual(seen, ['ä', '日本', '😀']);
    assert.equal(next['NextPartitionKey'], '');
  });
});

describe('what cost users a release: tables', () => {
  const create = (name: string) =>
    client.send({ method: 'POST', path: '/Tables', body: `{"TableName":"${name}"}` });

  it('3.18/3.19: a name that is part of another disturbs nothing', async () => {
    for (const name of ['subtables', 'subtable', 'subtablesmore', 'table']) {
      assert.equal((await create(name)).status, 201, name);
      await client.put(name, keys);
    }
    const path = "/Tables('subtable')";
    assert.equal((await client.send({ method: 'DELETE', path })).status, 204);
    for (const name of ['subtables', 'subtablesmore', 'table']) {
      assert.deepEqual(await client.rowKeys(name), ['r'], name);
    }
    assert.equal((await client.query('subtable')).status, 404);
  });

  it('a name that differs in case only is a duplicate', async () => {
    assert.equal((await create('Duplicate')).status, 201);
    assertJsonError(await create('dUPLICATE'), {
      status: 409,
      code: 'TableAlreadyExists',
      message: messages.tableExists,
    });
  });
});

describe('what cost users a release: etags', () => {
  it('#1229: an unknown weak etag is 412, not 400', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    for (const method of ['PUT', 'MERGE', 'DELETE']) {
      const response = await client.send({
        method,
        path: entityPath(table, 'p', 'r'),
        body: '{}',
        headers: { 'If-Match': stale },
      });
      assertJsonError(response, { status: 412, code: 'UpdateConditionNotSatisfied' });
    }
  });

  it('#2013: a malformed etag is 400 InvalidInput, single and in a batch', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    const path = entityPath(table, 'p', 'r');
    const headers = { 'If-Match': 'wrong' };
    const single = await client.send({ method: 'MERGE', path, body: '{}', headers });
    assertJsonError(single, { status: 400, code: 'InvalidInput' });
    const operation = writeOperation('MERGE', table, ['p', 'r'], {}, 'wrong');
    const { status, code, message } = changesetError(await sendChangeset(client, [operation]));
    assert.deepEqual([status, code], [400, 'InvalidInput']);
    assert.match(message, /^0:The etag value 'wrong' specified/);
  });

  it('a merge of a missing entity with If-Match: * is 404', async () => {
    const table = await client.newTable();
    const path = entityPath(table, 'p', 'r');
    const headers = { 'If-Match': '*' };
    const response = await client.send({ method: 'MERGE', path, body: '{}', headers });
    assertJsonError(response, { status: 404, code: 'ResourceNotFound' });
    assert.deepEqual(await client.rowKeys(table), []);
  });
});

describe('what cost users a release: batches', () => {
  it('101 operations are an inner 400', async () => {
    const table = await client.newTable();
    const operations = Array.from({ length: 101 }, (_, index) =>
      insertOperation(table, { PartitionKey: 'p', RowKey: String(index) }),
    );
    assert.deepEqual(changesetError(await sendChangeset(client, operations)), {
      status: 400,
      code: 'InvalidInput',
      message: `99:${messages.tooManyOperations}`,
    });
  });

  it('#1227: the message begins with the index of the failing operation', async () => {
    const table = await client.newTable();
    const response = await sendChangeset(client, [
      insertOperation(table, { PartitionKey: 'p', RowKey: 'a' }),
      insertOperation(table, { PartitionKey: 'p', RowKey: 'b' }),
      deleteOperation(table, ['p', 'missing']),
    ]);
    assert.equal(changesetError(response).message, `2:${messages.resourceNotFound}`);
  });

  it('#791: a conflict is an inner 409', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    const { status, code } = changesetError(
      await sendChangeset(client, [insertOperation(table, keys)]),
    );
    assert.deepEqual([status, code], [409, 'EntityAlreadyExists']);
  });

  it('#1232: upserts in a batch', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'merged', a: 1 });
    const operations = [
      writeOperation('MERGE', table, ['p', 'merged'], { b: 2 }),
      writeOperation('PUT', table, ['p', 'put'], { b: 2 }),
      writeOperation('PATCH', table, ['p', 'patched'], { b: 2 }),
    ];
    assertChangesetDone(await sendChangeset(client, operations), [204, 204, 204]);
    const { items } = await client.query(table, { headers: { Accept: acceptNone } });
    assert.deepEqual(
      items.map((item) => [item['RowKey'], item['a'], item['b']]),
      [
        ['merged', 1, 2],
        ['patched', undefined, 2],
        ['put', undefined, 2],
      ],
    );
  });

  it('#1467: a batch of more than 4 MiB is 413', async () => {
    const response = await sendBatch(client, 'x'.repeat(4 * 1024 * 1024 + 1));
    assertJsonError(response, {
      status: 413,
      code: 'RequestBodyTooLarge',
      message: messages.tooLargeBody,
    });
  });

  it('PR#2521: three CRLF after the ETag of an inner 204, and DataServiceVersion: 1.0;', async () => {
    const table = await client.newTable();
    const operations = [
      writeOperation('PUT', table, ['p', 'a'], {}),
      writeOperation('PUT', table, ['p', 'b'], {}),
    ];
    const { text } = await sendChangeset(client, operations);
    const parts = [...text.matchAll(/DataServiceVersion: 1\.0;\r\nETag: .+?(\r\n)+--changeset/g)];
    assert.equal(parts.length, 2);
    for (const [part] of parts) assert.match(part, /'"\r\n\r\n\r\n--changeset$/);
  });

  it('#1401: no query string in Location', async () => {
    const table = await client.newTable();
    const insert = insertOperation(table, keys);
    const path = `${insert.path}?$format=application%2Fjson%3Bodata%3Dminimalmetadata`;
    const [part] = assertChangesetDone(await sendChangeset(client, [{ ...insert, path }]), [204]);
    const location = `${client.base}/${table}(PartitionKey='p',RowKey='r')`;
    assert.ok(part?.head.includes(`\r\nLocation: ${location}\r\n`), part?.head);
    const single = await client.send({
      method: 'POST',
      path: `/${table}?timeout=20`,
      body: '{"PartitionKey":"p","RowKey":"s"}',
    });
    assert.equal(single.header('location'), location.replace("'r'", "'s'"));
  });
});

describe('what cost users a release: queries', () => {
  it('$top=0 is an empty page', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    const response = await client.query(table, { top: 0 });
    assert.equal(response.status, 200);
    assert.deepEqual(response.items, []);
  });

  it('#755, 3.16: white space and parentheses', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, 'L@odata.type': 'Edm.Int64', L: '5' });
    for (const filter of [
      `((PartitionKey eq 'p') and (L eq 5L))`,
      ` ( ( PartitionKey  eq  'p' )  and  L eq 5L ) `,
      `(PartitionKey eq 'p')and(RowKey eq 'r')`,
    ]) {
      assert.deepEqual(await client.rowKeys(table, filter), ['r'], filter);
    }
  });

  it('#1806: names with underscores', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, _my_prop_1: 'x', __: 1 });
    assert.deepEqual(await client.rowKeys(table, `_my_prop_1 eq 'x' and __ eq 1`), ['r']);
  });

  it('#1828: not (…)', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, n: 1 }, { PartitionKey: 'p', RowKey: 's', n: 2 });
    assert.deepEqual(await client.rowKeys(table, 'not (n eq 1)'), ['s']);
    assert.deepEqual(await client.rowKeys(table, `PartitionKey eq 'p' and not (n eq 2)`), ['r']);
  });

  it('#1573, #1880: an empty $filter is none', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    for (const query of ['?$filter=', '?$filter=%20', '?%24filter=', '?$filter=&$select=']) {
      assert.equal((await client.send({ path: `/${table}()${query}` })).items.length, 1, query);
    }
  });

  it('3.22/3.23: booleans in any letter case', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, flag: true });
    for (const text of ['true', 'True', 'TRUE']) {
      assert.deepEqual(await client.rowKeys(table, `flag eq ${text}`), ['r']);
    }
    for (const text of ['false', 'False', 'FALSE']) {
      assert.deepEqual(await client.rowKeys(table, `flag eq ${text}`), []);
    }
  });

  it('SE#5400: the token of 3 is 1!4!Mw--', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: '1', RowKey: '3' }, { PartitionKey: '3', RowKey: '3' });
    const response = await client.query(table, { top: 1 });
    assert.equal(response.header('x-ms-continuation-nextpartitionkey'), '1!4!Mw--');
    assert.equal(response.header('x-ms-continuation-nextrowkey'), '1!4!Mw--');
  });
});

describe('what cost users a release: limits, metadata, writes', () => {
  it('#1318: 32 K characters', async () => {
    const table = await client.newTable();
    assert.equal((await client.insert(table, { ...keys, v: 'x'.repeat(32_768) })).status, 201);
    const more = { PartitionKey: 'p', RowKey: 's', v: 'x'.repeat(32_769) };
    assertJsonError(await client.insert(table, more), {
      status: 400,
      code: 'PropertyValueTooLarge',
      message: messages.valueTooLarge,
    });
  });

  it('#1465: 64 KiB of binary', async () => {
    const table = await client.newTable();
    const entity = (RowKey: string, bytes: number) => ({
      PartitionKey: 'p',
      RowKey,
      'v@odata.type': 'Edm.Binary',
      v: Buffer.alloc(bytes).toString('base64'),
    });
    assert.equal((await client.insert(table, entity('r', 65_536))).status, 201);
    assertJsonError(await client.insert(table, entity('s', 65_537)), {
      status: 400,
      code: 'PropertyValueTooLarge',
      message: messages.valueTooLarge,
    });
  });

  it('#1319: a body of more than 4 MiB', async () => {
    const table = await client.newTable();
    const body = `{"PartitionKey":"p","RowKey":"r"}${' '.repeat(4 * 1024 * 1024)}`;
    assertJsonError(await client.insert(table, body), {
      status: 413,
      code: 'RequestBodyTooLarge',
      message: messages.tooLargeBody,
    });
  });

  it('#133: /@Element in the metadata of a point read', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    const { json } = await client.get(table, 'p', 'r');
    assert.equal(json['odata.metadata'], `${client.base}/$metadata#${table}/@Element`);
  });

  it('minimalmetadata does not name the type of Timestamp', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    assert.equal((await client.get(table, 'p', 'r')).json['Timestamp@odata.type'], undefined);
  });

  it('#1536: odata.etag in a body is ignored', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, 'odata.etag': stale, n: 1 });
    const path = entityPath(table, 'p', 'r');
    const body = JSON.stringify({ 'odata.etag': stale, n: 2 });
    assert.equal((await client.send({ method: 'PUT', path, body })).status, 204);
    const read = await client.send({ path, headers: { Accept: acceptNone } });
    assert.deepEqual(Object.keys(read.json).sort(), ['PartitionKey', 'RowKey', 'Timestamp', 'n']);
  });
});

describe('what kept users waiting', () => {
  it('#1599: the constant may be on the left', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, n: 3 });
    assert.deepEqual(await client.rowKeys(table, `'p' eq PartitionKey and 2 lt n`), ['r']);
    assert.deepEqual(await client.rowKeys(table, '3 lt n'), []);
  });

  it('#1233: a stale etag in a batch is an inner 412, for every kind of write', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, n: 1 });
    const before = (await client.get(table, 'p', 'r')).text;
    for (const operation of [
      writeOperation('PUT', table, ['p', 'r'], {}, stale),
      writeOperation('MERGE', table, ['p', 'r'], {}, stale),
      writeOperation('PATCH', table, ['p', 'r'], {}, stale),
      deleteOperation(table, ['p', 'r'], stale),
    ]) {
      const { status, code } = changesetError(await sendChangeset(client, [operation]));
      assert.deepEqual([status, code], [412, 'UpdateConditionNotSatisfied']);
    }
    assert.equal((await client.get(table, 'p', 'r')).text, before);
  });

  it('#1554: a token without NextRowKey', async () => {
    const table = await client.newTable();
    await client.put(table, keys, { PartitionKey: 'q', RowKey: 'r' });
    const response = await client.query(table, { next: { NextPartitionKey: '1!4!cQ--' } });
    assert.deepEqual(
      response.items.map((item) => item['PartitionKey']),
      ['q'],
    );
  });

  it('#2450: $filter=false answers an empty page', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    assert.deepEqual(await client.rowKeys(table, 'false'), []);
    const tables = await client.send({ path: '/Tables?$filter=false' });
    assert.equal(tables.status, 200);
    assert.deepEqual(tables.items, []);
  });

  it('#1216, #1228: a failed batch restores its entities byte for byte', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, n: 1.5, text: 'x' }, { PartitionKey: 'p', RowKey: 's' });
    const before = (await client.query(table)).text;
    const response = await sendChangeset(client, [
      writeOperation('PUT', table, ['p', 'r'], { n: 2 }, '*'),
      deleteOperation(table, ['p', 's']),
      insertOperation(table, { PartitionKey: 'p', RowKey: 't' }),
      deleteOperation(table, ['p', 'missing']),
    ]);
    assert.equal(changesetError(response).status, 404);
    assert.equal((await client.query(table)).text, before);
  });

  it('forty batches at once all succeed', async () => {
    const table = await client.newTable();
    const clients = Array.from({ length: 40 }, () => WireClient.of(server));
    const responses = await Promise.all(
      clients.map((each, index) =>
        sendChangeset(
          each,
          Array.from({ length: 20 }, (_, row) =>
            insertOperation(table, { PartitionKey: `p${index % 4}`, RowKey: `${index}-${row}` }),
          ),
        ),
      ),
    );
    for (const response of responses) {
      assertChangesetDone(
        response,
        Array.from({ length: 20 }, () => 204),
      );
    }
    for (const each of clients) each.close();
    assert.equal((await client.rowKeys(table)).length, 800);
  });
});
