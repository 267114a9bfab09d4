import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { messageBody, type QueueRequest } from '../kit/queue-client.js';
import { startQueueFixture } from '../kit/server.js';

// Requests that no operation can serve (queue-service §1.2, §3.3, §8): which code, and what the
// body names.

const { queues } = await startQueueFixture();
const queue = await queues.newQueue('refusals');

function reasonless(details: readonly (readonly [string, string])[]): (readonly string[])[] {
  return details.filter(([name]) => name !== 'Reason');
}

function parameter(name: string, value: string): (readonly string[])[] {
  return [
    ['QueryParameterName', name],
    ['QueryParameterValue', value],
  ];
}

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
      const details = assertQueueError(await queues.send({ path }), {
        status: 400,
        code: 'InvalidQueryParameterValue',
      });
      assert.deepEqual(reasonless(details), parameter(name, value));
      assert.equal(details.at(-1)?.[0], 'Reason');
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

  it('HEAD has the code in a header and no body', async () => {
    const response = await queues.send({ method: 'HEAD', path: '/no-such-queue?comp=metadata' });
    assert.equal(response.status, 404);
    assert.equal(response.header('x-ms-error-code'), 'QueueNotFound');
    assert.equal(response.text, '');
  });
});

describe('an operation that came later', () => {
  const cases: readonly [request: QueueRequest, status: number, code: string][] = [
    [
      { method: 'PUT', path: `/${queue}/messages/1?popreceipt=r&visibilitytimeout=0` },
      405,
      'UnsupportedHttpVerb',
    ],
    [{ path: `/${queue}?comp=acl` }, 400, 'InvalidQueryParameterValue'],
  ];
  for (const [request, status, code] of cases) {
    it(`${request.path} is not there in 2009-09-19`, async () => {
      assertQueueError(await queues.send({ ...request, version: '2009-09-19' }), { status, code });
    });
  }
});

describe('the name of a queue', () => {
  const names: readonly [name: string, code: string][] = [
    ['ab', 'OutOfRangeInput'],
    ['a'.repeat(64), 'OutOfRangeInput'],
    ['Upper', 'InvalidResourceName'],
    ['under_score', 'InvalidResourceName'],
    ['-dash', 'InvalidResourceName'],
    ['two--dashes', 'InvalidResourceName'],
    ['sl%2Fash', 'InvalidResourceName'],
  ];
  const requests: readonly [method: string, rest: string][] = [
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
  for (const [name, code] of names) {
    it(`${name.slice(0, 20)} is ${code}, whatever else is wrong`, async () => {
      for (const [method, rest] of requests) {
        const response = await queues.send({ method, path: `/${name}${rest}` });
        assertQueueError(response, { status: 400, code, details: [] });
      }
    });
  }
});

describe('the body of a message', () => {
  const path = `/${queue}/messages`;

  it('may hold 65,536 bytes of text, however long they are when escaped', async () => {
    const texts = ['x'.repeat(65_536), '\u20ac'.repeat(21_845), '<'.repeat(30_000)];
    for (const text of texts) {
      await queues.expect(201, { method: 'POST', path, body: messageBody(text) });
      assert.equal((await queues.getOne(queue)).MessageText, text);
    }
  });

  for (const [what, body, limit] of [
    ['a text of 65,537 bytes', messageBody('x'.repeat(65_537)), '65536'],
    ['a text of 65,538 bytes', messageBody('\u20ac'.repeat(21_846)), '65536'],
    ['a body of 131,585 bytes', messageBody('x').padEnd(131_585), '131584'],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const response = await queues.send({ method: 'POST', path, body });
      const details = [['MaxLimit', limit]] as const;
      assertQueueError(response, { status: 413, code: 'RequestBodyTooLarge', details });
    });
  }

  it('may have 131,584 bytes', async () => {
    const body = messageBody('padded').padEnd(131_584);
    await queues.expect(201, { method: 'POST', path, body });
  });

  it('may hold 8 KiB of text before 2011-08-18', async () => {
    const version = '2009-09-19';
    const fits = messageBody('x'.repeat(8192));
    await queues.expect(201, { method: 'POST', path, body: fits, version });
    for (const text of ['x'.repeat(8193), '\u20ac'.repeat(2731)]) {
      const response = await queues.send({
        method: 'POST',
        path,
        body: messageBody(text),
        version,
      });
      const details = [['MaxLimit', '8192']] as const;
      assertQueueError(response, { status: 413, code: 'RequestBodyTooLarge', details });
    }
  });

  for (const body of [
    '<QueueMessage />',
    '<QueueMessage><Text>x</Text></QueueMessage>',
    '<Message><MessageText>x</MessageText></Message>',
    '<QueueMessage><MessageText>x</QueueMessage>',
    '<QueueMessage><MessageText>\u0001</MessageText></QueueMessage>',
    'text',
    '',
  ]) {
    it(`is refused when it is ${body === '' ? 'missing' : JSON.stringify(body)}`, async () => {
      const response = await queues.send({ method: 'POST', path, body });
      assertQueueError(response, { status: 400, code: 'InvalidXmlDocument' });
    });
  }

  it('has a length, and so has every other PUT', async () => {
    for (const request of [
      { method: 'POST', path },
      { method: 'PUT', path: '/without-length' },
      { method: 'PUT', path: `/${queue}?comp=metadata` },
    ]) {
      const response = await queues.send({ ...request, headers: { 'Content-Length': undefined } });
      assertQueueError(response, { status: 411, code: 'MissingContentLengthHeader' });
    }
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

  it('name the range that they may have', async () => {
    const path = `/${queue}/messages?NumOfMessages=0`;
    assertQueueError(await queues.send({ path }), {
      status: 400,
      code: 'OutOfRangeQueryParameterValue',
      details: [
        ['QueryParameterName', 'numofmessages'],
        ['QueryParameterValue', '0'],
        ['MinimumAllowed', '1'],
        ['MaximumAllowed', '32'],
      ],
    });
  });

  for (const query of [
    'visibilitytimeout=60&messagettl=60',
    'visibilitytimeout=61&messagettl=60',
    'visibilitytimeout=604800',
  ]) {
    it(`${query} would hide a message for all its life`, async () => {
      const path = `/${queue}/messages?${query}`;
      const body = messageBody('never seen');
      const details = assertQueueError(await queues.send({ method: 'POST', path, body }), {
        status: 400,
        code: 'InvalidQueryParameterValue',
      });
      assert.deepEqual(details[0], ['QueryParameterName', 'visibilitytimeout']);
    });
  }
});

describe('the parameters of a list', () => {
  for (const [query, code, name] of [
    ['maxresults=0', 'OutOfRangeQueryParameterValue', 'maxresults'],
    ['maxresults=-1', 'OutOfRangeQueryParameterValue', 'maxresults'],
    ['maxresults=many', 'InvalidQueryParameterValue', 'maxresults'],
    ['include=everything', 'InvalidQueryParameterValue', 'include'],
  ] as const) {
    it(`${query} is ${code}`, async () => {
      const response = await queues.send({ path: `/?comp=list&${query}` });
      const details = assertQueueError(response, { status: 400, code });
      assert.deepEqual(details[0], ['QueryParameterName', name]);
    });
  }

  it('a marker that no list made is InvalidMarker', async () => {
    const response = await queues.send({ path: '/?comp=list&marker=elsewhere' });
    assertQueueError(response, { status: 400, code: 'InvalidMarker', details: [] });
  });

  it('more than 5000 results are as many as there are', async () => {
    const response = await queues.expect(200, { path: '/?comp=list&maxresults=6000' });
    assert.match(response.text, /<MaxResults>6000<\/MaxResults>/);
  });
});
