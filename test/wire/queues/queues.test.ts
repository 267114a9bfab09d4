import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import type { Headers } from '../kit/request-bytes.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

// queue-service §5, §7.1 to §7.4: queues, their names and their metadata.

const { queues } = await startQueueFixture();

const create = (name: string, headers: Headers = {}) =>
  queues.send({ method: 'PUT', path: `/${name}`, headers });

/** The metadata headers of a queue, with their spelling. */
async function metadataOf(queue: string): Promise<Record<string, string>> {
  const { headers } = await queues.expect(200, { path: `/${queue}?comp=metadata` });
  const prefix = 'x-ms-meta-';
  return Object.fromEntries(
    headers
      .filter(([name]) => name.toLowerCase().startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  );
}

const setMetadata = (queue: string, headers: Headers) =>
  queues.send({ method: 'PUT', path: `/${queue}?comp=metadata`, headers });

function assertEmpty(response: WireResponse, status: number): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.body.length, 0);
}

describe('creating a queue', () => {
  it('twice with equal metadata is 201 and 204, whatever the case of names', async () => {
    assertEmpty(await create('twice', { 'x-ms-meta-Colour': 'blue', 'x-ms-meta-b': '2' }), 201);
    assertEmpty(await create('twice', { 'x-ms-meta-b': '2', 'x-ms-meta-COLOUR': 'blue' }), 204);
    assert.deepEqual(await metadataOf('twice'), { Colour: 'blue', b: '2' });
  });

  it('again with other metadata is 409', async () => {
    await create('other', { 'x-ms-meta-colour': 'blue' });
    for (const headers of [
      {},
      { 'x-ms-meta-colour': 'Blue' },
      { 'x-ms-meta-colour': 'blue', 'x-ms-meta-b': '' },
      { 'x-ms-meta-color': 'blue' },
    ]) {
      const response = await create('other', headers);
      assertQueueError(response, { status: 409, code: 'QueueAlreadyExists' });
    }
    await create('plain');
    const response = await create('plain', { 'x-ms-meta-a': '1' });
    assertQueueError(response, { status: 409, code: 'QueueAlreadyExists' });
    assert.deepEqual(await metadataOf('plain'), {});
  });

  it('after a deletion is 201 at once', async () => {
    await create('again');
    await queues.put('again', 'x');
    assertEmpty(await queues.send({ method: 'DELETE', path: '/again' }), 204);
    assertQueueError(await queues.send({ method: 'DELETE', path: '/again' }), {
      status: 404,
      code: 'QueueNotFound',
    });
    assertEmpty(await create('again'), 201);
    assert.equal(await queues.count('again'), 0);
  });

  it('has no body that anybody reads', async () => {
    const request = { method: 'PUT', path: '/with-body', body: 'nobody reads this' };
    assertEmpty(await queues.send(request), 201);
  });
});
describe('the name of a queue (queue-service §5.1)', () => {
  for (const name of ['abc', 'a-b', '0ab', 'ab0', '1-2-3', 'x'.repeat(63)]) {
    it(`may be '${name.slice(0, 20)}'`, async () => assertEmpty(await create(name), 201));
  }

  it('is decoded once', async () => {
    assertEmpty(await create('%72aw-%71'), 201);
    await queues.expect(200, { path: '/raw-q?comp=metadata' });
    assert.equal((await queues.send({ path: '/%2572aw-q?comp=metadata' })).status, 400);
  });

  const outOfRange = ['a', 'ab', 'x'.repeat(64), 'x'.repeat(200)];
  const invalid = `Abc abC a_b a--b -ab ab- a.b a~b $web sl%2Fash a%20b caf%C3%A9
    %F0%9F%98%80%F0%9F%98%80%F0%9F%98%80`.split(/\s+/);
  const requests: readonly (readonly [method: string, rest: string])[] = [
    ['PUT', ''],
    ['DELETE', ''],
    ['GET', '?comp=metadata'],
    ['PUT', '?comp=metadata'],
    ['GET', '?comp=acl'],
    ['GET', '/messages?numofmessages=none'],
    ['POST', '/messages'],
    ['DELETE', '/messages'],
    ['DELETE', '/messages/1'],
  ];
  for (const [code, refused] of [
    ['OutOfRangeInput', outOfRange],
    ['InvalidResourceName', invalid],
  ] as const) {
    for (const name of refused) {
      it(`may not be '${name.slice(0, 20)}' (${name.length}): ${code}, whatever else is wrong`, async () => {
        for (const [method, rest] of requests) {
          const response = await queues.send({ method, path: `/${name}${rest}` });
          assertQueueError(response, { status: 400, code, details: [] });
        }
      });
    }
  }
});

describe('queue-service §5.2: metadata', () => {
  it('keeps the case in which it was written, in headers and in lists', async () => {
    const queue = await queues.newQueue('cased', { 'x-ms-meta-CamelCase': 'Some Value' });
    assert.deepEqual(await metadataOf(queue), { CamelCase: 'Some Value' });
    const { text } = await queues.expect(200, {
      path: `/?comp=list&include=metadata&prefix=${queue}`,
    });
    assert.match(text, /<Metadata><CamelCase>Some Value<\/CamelCase><\/Metadata>/);
  });

  it('is replaced as a whole, and cleared by nothing', async () => {
    const queue = await queues.newQueue('replaced', { 'x-ms-meta-a': '1', 'x-ms-meta-b': '2' });
    assertEmpty(await setMetadata(queue, { 'x-ms-meta-c': '3' }), 204);
    assert.deepEqual(await metadataOf(queue), { c: '3' });
    assertEmpty(await setMetadata(queue, {}), 204);
    assert.deepEqual(await metadataOf(queue), {});
  });

  it('is trimmed and otherwise kept', async () => {
    const queue = await queues.newQueue('trimmed', { 'x-ms-meta-a': '  b  c \t' });
    assert.deepEqual(await metadataOf(queue), { a: 'b  c' });
    assertEmpty(await setMetadata(queue, { 'x-ms-meta-_x9': `<&>"'%20` }), 204);
    assert.deepEqual(await metadataOf(queue), { _x9: `<&>"'%20` });
  });

  for (const name of ['1a', 'a-b', 'a.b', '-', "a'b"]) {
    it(`refuses the name '${name}'`, async () => {
      const response = await create('named-wrong', { [`x-ms-meta-${name}`]: 'x' });
      assertQueueError(response, { status: 400, code: 'InvalidMetadata' });
      const queue = await queues.newQueue('named', { 'x-ms-meta-a': '1' });
      const second = await setMetadata(queue, { [`x-ms-meta-${name}`]: 'x' });
      assertQueueError(second, { status: 400, code: 'InvalidMetadata' });
      assert.deepEqual(await metadataOf(queue), { a: '1' });
    });
  }

  it('refuses an empty name', async () => {
    const response = await create('unnamed', { 'x-ms-meta-': 'x' });
    assertQueueError(response, { status: 400, code: 'EmptyMetadataKey' });
  });

  it('refuses names that differ only in case', async () => {
    const response = await create('doubled', { 'x-ms-meta-a': '1', 'x-ms-meta-A': '2' });
    assert.equal(response.status, 400, response.text);
    assertQueueError(await queues.send({ path: '/doubled?comp=metadata' }), {
      status: 404,
      code: 'QueueNotFound',
    });
  });

  it('takes 8 KiB of names and values and no byte more', async () => {
    const queue = await queues.newQueue('sized');
    const half = 'x'.repeat(4095);
    const fits = { 'x-ms-meta-a': half, 'x-ms-meta-b': half };
    assertEmpty(await setMetadata(queue, fits), 204);
    const response = await setMetadata(queue, { ...fits, 'x-ms-meta-c': '' });
    assertQueueError(response, { status: 400, code: 'MetadataTooLarge' });
    assert.deepEqual(await metadataOf(queue), { a: half, b: half });
  });
});

describe('queue-service §7.3: get metadata', () => {
  it('answers GET and HEAD alike, without a body', async () => {
    const queue = await queues.newQueue('headed', { 'x-ms-meta-a': '1' });
    await queues.put(queue, 'x');
    for (const method of ['GET', 'HEAD']) {
      const response = await queues.send({ method, path: `/${queue}?comp=metadata` });
      assertEmpty(response, 200);
      assert.equal(response.header('x-ms-approximate-messages-count'), '1');
      assert.equal(response.header('x-ms-meta-a'), '1');
    }
  });

  it('names the code of an error to HEAD in a header', async () => {
    const response = await queues.send({ method: 'HEAD', path: '/missing?comp=metadata' });
    assertEmpty(response, 404);
    assert.equal(response.header('x-ms-error-code'), 'QueueNotFound');
  });
});
