import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendBatch } from '../kit/batch.js';
import { assertJsonError } from '../kit/errors.js';
import { isRefusal } from '../kit/malformed-http.js';
import { startFixture } from '../kit/server.js';

// For any body the response is a documented 4xx: never a 5xx, a hang or a crash.

const { client } = await startFixture();
const table = await client.newTable('hostile');
const canary = { PartitionKey: 'canary', RowKey: 'r', text: 'unharmed', n: 42 };
await client.put(table, canary);
const canaryText = (await client.get(table, 'canary', 'r')).text;

/** Checks that the server responds and that stored data are unchanged. */
async function assertUnharmed(): Promise<void> {
  const health = await client.send({ target: '/healthz', auth: 'none' });
  assert.equal(health.status, 200);
  assert.equal((await client.get(table, 'canary', 'r')).text, canaryText);
}

describe('bodies that are no entity', () => {
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
