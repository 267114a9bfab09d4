import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesetBody, insertOperation, sendBatch, writeOperation } from '../kit/batch.js';
import { entityPath } from '../kit/client.js';
import { sendBytes } from '../kit/connection.js';
import { assertJsonError } from '../kit/errors.js';
import { assertRefused, isRefusal, malformedHttp, statusesOf } from '../kit/malformed-http.js';
import { startFixture } from '../kit/server.js';
import type { WireRequest } from '../kit/signing-client.js';
import { mutationSeed, sendSpoilt, sendWithChangedBytes } from '../kit/spoilt-load.js';

// Whatever arrives, the answer is a documented 4xx: never a 5xx, a hang or a crash.

const { client, server } = await startFixture();
const port = server.tablePort;
const table = await client.newTable('hostile');
const canary = { PartitionKey: 'canary', RowKey: 'r', text: 'unharmed', n: 42 };
await client.put(table, canary);
const canaryText = (await client.get(table, 'canary', 'r')).text;

/** The server still serves, and what was stored is what was stored. */
async function assertUnharmed(): Promise<void> {
  const health = await client.send({ target: '/healthz', auth: 'none' });
  assert.equal(health.status, 200);
  assert.equal((await client.get(table, 'canary', 'r')).text, canaryText);
}

describe('malformed HTTP', () => {
  for (const [name, bytes] of malformedHttp) {
    it(`${name} is refused`, async () => {
      await assertRefused(port, bytes);
      await assertUnharmed();
    });
  }

  it('a header of 60 KB is still read', async () => {
    const headers = { 'x-padding': 'x'.repeat(60_000) };
    const response = await client.send({ path: '/Tables', headers });
    assert.equal(response.status, 200);
  });

  it('a header beyond the limit is 431 and the server goes on', async () => {
    const headers = { 'x-padding': 'x'.repeat(80_000) };
    const response = await client.send({ path: '/Tables', headers });
    assert.equal(response.status, 431);
    await assertUnharmed();
  });
});

describe('bodies that are not what they say', () => {
  const insertBytes = (headers: Record<string, string | undefined>, body: string) =>
    client.bytes({ method: 'POST', path: `/${table}`, body, headers });
  const body = '{"PartitionKey":"lies","RowKey":"r"}';

  it('a body cut short stores nothing', async () => {
    const bytes = insertBytes({ 'Content-Length': String(body.length + 10) }, body);
    const { received } = await sendBytes(port, bytes, { endAfter: true });
    assert.ok(statusesOf(received).every(isRefusal));
    assert.equal((await client.get(table, 'lies', 'r')).status, 404);
  });

  it('bytes behind the body are not part of it', async () => {
    const bytes = insertBytes({ 'Content-Length': String(body.length - 1) }, body);
    const { received } = await sendBytes(port, bytes, { quietMs: 300 });
    const statuses = statusesOf(received);
    assert.equal(statuses[0], 400);
    assert.ok(statuses.every(isRefusal), statuses.join(', '));
    assert.equal((await client.get(table, 'lies', 'r')).status, 404);
  });

  it('a chunked body that ends early stores nothing', async () => {
    const head = insertBytes({ 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }, '');
    const bytes = Buffer.concat([head, Buffer.from(`${body.length.toString(16)}\r\n${body}\r\n`)]);
    const { received } = await sendBytes(port, bytes, { endAfter: true });
    assert.ok(statusesOf(received).every(isRefusal));
    assert.equal((await client.get(table, 'lies', 'r')).status, 404);
  });

  it('a POST without any length is 411', async () => {
    const headers = { 'Content-Length': undefined };
    const response = await client.send({ method: 'POST', path: `/${table}`, headers });
    assert.equal(response.status, 411);
    assert.equal(response.header('x-ms-error-code'), 'MissingContentLengthHeader');
  });

  it('a request that only begins is not answered with 5xx and does not hang others', async () => {
    const pending = sendBytes(port, 'POST /devstoreaccount1/Tab', { quietMs: 300 });
    await assertUnharmed();
    assert.deepEqual(statusesOf((await pending).received), []);
  });

  const texts: readonly (readonly [name: string, body: Buffer | string])[] = [
    ['nothing', ''],
    ['white space', '  \r\n '],
    ['a byte order mark', Buffer.from('\uFEFF{"PartitionKey":1}')],
    ['UTF-16', Buffer.from('{"PartitionKey":"p","RowKey":"r"}', 'utf16le')],
    ['UTF-8 cut in a character', Buffer.from('7b22f09f98', 'hex')],
    ['bytes that are no UTF-8', Buffer.from('{"PartitionKey":"\xff\xfe","RowKey":"r"}', 'latin1')],
    ['an array', '[]'],
    ['a number', '5'],
    ['null', 'null'],
    ['text', '"x"'],
    ['XML', '<entry/>'],
    ['a form', 'PartitionKey=p&RowKey=r'],
    ['a trailing comma', '{"PartitionKey":"p","RowKey":"r",}'],
    ['a comment', '{"PartitionKey":"p",/* */"RowKey":"r"}'],
    ['single quotes', `{'PartitionKey':'p','RowKey':'r'}`],
    ['two documents', '{"PartitionKey":"p","RowKey":"r"}{}'],
    ['a raw control character', '{"PartitionKey":"p","RowKey":"r","v":"a\u0001b"}'],
    ['a bad escape', '{"PartitionKey":"p","RowKey":"r","v":"\\x41"}'],
    ['a bad unicode escape', '{"PartitionKey":"p","RowKey":"r","v":"\\u12g4"}'],
    ['an open string', '{"PartitionKey":"p","RowKey":"r","v":"'],
    ['deep nesting', `{"v":${'['.repeat(100_000)}`],
    ['deep objects', `{"v":${'{"a":'.repeat(50_000)}`],
    ['an annotation that is no text', '{"PartitionKey":"p","RowKey":"r","v@odata.type":5,"v":1}'],
    ['__proto__', '{"__proto__":{"PartitionKey":"p"},"RowKey":"r"}'],
  ];
  for (const [name, text] of texts) {
    it(`an entity of ${name} is 400`, async () => {
      const response = await client.send({ method: 'POST', path: `/${table}`, body: text });
      assert.equal(response.status, 400, response.text);
      assert.match(response.header('x-ms-error-code') ?? '', /^[A-Z]\w+$/);
    });
  }

  it('a property called __proto__, constructor or toString is a property', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const members = names.map((name, index) => `"${name}":${index}`).join(',');
    await client.put(table, `{"PartitionKey":"names","RowKey":"r",${members}}`);
    const { text } = await client.get(table, 'names', 'r');
    assert.ok(text.endsWith(`${members}}`), text);
    assert.deepEqual(await client.rowKeys(table, `PartitionKey eq 'names' and toString eq 2`), [
      'r',
    ]);
    assert.deepEqual(await client.rowKeys(table, 'valueOf ne 1'), []);
  });

  it('a lone surrogate round-trips or is refused', async () => {
    const response = await client.insert(
      table,
      '{"PartitionKey":"lone","RowKey":"r","v":"a\\ud800b"}',
    );
    if (response.status === 201) {
      assert.equal((await client.get(table, 'lone', 'r')).json['v'], 'a\ud800b');
    } else assertJsonError(response, { status: 400, code: 'InvalidInput' });
  });

  it('50,000 properties are refused', async () => {
    const members = Array.from({ length: 50_000 }, (_, index) => `"p${index}":1`).join(',');
    const response = await client.insert(table, `{"PartitionKey":"p","RowKey":"r",${members}}`);
    assertJsonError(response, { status: 400, code: 'TooManyProperties' });
  });
});

describe('batches made to hurt', () => {
  it('nested, endless and absurd parts are 4xx', async () => {
    const part = '--b\r\nContent-Type: application/http\r\n\r\n';
    const bodies = [
      part.repeat(20_000),
      `--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(1000)}`,
      `--b\r\n${'X: y\r\n'.repeat(100_000)}\r\n--b--\r\n`,
      `--b${'\r\n'.repeat(1_000_000)}--b--\r\n`,
      '-'.repeat(3_000_000),
      `--b\r\nContent-Type: application/http\r\n\r\nGET ${'/'.repeat(1_000_000)} HTTP/1.1\r\n\r\n--b--\r\n`,
    ];
    for (const body of bodies) {
      const response = await sendBatch(client, body, 'multipart/mixed; boundary=b');
      assert.ok(response.status === 202 || isRefusal(response.status), String(response.status));
      if (response.status === 202) assert.match(response.text, /^HTTP\/1\.1 4\d\d /m);
    }
    await assertUnharmed();
  });
});

/** Requests that are right, to be spoilt. None of them may reach the canary by one change. */
function validRequests(): WireRequest[] {
  const entity = { PartitionKey: 'fuzz', RowKey: 'r', n: 1, 'd@odata.type': 'Edm.Double', d: '3' };
  const operations = [
    insertOperation(table, { PartitionKey: 'fuzz', RowKey: 'a' }),
    writeOperation('MERGE', table, ['fuzz', 'b'], { n: 1 }),
  ];
  const filter = encodeURIComponent(`PartitionKey eq 'fuzz' and (n gt 5 or not (d le 3.5))`);
  const path = entityPath(table, 'fuzz', "r's");
  return [
    { method: 'POST', path: `/${table}`, body: JSON.stringify(entity) },
    { method: 'PUT', path, body: '{"text":"some text","n":12345}' },
    { method: 'MERGE', path, body: '{"m":true}', headers: { 'If-Match': '*' } },
    { method: 'DELETE', path, headers: { 'If-Match': '*' } },
    { path },
    { path: `/${table}()?$filter=${filter}&$top=5&$select=n,d` },
    { path: '/Tables?$top=3' },
    { path: `/${table}()?NextPartitionKey=1!8!ZnV6eg--&NextRowKey=1!4!cg--` },
    {
      method: 'POST',
      path: '/$batch',
      body: changesetBody(client.base, operations),
      headers: {
        'Content-Type': 'multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431',
      },
    },
  ];
}

describe('10,000 mutated requests', () => {
  const valid = validRequests();

  it(`signed, so that they reach the inner parsers (seed ${mutationSeed})`, async () => {
    const names = ['Accept', 'If-Match', 'Prefer', 'Content-Type', 'X-HTTP-Method', 'x-ms-version'];
    const value = 'application/json;odata=minimalmetadata';
    const seen = await sendSpoilt(client, { count: 8000, valid }, { names, value });
    await assertUnharmed();
    for (const status of [200, 204, 400]) {
      assert.ok((seen.get(status) ?? 0) > 100, `only ${seen.get(status)} answers with ${status}`);
    }
  });

  it(`with any byte of the whole request changed (seed ${mutationSeed})`, async () => {
    await sendWithChangedBytes(client, { count: 2000, valid });
    await assertUnharmed();
  });
});
