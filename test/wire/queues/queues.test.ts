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
import { elementText, elementTexts } from '../kit/queue-xml.js';
import type { Headers } from '../kit/request-bytes.js';
import type { WireResponse } from '../kit/response.js';
import { startQueueFixture } from '../kit/server.js';

// queue-service §13, the rest: queues, metadata, lists, access policies, the service and CORS.
// Messages: messages.test.ts.

const { server, queues } = await startQueueFixture();

const create = (name: string, headers: Headers = {}) =>
  queues.send({ method: 'PUT', path: `/${name}`, headers });

/** The metadata of a queue as its headers have it, names as spelled. */
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

describe('create twice', () => {
  it('with equal metadata is 201 and 204, whatever the case of names', async () => {
    assertEmpty(await create('twice', { 'x-ms-meta-Colour': 'blue', 'x-ms-meta-b': '2' }), 201);
    assertEmpty(await create('twice', { 'x-ms-meta-b': '2', 'x-ms-meta-COLOUR': 'blue' }), 204);
    assert.deepEqual(await metadataOf('twice'), { Colour: 'blue', b: '2' });
  });

  it('with other metadata is 409', async () => {
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
});

describe('queue-service §5.1: names', () => {
  const accepted = ['abc', 'a-b', '0ab', 'ab0', '1-2-3', 'x'.repeat(63)];
  const lengths = ['a', 'ab', 'x'.repeat(64), 'x'.repeat(200)];
  const characters = [
    'Abc',
    'abC',
    'a_b',
    'a--b',
    '-ab',
    'ab-',
    'a.b',
    'a%20b',
    'caf%C3%A9',
    '%F0%9F%98%80%F0%9F%98%80%F0%9F%98%80',
    '$web',
    'a~b',
  ];
  for (const name of accepted) {
    it(`'${name.slice(0, 20)}' is one`, async () => assertEmpty(await create(name), 201));
  }
  for (const name of lengths) {
    it(`${name.length} characters are too few or too many`, async () => {
      assertQueueError(await create(name), { status: 400, code: 'OutOfRangeInput' });
    });
  }
  for (const name of characters) {
    it(`'${name}' has characters that a name may not have`, async () => {
      assertQueueError(await create(name), { status: 400, code: 'InvalidResourceName' });
    });
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

describe('queue-service §6.1: list queues', () => {
  const listed = Array.from({ length: 5 }, (_, index) => `listed-${index}`);
  const list = (query: string) => queues.send({ path: `/?comp=list${query}` });
  const names = (response: WireResponse) => elementTexts(response.text, 'Name');

  it('shows what was asked and no more', async () => {
    for (const name of listed) await queues.expect(201, { method: 'PUT', path: `/${name}` });
    const endpoint = `http://${queues.authority}/${queues.account}/`;
    const open =
      '<?xml version="1.0" encoding="utf-8"?>' +
      `<EnumerationResults ServiceEndpoint="${endpoint}">`;
    const queue = (name: string) => `<Queue><Name>${name}</Name></Queue>`;
    const all = listed.map(queue).join('');
    assert.equal(
      (await list('&prefix=listed-')).text,
      `${open}<Prefix>listed-</Prefix><Queues>${all}</Queues><NextMarker /></EnumerationResults>`,
    );
    const none = await list('&prefix=listed-x');
    assert.equal(none.status, 200);
    assert.deepEqual(names(none), []);
    assert.match(none.text, /<NextMarker \/><\/EnumerationResults>$/);
  });

  it('goes on from its marker until it is empty', async () => {
    const seen: string[][] = [];
    let marker = '';
    do {
      const query = `&prefix=listed-&maxresults=2${marker && `&marker=${encodeURIComponent(marker)}`}`;
      const page = await list(query);
      assert.equal(elementText(page.text, 'MaxResults'), '2');
      assert.equal(elementText(page.text, 'Marker'), marker === '' ? undefined : marker);
      seen.push(names(page));
      marker = elementText(page.text, 'NextMarker') ?? '';
    } while (marker !== '' && seen.length < 9);
    assert.deepEqual(seen, [listed.slice(0, 2), listed.slice(2, 4), listed.slice(4)]);
  });

  it('sorts names in ordinal order', async () => {
    for (const name of ['sort-b', 'sort-a0', 'sort-a-0', 'sort-9', 'sort-a']) await create(name);
    assert.deepEqual(names(await list('&prefix=sort-')), [
      'sort-9',
      'sort-a',
      'sort-a-0',
      'sort-a0',
      'sort-b',
    ]);
  });

  it('shows metadata only when asked', async () => {
    const queue = await queues.newQueue('with-meta', { 'x-ms-meta-a': '<&>' });
    const plain = await list(`&prefix=${queue}`);
    assert.doesNotMatch(plain.text, /Metadata/);
    const full = await list(`&prefix=${queue}&include=metadata`);
    assert.match(full.text, /<Metadata><a>&lt;&amp;&gt;<\/a><\/Metadata>/);
  });

  it('refuses maxresults of 0 and below, and what is no number', async () => {
    for (const value of ['0', '-1']) {
      assertQueueError(await list(`&maxresults=${value}`), {
        status: 400,
        code: 'OutOfRangeQueryParameterValue',
        details: [
          ['QueryParameterName', 'maxresults'],
          ['QueryParameterValue', value],
          ['MinimumAllowed', '1'],
          ['MaximumAllowed', '2147483647'],
        ],
      });
    }
    for (const value of ['x', '1.5']) {
      const response = await list(`&maxresults=${value}`);
      assertQueueError(response, { status: 400, code: 'InvalidQueryParameterValue' });
    }
    assert.equal((await list('&maxresults=5001')).status, 200);
    assert.equal((await list('&maxresults=2147483647')).status, 200);
  });

  it('refuses an include that it does not know', async () => {
    const response = await list('&include=everything');
    assertQueueError(response, { status: 400, code: 'InvalidQueryParameterValue' });
  });

  it('gives 5,000 queues in a page at most', async () => {
    await using many = await createServer({ inMemory: true });
    const client = QueueWireClient.of(many);
    for (let from = 0; from < 5001; from += 1) {
      const name = `many-${String(from).padStart(5, '0')}`;
      await client.expect(201, { method: 'PUT', path: `/${name}` });
    }
    const first = await client.expect(200, { path: '/?comp=list&maxresults=9999' });
    assert.equal(elementTexts(first.text, 'Name').length, 5000);
    const marker = encodeURIComponent(elementText(first.text, 'NextMarker') ?? '');
    assert.notEqual(marker, '');
    const second = await client.expect(200, { path: `/?comp=list&marker=${marker}` });
    assert.deepEqual(elementTexts(second.text, 'Name'), ['many-05000']);
    client.close();
  });
});

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

describe('queue-service §6.3: service stats', () => {
  it('are there on the secondary endpoint and 400 on the primary', async () => {
    const target = `/${queues.account}-secondary/?restype=service&comp=stats`;
    const { text } = await queues.expect(200, { target });
    assert.match(
      text,
      /^<\?xml version="1.0" encoding="utf-8"\?><StorageServiceStats><GeoReplication><Status>live<\/Status><LastSyncTime>\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT<\/LastSyncTime><\/GeoReplication><\/StorageServiceStats>$/,
    );
    const response = await queues.send({ path: '/?restype=service&comp=stats' });
    const details = assertQueueError(response, {
      status: 400,
      code: 'InvalidQueryParameterValue',
    });
    assert.deepEqual(details[0], ['QueryParameterName', 'comp']);
  });
});

describe('queue-service §10: CORS without rules', () => {
  const preflight = (headers: Headers) =>
    queues.send({ method: 'OPTIONS', path: '/any/path', auth: 'none', headers });

  it('a preflight without Origin is no 2xx and no 5xx', async () => {
    const response = await preflight({ 'Access-Control-Request-Method': 'GET' });
    assert.ok(response.status >= 400 && response.status < 500, String(response.status));
  });

  it('a preflight that no rule allows opens nothing', async () => {
    const response = await preflight({
      Origin: 'http://evil.example',
      'Access-Control-Request-Method': 'GET',
    });
    assert.ok(response.status >= 400 && response.status < 500, String(response.status));
    assert.equal(response.header('access-control-allow-origin'), undefined);
  });

  it('a request with Origin is served as any other', async () => {
    const headers = { Origin: 'http://a.example' };
    await queues.expect(200, { path: '/?comp=list', headers });
  });
});

describe('queue-service §1.2: what is no operation', () => {
  const cases: readonly (readonly [method: string, path: string])[] = [
    ['GET', '/queue-x'],
    ['POST', '/queue-x'],
    ['GET', '/queue-x?comp=other'],
    ['PUT', '/queue-x?comp=other'],
    ['GET', '/?comp=other'],
    ['GET', '/?restype=service'],
    ['GET', '/?restype=other&comp=properties'],
    ['PUT', '/'],
    ['DELETE', '/'],
    ['PUT', '/queue-x/messages'],
    ['POST', '/queue-x/messages/5974b586-0df3-4e2d-ad0c-18e3892bfca2'],
    ['GET', '/queue-x/messages/5974b586-0df3-4e2d-ad0c-18e3892bfca2'],
    ['GET', '/queue-x/other'],
    ['GET', '/queue-x/messages/a/b'],
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

describe('queue-service §3.1: headers and parameters of every request', () => {
  it('a timeout is a number, and one beyond the cap is cut', async () => {
    for (const value of ['1', '30', '31', '999999']) {
      await queues.expect(200, { path: `/?comp=list&timeout=${value}` });
    }
    const response = await queues.send({ path: '/?comp=list&timeout=soon' });
    assertQueueError(response, { status: 400, code: 'InvalidQueryParameterValue' });
  });

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

  it('a write without any length is 411', async () => {
    const headers = { 'Content-Length': undefined };
    const response = await queues.send({ method: 'PUT', path: '/no-length', headers });
    assertQueueError(response, { status: 411, code: 'MissingContentLengthHeader' });
  });

  it('every answer has its id, version and date', async () => {
    for (const path of ['/?comp=list', '/missing?comp=metadata']) {
      const response = await queues.send({ path });
      assert.match(response.header('x-ms-request-id') ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-/);
      assert.equal(response.header('x-ms-version'), '2021-12-02');
      assert.match(response.header('date') ?? '', /^\w{3}, \d\d \w{3} \d{4} .+ GMT$/);
      assert.match(response.header('server') ?? 'Windows-Azure-Queue', /Queue/);
    }
  });

  it('an account that is not there is 404', async () => {
    const stranger = new QueueWireClient(server.queuePort, { account: 'nobody' });
    const response = await stranger.send({ path: '/?comp=list' });
    assertQueueError(response, { status: 404, code: 'ResourceNotFound' });
    stranger.close();
  });
});
