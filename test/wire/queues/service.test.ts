import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServer } from '../../../src/app/index.js';
import { assertQueueError } from '../kit/errors.js';
import {
  messageBody,
  messagePath,
  QueueWireClient,
  type QueueRequest,
} from '../kit/queue-client.js';
import { elementTexts } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

const { queues } = await startQueueFixture();

function assertEmpty(response: WireResponse, status: number): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.body.length, 0);
}

describe('queue-service §6.2: service properties', () => {
  const path = '/?restype=service&comp=properties';
  const read = async () => (await queues.expect(200, { path })).text;
  const write = (body: string) => queues.send({ method: 'PUT', path, body });
  const root = (inner: string) => `<StorageServiceProperties>${inner}</StorageServiceProperties>`;
  const retention = '<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>';
  const logging =
    '<Logging><Version>1.0</Version><Read>false</Read><Write>true</Write><Delete>true</Delete>' +
    `${retention}</Logging>`;
  const loggingAsClientsWrite = logging.replace(/(<Read>.*)(<Delete>.*<\/Delete>)/, '$2$1');
  const metrics = (name: string, includeApis = '<IncludeAPIs>true</IncludeAPIs>') =>
    `<${name}><Version>1.0</Version><Enabled>true</Enabled>${includeApis}${retention}</${name}>`;
  const rule =
    '<CorsRule><AllowedMethods>GET,PUT</AllowedMethods><AllowedOrigins>http://a.example</AllowedOrigins>' +
    '<AllowedHeaders>x-ms-meta-target*</AllowedHeaders><ExposedHeaders>x-ms-meta-data*</ExposedHeaders>' +
    '<MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule>';

  it('answer PUT with 202 and come back', async () => {
    const body = root(
      loggingAsClientsWrite +
        metrics('HourMetrics') +
        metrics('MinuteMetrics') +
        `<Cors>${rule}</Cors>`,
    );
    assertEmpty(await write(body), 202);
    const text = await read();
    for (const part of [logging, metrics('HourMetrics'), metrics('MinuteMetrics'), rule]) {
      assert.ok(text.includes(part), `${part} in ${text}`);
    }
  });

  it('keep what is left out, and lose all rules by an empty Cors', async () => {
    assertEmpty(await write(root(`<Cors>${rule}</Cors>`)), 202);
    assertEmpty(await write(root(logging.replace('<Days>7', '<Days>9'))), 202);
    const kept = await read();
    assert.ok(kept.includes(rule) && kept.includes('<Days>9'));
    assertEmpty(await write(root('<Cors/>')), 202);
    assert.match(await read(), /<Cors ?\/>/);
    assert.ok((await read()).includes('<Days>9'));
  });

  const refused: readonly (readonly [name: string, code: string, body: string])[] = [
    ['no XML', 'InvalidXmlDocument', 'x'],
    ['another root', 'InvalidXmlDocument', '<Properties />'],
    ['an empty root', 'InvalidXmlDocument', root('')],
    ['an unknown child', 'UnsupportedXmlNode', root('<Other />')],
    [
      'retention without days',
      'MissingRequiredXmlNode',
      root(logging.replace('<Days>7</Days>', '')),
    ],
    ['0 days', 'InvalidXmlNodeValue', root(logging.replace('<Days>7', '<Days>0'))],
    ['366 days', 'InvalidXmlNodeValue', root(logging.replace('<Days>7', '<Days>366'))],
    ['a Boolean that is none', 'InvalidXmlNodeValue', root(logging.replace('false', 'perhaps'))],
    ['a version of no such', 'InvalidXmlNodeValue', root(logging.replace('1.0', '3.0'))],
    [
      'logging without a part',
      'MissingRequiredXmlNode',
      root(logging.replace(/<Read>.*<\/Read>/, '')),
    ],
    [
      'a rule without a part',
      'MissingRequiredXmlNode',
      root(`<Cors>${rule.replace(/<MaxAge.*InSeconds>/, '')}</Cors>`),
    ],
  ];
  for (const [name, code, body] of refused) {
    it(`refuse ${name}: ${code}, and nothing changes`, async () => {
      const before = await read();
      assertQueueError(await write(body), { status: 400, code });
      assert.equal(await read(), before);
    });
  }

  it('refuse six rules', async () => {
    const response = await write(root(`<Cors>${rule.repeat(6)}</Cors>`));
    assert.equal(response.status, 400, response.text);
    assertEmpty(await write(root(`<Cors>${rule.repeat(5)}</Cors>`)), 202);
  });

  it('belong to one account and one service', async () => {
    const accounts = [
      { name: 'first', key: 'b25l' },
      { name: 'second', key: 'dHdv' },
    ];
    await using two = await createServer({ inMemory: true, accounts });
    const first = new QueueWireClient(two.queuePort, { account: 'first', key: 'b25l' });
    const second = new QueueWireClient(two.queuePort, { account: 'second', key: 'dHdv' });
    await first.expect(202, { method: 'PUT', path, body: root(`<Cors>${rule}</Cors>`) });
    assert.ok((await first.expect(200, { path })).text.includes(rule));
    assert.ok(!(await second.expect(200, { path })).text.includes(rule));
    await first.expect(201, { method: 'PUT', path: '/mine' });
    const { text } = await second.expect(200, { path: '/?comp=list' });
    assert.deepEqual(elementTexts(text, 'Name'), []);
    first.close();
    second.close();
  });
});

describe('queue-service §1.1: the secondary endpoint', () => {
  const secondary = `/${queues.account}-secondary`;

  it('reads', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'one');
    const list = await queues.expect(200, { target: `${secondary}/?comp=list` });
    assert.ok(list.text.includes(`<Name>${queue}</Name>`));
    const properties = '?restype=service&comp=properties';
    for (const path of [`${queue}?comp=metadata`, `${queue}?comp=acl`, properties]) {
      await queues.expect(200, { target: `${secondary}/${path}` });
    }
    const peek = `${secondary}/${queue}/messages?peekonly=true`;
    assert.ok((await queues.expect(200, { target: peek })).text.includes('one'));
  });

  it('changes nothing, and takes no message', async () => {
    const queue = await queues.newQueue();
    const message = await queues.put(queue, 'one');
    const body = messageBody('two');
    const changes: readonly QueueRequest[] = [
      { method: 'PUT', path: '/elsewhere' },
      { method: 'DELETE', path: `/${queue}` },
      { method: 'PUT', path: `/${queue}?comp=metadata` },
      { method: 'PUT', path: `/${queue}?comp=acl`, body: '' },
      { method: 'PUT', path: '/?restype=service&comp=properties', body: '' },
      { method: 'POST', path: `/${queue}/messages`, body },
      { path: `/${queue}/messages` },
      { method: 'PUT', path: messagePath(queue, message, { visibilitytimeout: 1 }), body },
      { method: 'DELETE', path: messagePath(queue, message) },
      { method: 'DELETE', path: `/${queue}/messages` },
    ];
    for (const { path = '', ...change } of changes) {
      const response = await queues.send({ ...change, target: `${secondary}${path}` });
      assertQueueError(response, { status: 403, code: 'InsufficientAccountPermissions' });
    }
    const [left] = await queues.peek(queue);
    assert.deepEqual([left?.MessageText, left?.DequeueCount], ['one', '0']);
  });
});
