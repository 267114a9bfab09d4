import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertChangesetDone,
  changesetBody,
  changesetError,
  deleteOperation,
  insertOperation,
  plainBatchBody,
  plainPart,
  sendBatch,
  sendChangeset,
  writeOperation,
} from '../kit/batch.js';
import { acceptNone, entityPath, WireClient } from '../kit/client.js';
import { startFixture } from '../kit/server.js';

// table-service §9.2 and §9.7: every form of batch request that real clients send is accepted.

const { client, server } = await startFixture();
const { base } = client;
const crlf = (lines: readonly string[]) => lines.join('\r\n');

const entity = (rowKey: string) => `{"PartitionKey":"p","RowKey":"${rowKey}","n":1}`;
const batch = 'multipart/mixed; boundary=batch_1';

/** Sends text to a new table, whose name replaces `{table}`, and returns its row keys. */
async function run(text: string, contentType = batch, statuses: readonly number[] = [204]) {
  const table = await client.newTable();
  await client.put(table, { PartitionKey: 'p', RowKey: 'there', n: 0 });
  const body = text.replaceAll('{table}', table);
  const response = await sendBatch(client, body, contentType);
  const parts = assertChangesetDone(response, statuses);
  return { table, parts, rowKeys: await client.rowKeys(table) };
}

/** One insert in the form of table-service §9.2, with replaceable parts. */
function document(
  pieces: {
    readonly preamble?: string;
    readonly outerHead?: string;
    readonly partHead?: string;
    readonly target?: string;
    readonly headers?: readonly string[];
    readonly beforeBody?: string;
    readonly body?: string;
    readonly afterBody?: string;
    readonly end?: string;
  } = {},
): string {
  const headers = ['Content-Type: application/json', 'Prefer: return-no-content'];
  return [
    pieces.preamble ?? '',
    '--batch_1\r\n',
    pieces.outerHead ?? 'Content-Type: multipart/mixed; boundary=changeset_1\r\n\r\n',
    '--changeset_1\r\n',
    pieces.partHead ??
      'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n',
    `POST ${pieces.target ?? `${base}/{table}`} HTTP/1.1\r\n`,
    `${crlf(pieces.headers ?? headers)}\r\n\r\n`,
    pieces.beforeBody ?? '',
    pieces.body ?? entity('new'),
    pieces.afterBody ?? '\r\n',
    '--changeset_1--\r\n',
    pieces.end ?? '--batch_1--\r\n',
  ].join('');
}

const done = ['new', 'there'];

describe('framing of a batch', () => {
  const json = 'Content-Type: application/json\r\nPrefer: return-no-content';
  const forms: readonly (readonly [name: string, text: string])[] = [
    ['as documented', document()],
    ['with LF only', document().replaceAll('\r\n', '\n')],
    ['with LF in the framing and CRLF inside', document().replace(/--(\w+)\r\n/g, '--$1\n')],
    ['with CRLF in the framing and LF inside', document().replace(json, json.replace('\r', ''))],
    ['with a preamble', document({ preamble: 'This is a multi-part message.\r\n\r\n' })],
    ['with an empty line before the first boundary', document({ preamble: '\r\n' })],
    ['with an epilogue', document({ end: '--batch_1--\r\nThe end.\r\n' })],
    ['without the final line end', document({ end: '--batch_1--' })],
    ['with an empty line before the closing boundaries', document({ afterBody: '\r\n\r\n\r\n' })],
    [
      'with lower-case MIME headers in the other order',
      document({
        outerHead: 'content-type: multipart/mixed; boundary=changeset_1\r\n\r\n',
        partHead: 'content-transfer-encoding: binary\r\ncontent-type: application/http\r\n\r\n',
      }),
    ],
    [
      'with three line ends after the changeset header (JS)',
      document({
        outerHead: 'content-type: multipart/mixed; boundary=changeset_1\r\n\r\n\r\n',
        partHead: 'content-type: application/http\r\ncontent-transfer-encoding: binary\r\n\r\n',
        beforeBody: '\r\n',
      }),
    ],
    [
      'with empty lines before the request line',
      document({
        partHead:
          'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\r\n\r\n',
      }),
    ],
    [
      'with the changeset boundary quoted, behind a charset',
      document({
        outerHead: 'Content-Type: multipart/mixed;charset="utf-8";boundary="changeset_1"\r\n\r\n',
      }),
    ],
    [
      'with Content-Length and other MIME headers',
      document({
        outerHead:
          'Content-Type: multipart/mixed; boundary=changeset_1\r\nContent-Length: 400\r\nX-Other: 1\r\n\r\n',
      }),
    ],
  ];
  for (const [name, text] of forms) {
    it(name, async () => {
      assert.deepEqual((await run(text)).rowKeys, done);
    });
  }

  const boundaries: readonly (readonly [name: string, header: string, boundary: string])[] = [
    ['quoted', 'multipart/mixed; boundary="batch_1"', 'batch_1'],
    ['behind a charset', 'multipart/mixed; charset="utf-8"; boundary=batch_1', 'batch_1'],
    ['in upper case', 'MULTIPART/MIXED; BOUNDARY=batch_1', 'batch_1'],
    ['without a space', 'multipart/mixed;boundary=batch_1', 'batch_1'],
    ['before another parameter', 'multipart/mixed; boundary=batch_1; charset=utf-8', 'batch_1'],
    ['of 70 characters', `multipart/mixed; boundary=${'b'.repeat(70)}`, 'b'.repeat(70)],
    ['with special characters', `multipart/mixed; boundary="a'b(c)+_,-./:=?d"`, "a'b(c)+_,-./:=?d"],
    ['with braces around a GUID', 'multipart/mixed; boundary={c9da6455-213d}', '{c9da6455-213d}'],
  ];
  for (const [name, header, boundary] of boundaries) {
    it(`a batch boundary ${name}`, async () => {
      const text = document().replaceAll('batch_1', boundary);
      assert.deepEqual((await run(text, header)).rowKeys, done);
    });
  }

  it('text like a boundary inside an entity is text', async () => {
    const value = '--changeset_1 --changeset_1-- --batch_1--';
    const body = JSON.stringify({ PartitionKey: 'p', RowKey: 'new', value });
    const { table } = await run(document({ body }));
    const read = await client.get(table, 'p', 'new', { Accept: acceptNone });
    assert.equal(read.json['value'], value);
  });

  it('a body whose lines begin with two hyphens is a body', async () => {
    const body = '{"PartitionKey":"p",\r\n"RowKey":"new",\r\n"v":\r\n--1}';
    const fine = '{"PartitionKey":"p",\r\n"RowKey":\r\n"new"}';
    assert.deepEqual((await run(document({ body: fine }))).rowKeys, done);
    const table = await client.newTable();
    const response = await sendBatch(
      client,
      document({ body }).replaceAll('{table}', table),
      batch,
    );
    assert.equal(response.status, 202);
    assert.deepEqual(await client.rowKeys(table), []);
  });
});

describe('operations in a changeset', () => {
  const targets = [
    `${base}/{table}`,
    `${base}/{table}()`,
    `/${client.account}/{table}`,
    '/{table}',
    `https://${client.account}.table.core.windows.net/{table}`,
    `http://other.example:10002/${client.account}/{table}`,
    `${base}/{table}?$format=application%2Fjson%3Bodata%3Dminimalmetadata`,
    `${base}/{table}?timeout=20&sv=2019-02-02&sig=abc`,
  ];
  for (const target of targets) {
    it(`request line target ${target.replace(client.authority, 'host')}`, async () => {
      const { parts, rowKeys } = await run(document({ target }));
      assert.deepEqual(rowKeys, done);
      assert.match(parts[0]?.head ?? '', /^Location: http.*\(PartitionKey='p',RowKey='new'\)\r$/m);
    });
  }

  const json = entity('new');
  const headers: readonly (readonly [name: string, headers: readonly string[]])[] = [
    ['no header but Prefer', ['Prefer: return-no-content']],
    ['Content-Length', [`Content-Length: ${json.length}`, 'Prefer: return-no-content']],
    [
      'a Content-Length too small by two',
      [`Content-Length: ${json.length - 2}`, 'Prefer: return-no-content'],
    ],
    [
      'a Content-Length too large by two',
      [`Content-Length: ${json.length + 2}`, 'Prefer: return-no-content'],
    ],
    [
      'application/json;type=entry',
      ['Content-Type: application/json;type=entry', 'Prefer: return-no-content'],
    ],
    [
      'headers that belong outside',
      [
        'Host: other.example',
        'x-ms-date: yesterday',
        'x-ms-version: 1',
        'User-Agent: x',
        'Authorization: SharedKey x:y',
        'Prefer: return-no-content',
      ],
    ],
    [
      'names in any case',
      [
        'content-type: application/json',
        'PREFER: return-no-content',
        'ACCEPT: application/json;odata=nometadata',
      ],
    ],
  ];
  for (const [name, list] of headers) {
    it(`inner headers: ${name}`, async () => {
      assert.deepEqual((await run(document({ headers: list }))).rowKeys, done);
    });
  }

  it('Content-ID is echoed when it is an inner HTTP header', async () => {
    const list = ['Content-ID: 1', 'Content-Type: application/json', 'Prefer: return-no-content'];
    const { parts } = await run(document({ headers: list }));
    assert.match(parts[0]?.head ?? '', /^HTTP\/1\.1 204 No Content\r\nContent-ID: 1\r\n/);
  });

  it('Content-ID is not echoed when it is a MIME header', async () => {
    const partHead =
      'Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 0\r\n\r\n';
    const { parts } = await run(document({ partHead }));
    assert.doesNotMatch(parts[0]?.head ?? '', /Content-ID/i);
  });

  it('POST with X-HTTP-Method: MERGE merges', async () => {
    const text = document({
      target: `${base}/{table}(PartitionKey='p',RowKey='there')`,
      headers: ['X-HTTP-Method: MERGE', 'If-Match: *', 'Content-Type: application/json'],
      body: '{"m":2}',
    });
    const { table } = await run(text);
    const read = await client.get(table, 'p', 'there', { Accept: acceptNone });
    assert.deepEqual([read.json['n'], read.json['m']], [0, 2]);
  });

  it('every verb, with quotes raw and as %27', async () => {
    const table = await client.newTable();
    const keys = (rowKey: string): [string, string] => ["p'q", rowKey];
    for (const rowKey of ['put', 'merge', 'patch', 'delete']) {
      await client.put(table, { PartitionKey: "p'q", RowKey: rowKey, old: 1 });
    }
    const operations = [
      insertOperation(table, { PartitionKey: "p'q", RowKey: 'new' }),
      writeOperation('PUT', table, keys('put'), { n: 1 }, '*'),
      writeOperation('MERGE', table, keys('merge'), { n: 1 }, '*'),
      writeOperation('PATCH', table, keys('patch'), { n: 1 }, '*'),
      deleteOperation(table, keys('delete')),
      writeOperation('PUT', table, keys('upserted'), { n: 1 }),
    ];
    for (const at of [1, 3, 5]) {
      const operation = operations[at];
      assert.ok(operation);
      operations[at] = { ...operation, path: operation.path.replaceAll("'", '%27') };
    }
    assertChangesetDone(await sendChangeset(client, operations), [204, 204, 204, 204, 204, 204]);
    assert.deepEqual(await client.rowKeys(table), ['merge', 'new', 'patch', 'put', 'upserted']);
    const read = await client.get(table, "p'q", 'put', { Accept: acceptNone });
    assert.equal(read.json['old'], undefined);
  });

  it('a merge with keys only, with {} and without body', async () => {
    const table = await client.newTable();
    const bodies = { a: '{"PartitionKey":"p","RowKey":"a"}', b: '{}', c: '' };
    const operations = Object.entries(bodies).map(([rowKey, body]) =>
      Object.assign(writeOperation('MERGE', table, ['p', rowKey], {}), { body }),
    );
    assertChangesetDone(await sendChangeset(client, operations), [204, 204, 204]);
    assert.deepEqual(await client.rowKeys(table), ['a', 'b', 'c']);
  });

  it('an odd key in every place', async () => {
    const table = await client.newTable();
    for (const key of ['', "'", '%2F', 'a b', '+', '日本😀', "',RowKey='x", '--batch_1']) {
      const keys: [string, string] = [key, key];
      const insert = insertOperation(table, { PartitionKey: key, RowKey: key });
      assertChangesetDone(await sendChangeset(client, [insert]), [204]);
      const merge = writeOperation('MERGE', table, keys, { n: 1 }, '*');
      assertChangesetDone(await sendChangeset(client, [merge]), [204]);
      assert.equal((await client.get(table, key, key)).json['n'], 1);
      assertChangesetDone(await sendChangeset(client, [deleteOperation(table, keys)]), [204]);
      assert.equal((await client.get(table, key, key)).status, 404);
    }
  });

  it('an insert that wants its echo gets it in the level of its own Accept', async () => {
    const table = await client.newTable();
    const insert = insertOperation(table, { PartitionKey: 'p', RowKey: 'r', n: 1 }, false);
    const operation = { ...insert, headers: { Accept: acceptNone } };
    const [part] = assertChangesetDone(await sendChangeset(client, [operation]), [201]);
    assert.match(part?.head ?? '', /^Content-Type: application\/json;odata=nometadata;/m);
    const read = await client.get(table, 'p', 'r', { Accept: acceptNone });
    assert.equal(part?.body, `${read.text}\r\n`);
  });

  it('an insert that wants its echo but has no Accept is an inner 415', async () => {
    const table = await client.newTable();
    const insert = insertOperation(table, { PartitionKey: 'p', RowKey: 'r' }, false);
    const response = await sendChangeset(client, [{ ...insert, headers: {} }]);
    const { status, code } = changesetError(response);
    assert.deepEqual([status, code], [415, 'AtomFormatNotSupported']);
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('outer Accept may be anything', async () => {
    for (const Accept of [undefined, '*/*', 'application/json', 'multipart/mixed']) {
      const table = await client.newTable();
      const body = changesetBody(base, [
        insertOperation(table, { PartitionKey: 'p', RowKey: 'r' }),
      ]);
      assertChangesetDone(await sendBatch(client, body, undefined, { Accept }), [204]);
    }
  });

  it('the operations of a changeset share one ETag and one Timestamp', async () => {
    const table = await client.newTable();
    const operations = ['a', 'b', 'c'].map((RowKey) =>
      insertOperation(table, { PartitionKey: 'p', RowKey }),
    );
    const parts = assertChangesetDone(await sendChangeset(client, operations), [204, 204, 204]);
    const etags = new Set(parts.map(({ head }) => /^ETag: (.+)\r$/m.exec(head)?.[1]));
    assert.equal(etags.size, 1);
    const { items } = await client.query(table);
    assert.deepEqual(new Set(items.map((item) => item['odata.etag'])), etags);
    assert.equal(new Set(items.map((item) => item['Timestamp'])).size, 1);
  });

  it('many at once all succeed', async () => {
    const table = await client.newTable();
    const clients = Array.from({ length: 40 }, () => WireClient.of(server));
    const responses = await Promise.all(
      clients.map((each, index) => {
        const PartitionKey = `p${index % 4}`;
        const rows = Array.from({ length: 20 }, (_, row) => `${index}-${row}`);
        return sendChangeset(
          each,
          rows.map((RowKey) => insertOperation(table, { PartitionKey, RowKey })),
        );
      }),
    );
    for (const each of clients) each.close();
    for (const response of responses)
      assertChangesetDone(
        response,
        Array.from({ length: 20 }, () => 204),
      );
    assert.equal((await client.rowKeys(table)).length, 800);
  });
});

describe('a query in a batch (table-service §9.4)', () => {
  const get = (path: string, headers: Record<string, string> = {}) => ({
    method: 'GET',
    path,
    headers: { Accept: 'application/json;odata=minimalmetadata', ...headers },
  });

  it('of an entity', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r', n: 1 });
    const path = entityPath(table, 'p', 'r');
    const part = plainPart(await sendBatch(client, plainBatchBody(base, [get(path)])));
    assert.equal(part.status, 200);
    assert.equal(part.body.replace(/\r\n$/, ''), (await client.send({ path })).text);
  });

  it('of an entity that is missing carries the index 0', async () => {
    const table = await client.newTable();
    const path = entityPath(table, 'p', 'r');
    const part = plainPart(await sendBatch(client, plainBatchBody(base, [get(path)])));
    assert.equal(part.status, 404);
    assert.match(part.body, /"code":"ResourceNotFound"/);
    assert.match(part.body, /"value":"0:The specified resource does not exist\.\\nRequestId:/);
  });

  it('of a set of entities', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'a' }, { PartitionKey: 'p', RowKey: 'b' });
    const path = `/${table}()?$filter=RowKey%20eq%20'b'`;
    const part = plainPart(await sendBatch(client, plainBatchBody(base, [get(path)])));
    assert.equal(part.status, 200);
    assert.equal(part.body.replace(/\r\n$/, ''), (await client.send({ path })).text);
  });

  it('in LF only, as the legacy Node client sends it', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
    const path = entityPath(table, 'p', 'r').replaceAll("'", '%27');
    const text = plainBatchBody(base, [get(path)]).replaceAll('\r\n', '\n');
    assert.equal(plainPart(await sendBatch(client, text)).status, 200);
  });
});
