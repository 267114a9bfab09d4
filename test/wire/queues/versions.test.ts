import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { messageBody, messagePath } from '../kit/queue-client.js';
import { assertOutOfRange, assertTooLarge } from '../kit/queue-refusals.js';
import { elementText, messagesOf } from '../kit/queue-xml.js';
import { startQueueFixture } from '../kit/server.js';

// queue-service §13 and §2: what depends on the version, with each threshold from both sides.

const { queues, wait } = await startQueueFixture();

describe('2009-09-19', () => {
  it('brings DequeueCount', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x');
    for (const [version, shown] of [
      ['2009-07-17', false],
      ['2009-09-19', true],
    ] as const) {
      const path = `/${queue}/messages`;
      const peeked = await queues.expect(200, { path: `${path}?peekonly=true`, version });
      assert.equal('DequeueCount' in (messagesOf(peeked)[0] ?? {}), shown, version);
      const got = await queues.expect(200, { path, version });
      assert.equal('DequeueCount' in (messagesOf(got)[0] ?? {}), shown, version);
      wait(30);
    }
  });
});

describe('2011-08-18', () => {
  const before = '2009-09-19';
  const from = '2011-08-18';

  it('brings update', async () => {
    const queue = await queues.newQueue();
    const sent = await queues.put(queue, 'x');
    const path = messagePath(queue, sent, { visibilitytimeout: 0 });
    const early = await queues.send({ method: 'PUT', path, version: before });
    assertQueueError(early, { status: 405, code: 'UnsupportedHttpVerb' });
    await queues.expect(204, { method: 'PUT', path, version: from });
  });

  it('lets a put be invisible; before, the parameter says nothing (choice)', async () => {
    const queue = await queues.newQueue();
    const path = `/${queue}/messages?visibilitytimeout=5`;
    const put = (version: string) =>
      queues.send({ method: 'POST', path, version, body: messageBody('x') });
    assert.equal((await put(from)).status, 201);
    assert.deepEqual(await queues.texts(queue), []);
    assert.equal((await put(before)).status, 201);
    assert.deepEqual(await queues.texts(queue), ['x']);
  });

  it('raises the limit of texts from 8 KiB to 64 KiB', async () => {
    const queue = await queues.newQueue();
    const put = (version: string, text: string) =>
      queues.send({ method: 'POST', path: `/${queue}/messages`, version, body: messageBody(text) });
    assert.equal((await put(before, 'x'.repeat(8192))).status, 201);
    for (const text of ['x'.repeat(8193), '\u20ac'.repeat(2731)]) {
      assertTooLarge(await put(before, text), 8192);
    }
    assert.equal((await put(from, 'x'.repeat(65_536))).status, 201);
  });

  it('raises the visibility of a get from 2 hours to 7 days', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'x', { messagettl: -1 });
    const get = (version: string, seconds: number) =>
      queues.send({ path: `/${queue}/messages?visibilitytimeout=${seconds}`, version });
    assertOutOfRange(await get(before, 7201), 'visibilitytimeout', 7201, [1, 7200]);
    assert.equal(messagesOf(await get(before, 7200)).length, 1);
    wait(7200);
    assert.equal(messagesOf(await get(from, 604_800)).length, 1);
  });
});

describe('2012-02-12', () => {
  it('brings access policies', async () => {
    const queue = await queues.newQueue();
    const path = `/${queue}?comp=acl`;
    const early = await queues.send({ path, version: '2011-08-18' });
    assertQueueError(early, { status: 400, code: 'InvalidQueryParameterValue' });
    await queues.expect(200, { path, version: '2012-02-12' });
    const body = '<SignedIdentifiers/>';
    await queues.expect(204, { method: 'PUT', path, version: '2012-02-12', body });
  });
});

describe('2013-08-15', () => {
  const before = '2012-02-12';
  const from = '2013-08-15';

  it('replaces AccountName and Url in lists by ServiceEndpoint', async () => {
    const queue = await queues.newQueue('endpoint');
    const path = `/?comp=list&prefix=${queue}`;
    const endpoint = `http://${queues.authority}/${queues.account}/`;
    const early = await queues.expect(200, { path, version: before });
    assert.ok(early.text.includes(`<EnumerationResults AccountName="${endpoint}">`), early.text);
    assert.equal(elementText(early.text, 'Url'), `${endpoint}${queue}`);
    const late = await queues.expect(200, { path, version: from });
    assert.ok(late.text.includes(`<EnumerationResults ServiceEndpoint="${endpoint}">`), late.text);
    assert.equal(elementText(late.text, 'Url'), undefined);
  });

  it('replaces Metrics by HourMetrics and MinuteMetrics, and brings Cors', async () => {
    const path = '/?restype=service&comp=properties';
    const early = await queues.expect(200, { path, version: before });
    assert.match(early.text, /<Metrics>/);
    assert.doesNotMatch(early.text, /HourMetrics|MinuteMetrics|Cors/);
    const late = await queues.expect(200, { path, version: from });
    assert.match(late.text, /<HourMetrics>.*<MinuteMetrics>.*<Cors ?\/>/);
    assert.doesNotMatch(late.text, /<Metrics>/);
  });

  it('makes the parts of the properties optional', async () => {
    const path = '/?restype=service&comp=properties';
    const off = '<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>';
    const logging =
      '<Logging><Version>1.0</Version><Delete>false</Delete><Read>true</Read>' +
      `<Write>false</Write>${off}</Logging>`;
    const metrics = `<Metrics><Version>1.0</Version><Enabled>false</Enabled>${off}</Metrics>`;
    const root = (inner: string) => `<StorageServiceProperties>${inner}</StorageServiceProperties>`;
    const put = (version: string, body: string) =>
      queues.send({ method: 'PUT', path, version, body });
    assert.equal((await put(before, root(logging))).status, 400);
    assert.equal((await put(before, root(logging + metrics))).status, 202);
    assert.equal((await put(from, root(logging))).status, 202);
    assert.equal((await put(from, root(metrics))).status, 400);
  });

  it('brings stats', async () => {
    const target = `/${queues.account}-secondary/?restype=service&comp=stats`;
    const early = await queues.send({ target, version: before });
    assert.ok(early.status >= 400 && early.status < 500, early.text);
    await queues.expect(200, { target, version: from });
  });
});

describe('2016-05-31', () => {
  it('gives a put a body', async () => {
    const queue = await queues.newQueue();
    const put = (version: string) =>
      queues.expect(201, {
        method: 'POST',
        path: `/${queue}/messages`,
        version,
        body: messageBody('x'),
      });
    const early = await put('2015-12-11');
    assert.equal(early.text, '');
    assert.equal(early.header('content-type'), undefined);
    const [message] = messagesOf(await put('2016-05-31'));
    assert.equal((await queues.delete(queue, message ?? {})).status, 204);
    assert.equal(await queues.count(queue), 1);
  });
});

describe('2017-07-29', () => {
  it('lets a message live beyond 7 days', async () => {
    const queue = await queues.newQueue();
    const put = (version: string, messagettl: number) =>
      queues.send({
        method: 'POST',
        path: `/${queue}/messages?messagettl=${messagettl}`,
        version,
        body: messageBody('x'),
      });
    const before = '2017-04-17';
    assert.equal((await put(before, 604_800)).status, 201);
    assertOutOfRange(await put(before, 604_801), 'messagettl', 604_801, [1, 604_800]);
    const never = await put(before, -1);
    assert.equal(never.status, 400, never.text);
    assert.equal(await queues.count(queue), 1);
    const from = '2017-07-29';
    assert.equal((await put(from, 604_801)).status, 201);
    const sent = await put(from, -1);
    assert.equal(messagesOf(sent)[0]?.ExpirationTime, 'Fri, 31 Dec 9999 23:59:59 GMT');
  });
});

describe('the version itself', () => {
  it('is echoed', async () => {
    for (const version of ['2009-09-19', '2018-03-28', '2026-06-06']) {
      const response = await queues.expect(200, { version });
      assert.equal(response.header('x-ms-version'), version);
    }
  });

  it('is 2020-12-06 when a request has none (choice)', async () => {
    const response = await queues.expect(200, { headers: { 'x-ms-version': undefined } });
    assert.equal(response.header('x-ms-version'), '2020-12-06');
    const anonymous = await queues.send({ headers: { 'x-ms-version': undefined }, auth: 'none' });
    assertQueueError(anonymous, { status: 401, code: 'NoAuthenticationInformation' });
  });

  for (const value of ['latest', '2021-13-01', '2021', '']) {
    it(`'${value}' is 400 and named`, async () => {
      const response = await queues.send({ headers: { 'x-ms-version': value } });
      assertQueueError(response, {
        status: 400,
        code: 'InvalidHeaderValue',
        details: [
          ['HeaderName', 'x-ms-version'],
          ['HeaderValue', value],
        ],
      });
    });
  }
});
