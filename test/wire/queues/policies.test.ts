import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertQueueError } from '../kit/errors.js';
import { elementTexts } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

const { queues } = await startQueueFixture();

function assertEmpty(response: WireResponse, status: number): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.body.length, 0);
}

describe('queue-service §7.5: access policies', () => {
  const acl = (queue: string, body?: string, method = 'PUT') =>
    queues.send({
      method,
      path: `/${queue}?comp=acl`,
      ...(body === undefined ? {} : { body }),
    });
  const identifier = (id: string, policy = '') =>
    `<SignedIdentifier><Id>${id}</Id>${policy}</SignedIdentifier>`;
  const documentOf = (...identifiers: readonly string[]) =>
    `<SignedIdentifiers>${identifiers.join('')}</SignedIdentifiers>`;
  const declaration = '<?xml version="1.0" encoding="utf-8"?>';
  const read = async (queue: string) => (await acl(queue, undefined, 'GET')).text;

  it('come back with times in seven digits', async () => {
    const queue = await queues.newQueue('policies');
    const policy = (start: string, expiry: string) =>
      `<AccessPolicy><Start>${start}</Start><Expiry>${expiry}</Expiry>` +
      '<Permission>raup</Permission></AccessPolicy>';
    const written = documentOf(
      identifier('one', policy('2009-09-28', '2009-09-29T08:49Z')),
      identifier('two', policy('2009-09-28T08:49:37Z', '2009-09-29T08:49:37.1234567Z')),
      identifier('three', policy('2009-09-28T10:49:37+02:00', '2009-09-29T08:49:37.5Z')),
    );
    assertEmpty(await acl(queue, written), 204);
    const kept = documentOf(
      identifier('one', policy('2009-09-28T00:00:00.0000000Z', '2009-09-29T08:49:00.0000000Z')),
      identifier('two', policy('2009-09-28T08:49:37.0000000Z', '2009-09-29T08:49:37.1234567Z')),
      identifier('three', policy('2009-09-28T08:49:37.0000000Z', '2009-09-29T08:49:37.5000000Z')),
    );
    assert.equal(await read(queue), `${declaration}${kept}`);
  });

  it('may leave out any part, and are removed by an empty list or body', async () => {
    const queue = await queues.newQueue('parts');
    const partial = documentOf(
      identifier('none'),
      identifier('empty', '<AccessPolicy />'),
      identifier('some', '<AccessPolicy><Permission>r</Permission></AccessPolicy>'),
    );
    assertEmpty(await acl(queue, partial), 204);
    assert.deepEqual(elementTexts(await read(queue), 'Id'), ['none', 'empty', 'some']);
    assert.deepEqual(elementTexts(await read(queue), 'Permission'), ['r']);
    for (const body of ['', '<SignedIdentifiers/>', undefined]) {
      assertEmpty(await acl(queue, partial), 204);
      assertEmpty(await acl(queue, body), 204);
      assert.equal(await read(queue), `${declaration}<SignedIdentifiers />`);
    }
  });

  it('answer HEAD without a body', async () => {
    const queue = await queues.newQueue('acl-head');
    assertEmpty(await acl(queue, undefined, 'HEAD'), 200);
  });

  const six = Array.from({ length: 6 }, (_, index) => identifier(`id${index}`));
  const policyOf = (inner: string) =>
    documentOf(identifier('a', `<AccessPolicy>${inner}</AccessPolicy>`));
  const refused: readonly (readonly [name: string, body: string])[] = [
    ['six entries', documentOf(...six)],
    ['an id of 65 characters', documentOf(identifier('x'.repeat(65)))],
    ['an id twice', documentOf(identifier('a'), identifier('a'))],
    ['an entry without id', documentOf('<SignedIdentifier></SignedIdentifier>')],
    ['a letter that is no permission', policyOf('<Permission>rx</Permission>')],
    ['a date that is none', policyOf('<Start>yesterday</Start>')],
    ['no XML', 'x'],
    ['another root', '<Identifiers />'],
  ];
  for (const [name, body] of refused) {
    it(`refuse ${name}, and nothing changes`, async () => {
      const queue = await queues.newQueue('acl-refused');
      assertEmpty(await acl(queue, documentOf(identifier('kept'))), 204);
      const response = await acl(queue, body);
      assert.equal(response.status, 400, response.text);
      const code = response.header('x-ms-error-code') ?? '';
      assert.match(code, /^(InvalidXmlDocument|InvalidXmlNodeValue|MissingRequiredXmlNode)$/);
      if (name === 'six entries') assert.equal(code, 'InvalidXmlDocument');
      assert.deepEqual(elementTexts(await read(queue), 'Id'), ['kept']);
    });
  }

  it('five entries and an id of 64 characters are taken', async () => {
    const queue = await queues.newQueue('acl-five');
    const five = [...six.slice(0, 4), identifier('x'.repeat(64))];
    assertEmpty(await acl(queue, documentOf(...five)), 204);
    assert.equal(elementTexts(await read(queue), 'Id').length, 5);
  });

  it('of a queue that is not there are 404', async () => {
    const missing = { status: 404, code: 'QueueNotFound' };
    assertQueueError(await acl('missing', undefined, 'GET'), missing);
    assertQueueError(await acl('missing', '<SignedIdentifiers/>'), missing);
  });
});
