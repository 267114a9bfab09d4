import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { messageBody, QueueWireClient } from '../kit/queue-client.js';
import { assertInvalidParameter } from '../kit/queue-refusals.js';
import { startQueueFixture } from '../kit/server.js';

// Requests that no operation accepts (queue-service §1.2, §3.3, §8): the code and details of the
// error.

const { queues, server } = await startQueueFixture();
const queue = await queues.newQueue('refusals');

describe('a request that fits no operation', () => {
  for (const [method, path, allowed] of [
    ['GET', `/${queue}`, 'PUT, DELETE'],
    ['POST', `/${queue}?comp=acl`, 'GET, HEAD, PUT'],
    ['PUT', `/${queue}/messages`, 'POST, GET, DELETE'],
    ['GET', `/${queue}/messages/1`, 'DELETE, PUT'],
    ['DELETE', '/?comp=list', 'GET'],
  ] as const) {
    it(`${method} ${path} says which verbs there are`, async () => {
      const response = await queues.send({ method, path });
      assertQueueError(response, { status: 405, code: 'UnsupportedHttpVerb', details: [] });
      assert.equal(response.header('allow'), allowed);
    });
  }

  for (const [path, name, value] of [
    ['/', 'comp', ''],
    ['/?comp=everything', 'comp', 'everything'],
    ['/?restype=service&comp=stats', 'comp', 'stats'],
    [`/${queue}?comp=list`, 'comp', 'list'],
    [`/${queue}?restype=queue`, 'restype', 'queue'],
    [`/${queue}/messages?peekonly=maybe`, 'peekonly', 'maybe'],
  ] as const) {
    it(`GET ${path} says which parameter is wrong`, async () => {
      assertInvalidParameter(await queues.send({ path }), name, value);
    });
  }

  for (const path of [
    '//',
    `/${queue}/`,
    `/${queue}/messages/`,
    `/${queue}/peeks`,
    `/${queue}/messages/1/2`,
    '/%zz',
  ]) {
    it(`DELETE ${path} names no resource`, async () => {
      const response = await queues.send({ method: 'DELETE', path });
      assertQueueError(response, { status: 400, code: 'InvalidUri', details: [] });
    });
  }

  const cases: readonly (readonly [method: string, path: string])[] = [
    ['POST', '/queue-x'],
    ['GET', '/queue-x?comp=other'],
    ['PUT', '/queue-x?comp=other'],
    ['GET', '/?restype=service'],
    ['GET', '/?restype=other&comp=properties'],
    ['PUT', '/'],
    ['DELETE', '/'],
    ['POST', '/queue-x/messages/5974b586-0df3-4e2d-ad0c-18e3892bfca2'],
    ['GET', '/queue-x/messages/5974b586-0df3-4e2d-ad0c-18e3892bfca2'],
    ['PATCH', '/queue-x/messages'],
    ['POST', '/?restype=service&comp=userdelegationkey'],
  ];
  for (const [method, path] of cases) {
    it(`${method} ${path} is 4xx or 501 with a code`, async () => {
      const response = await queues.send({ method, path });
      const { status } = response;
      assert.ok((status >= 400 && status < 500) || status === 501, `${status} ${response.text}`);
      assert.match(response.header('x-ms-error-code') ?? '', /^[A-Z]\w+$/);
    });
  }

  it('an unknown parameter is ignored', async () => {
    const queue = await queues.newQueue();
    await queues.expect(201, {
      method: 'POST',
      path: `/${queue}/messages?unknown=1`,
      body: messageBody('x'),
    });
  });
});

describe('the parameters of a message', () => {
  it('are checked before anything is looked for', async () => {
    const missing = '/no-such-queue/messages';
    const cases: readonly [method: string, path: string, code: string][] = [
      ['GET', `${missing}?numofmessages=33`, 'OutOfRangeQueryParameterValue'],
      ['GET', `${missing}?visibilitytimeout=0`, 'OutOfRangeQueryParameterValue'],
      ['GET', `${missing}?peekonly=true&numofmessages=x`, 'InvalidQueryParameterValue'],
      ['PUT', `${missing}/1?popreceipt=r`, 'MissingRequiredQueryParameter'],
      ['PUT', `${missing}/1?visibilitytimeout=1`, 'MissingRequiredQueryParameter'],
      ['DELETE', `${missing}/1`, 'MissingRequiredQueryParameter'],
      ['GET', missing, 'QueueNotFound'],
      ['DELETE', `${missing}/1?popreceipt=r`, 'QueueNotFound'],
    ];
    for (const [method, path, code] of cases) {
      const response = await queues.send({ method, path });
      assertQueueError(response, { status: code === 'QueueNotFound' ? 404 : 400, code });
    }
  });
});

describe('headers and parameters of every request (queue-service §3.1)', () => {
  it('a client request id is echoed', async () => {
    const headers = { 'x-ms-client-request-id': 'some id' };
    const found = await queues.send({ path: '/?comp=list', headers });
    assert.equal(found.header('x-ms-client-request-id'), 'some id');
    const missing = await queues.send({ path: '/missing?comp=metadata', headers });
    assert.equal(missing.header('x-ms-client-request-id'), 'some id');
  });

  it('a body that its Content-MD5 does not fit is refused', async () => {
    const queue = await queues.newQueue();
    const send = (md5: string) =>
      queues.send({
        method: 'POST',
        path: `/${queue}/messages`,
        body: messageBody('x'),
        headers: { 'Content-MD5': md5 },
      });
    assertQueueError(await send('not base64'), { status: 400, code: 'InvalidMd5' });
    const wrong = await send('AAAAAAAAAAAAAAAAAAAAAA==');
    assertQueueError(wrong, { status: 400, code: 'Md5Mismatch' });
    assert.equal(await queues.count(queue), 0);
  });

  it('an account that is not there is 404', async () => {
    const stranger = new QueueWireClient(server.queuePort, { account: 'nobody' });
    const response = await stranger.send({ path: '/?comp=list' });
    assertQueueError(response, { status: 404, code: 'ResourceNotFound' });
    stranger.close();
  });

  it('a write has a length', async () => {
    for (const request of [
      { method: 'POST', path: `/${queue}/messages` },
      { method: 'PUT', path: '/without-length' },
      { method: 'PUT', path: `/${queue}?comp=metadata` },
    ]) {
      const response = await queues.send({ ...request, headers: { 'Content-Length': undefined } });
      assertQueueError(response, { status: 411, code: 'MissingContentLengthHeader' });
    }
  });
});
