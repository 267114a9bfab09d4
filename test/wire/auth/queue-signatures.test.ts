import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QueueRequest } from '../kit/queue-client.js';
import { assertQueueError, refusals } from '../kit/errors.js';
import type { WireResponse } from '../kit/response.js';
import { queueStringToSign } from '../kit/queue-signature.js';
import { developmentAccount, developmentKey, signatureOf, type Scheme } from '../kit/signature.js';
import { startQueueFixture } from '../kit/server.js';

// queue-service §13: the vectors on a real server, and every line and variant of queue-service
// §4.1, §4.2.

const accounts = [
  { name: developmentAccount, keys: [developmentKey, 'c2Vjb25k'] },
  { name: 'myaccount', key: developmentKey },
];
const { queues, wait } = await startQueueFixture({ accounts, allowHosts: ['.core.windows.net'] });
const date = 'Fri, 01 Mar 2024 12:00:00 GMT';
const version = '2021-12-02';
const failed = refusals.authenticationFailed;
const account = developmentAccount;

await queues.expect(201, { method: 'PUT', path: '/work' });

interface Vector {
  readonly name: string;
  readonly scheme: Scheme;
  readonly account: string;
  readonly stringToSign: string;
  readonly signature: string;
  readonly request: QueueRequest;
  /** The status of an authenticated request; the name `q1` of the vectors is too short. */
  readonly status: number;
}

const vectors: readonly Vector[] = [
  {
    name: 'SharedKey, path style, GET of messages',
    scheme: 'SharedKey',
    account,
    stringToSign:
      `GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-version:${version}\n` +
      '/devstoreaccount1/devstoreaccount1/q1/messages\nnumofmessages:2\nvisibilitytimeout:60',
    signature: '0eYYHwYwBJe61wOSNZMUpDJYbIVKjGQaeZmqP8vsaxs=',
    request: { target: '/devstoreaccount1/q1/messages?numofmessages=2&visibilitytimeout=60' },
    status: 400,
  },
  {
    name: 'SharedKey, host style, PUT of a queue with metadata',
    scheme: 'SharedKey',
    account: 'myaccount',
    stringToSign:
      `PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-meta-colour:blue\n` +
      `x-ms-version:${version}\n/myaccount/q1`,
    signature: 'nX+hBzbDrHWVH1b9C5tTVStKJRYh16G4BIm6+nPYosk=',
    request: {
      method: 'PUT',
      target: '/q1',
      headers: {
        Host: 'myaccount.queue.core.windows.net',
        'x-ms-meta-colour': 'blue',
        'Content-Length': '0',
      },
    },
    status: 400,
  },
  {
    name: 'SharedKeyLite, path style, list of queues',
    scheme: 'SharedKeyLite',
    account,
    stringToSign:
      `GET\n\n\n\nx-ms-date:${date}\nx-ms-version:${version}\n` +
      '/devstoreaccount1/devstoreaccount1/?comp=list',
    signature: 'mVae1Xnmafh3NvtPcWttCXtIvzlyYGhTKnK37p9yYKc=',
    request: { target: '/devstoreaccount1/?comp=list' },
    status: 200,
  },
];

function sendVector(
  vector: Vector,
  change: QueueRequest & { readonly authorization?: string } = {},
): Promise<WireResponse> {
  const { authorization, ...request } = change;
  const signed = `${vector.scheme} ${vector.account}:${vector.signature}`;
  const headers = {
    'x-ms-date': date,
    ...vector.request.headers,
    Authorization: authorization ?? signed,
    ...request.headers,
  };
  return queues.send({ version, ...vector.request, ...request, headers });
}

function changed(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

describe('the vectors of queue-service §13', () => {
  for (const vector of vectors) {
    const target = vector.request.target ?? '';

    it(`${vector.name}: is what the kit signs too`, () => {
      const { scheme, request, stringToSign, signature } = vector;
      const headers = { 'x-ms-date': date, 'x-ms-version': version, ...request.headers };
      const { method = 'GET' } = request;
      const signed = { scheme, account: vector.account, key: developmentKey };
      assert.equal(queueStringToSign({ ...signed, method, target, headers }), stringToSign);
      assert.equal(signatureOf(developmentKey, stringToSign), signature);
    });

    it(`${vector.name}: is accepted`, async () => {
      const response = await sendVector(vector);
      assert.equal(response.status, vector.status, response.text);
    });

    it(`${vector.name}: fails with any character of the signature changed`, async () => {
      for (let at = 0; at < vector.signature.length - 1; at += 1) {
        const signature = changed(vector.signature, at);
        const authorization = `${vector.scheme} ${vector.account}:${signature}`;
        assertQueueError(await sendVector(vector, { authorization }), failed);
      }
    });

    it(`${vector.name}: fails with another path, method, date, version or account`, async () => {
      const changes: (QueueRequest & { readonly authorization?: string })[] = [
        { target: target.replace(/q1|\?/, 'q2') },
        { method: vector.request.method === 'PUT' ? 'DELETE' : 'PUT' },
        { headers: { 'x-ms-date': 'Fri, 01 Mar 2024 12:00:01 GMT' } },
        { version: '2021-10-04' },
        { headers: { 'x-ms-meta-colour': 'red' } },
        { authorization: `${vector.scheme} otheraccount:${vector.signature}` },
      ];
      for (const change of changes) {
        assertQueueError(await sendVector(vector, change), failed);
      }
    });

    it(`${vector.name}: fails as the other scheme`, async () => {
      const scheme = vector.scheme === 'SharedKey' ? 'SharedKeyLite' : 'SharedKey';
      const authorization = `${scheme} ${vector.account}:${vector.signature}`;
      assertQueueError(await sendVector(vector, { authorization }), failed);
    });
  }

  it('a failure tells what the server would have signed', async () => {
    const [vector] = vectors;
    assert.ok(vector);
    const authorization = `SharedKey ${account}:AAAA`;
    const details = assertQueueError(await sendVector(vector, { authorization }), failed);
    const [element, text] = details[0] ?? [];
    assert.equal(element, 'AuthenticationErrorDetail');
    assert.ok(text?.includes(vector.stringToSign), text);
  });

  const tokens = [
    'sv=2018-11-09&st=2024-03-01T12%3A00%3A00Z&se=2024-03-02T12%3A00%3A00Z&sp=raup&sig=IMjnCFoP%2BYBKh0vGrUy2Nnh9QLxE66xG3VGeQ5jR6Ng%3D',
    'sv=2019-12-12&ss=bq&srt=sco&se=2024-03-02T12%3A00%3A00Z&sp=rwdlacup&sig=rfwCwkPEfx0lNaEHbJBUzsNmxnV%2Fh5WFIWiSQWBOO5M%3D',
    'sv=2020-12-06&ss=bq&srt=sco&se=2024-03-02T12%3A00%3A00Z&sp=rwdlacup&sig=7XDLX27j0qi34GbggjcM4xYuEH91ZjM0%2BQTpDDB0ECc%3D',
  ];
  for (const token of tokens) {
    it(`a shared access signature opens what it is for: ${token.slice(0, 20)}…`, async () => {
      const path = (queue: string) => `/${queue}/messages?peekonly=true&${token}`;
      const own = await queues.send({ path: path('q1'), auth: 'none' });
      assertQueueError(own, { status: 400, code: 'OutOfRangeInput' });
      const other = await queues.send({ path: path('work'), auth: 'none' });
      if (token.includes('srt=')) assert.equal(other.status, 200);
      else assertQueueError(other, { status: 403, code: 'AuthenticationFailed' });
      const early = token.replace('03-02', '03-03');
      const refused = await queues.send({ path: path('q1').replace(token, early), auth: 'none' });
      assertQueueError(refused, { status: 403, code: 'AuthenticationFailed' });
    });
  }
});

/** Signs without the kit, for variants that it does not support. */
function signed(text: string, scheme: Scheme = 'SharedKey'): Readonly<Record<string, string>> {
  return { Authorization: `${scheme} ${account}:${signatureOf(developmentKey, text)}` };
}

const listTarget = `/${account}/?comp=list`;
const listResource = `/${account}/${account}/\ncomp:list`;
const noLines = '\n'.repeat(11);
const tail = `x-ms-date:${date}\nx-ms-version:${version}\n${listResource}`;

describe('the lines of a SharedKey signature', () => {
  it('hold Date when there is no x-ms-date', async () => {
    const text = `GET\n\n\n\n\n\n${date}\n\n\n\n\n\nx-ms-version:${version}\n${listResource}`;
    const headers = { Date: date, 'x-ms-date': undefined, ...signed(text) };
    await queues.expect(200, { target: listTarget, headers });
  });

  it('leave Date out when there is x-ms-date', async () => {
    const Date = 'Thu, 29 Feb 2024 12:00:00 GMT';
    const headers = { Date, 'x-ms-date': date, ...signed(`GET${noLines}\n${tail}`) };
    await queues.expect(200, { target: listTarget, headers });
    const withDate = signed(`GET\n\n\n\n\n\n${Date}\n\n\n\n\n\n${tail}`);
    const response = await queues.send({
      target: listTarget,
      headers: { Date, 'x-ms-date': date, ...withDate },
    });
    assertQueueError(response, failed);
  });

  const conditions = [
    ['If-Modified-Since', 7],
    ['If-Match', 8],
    ['If-None-Match', 9],
    ['If-Unmodified-Since', 10],
    ['Range', 11],
    ['Content-Type', 5],
  ] as const;
  for (const [name, line] of conditions) {
    it(`cover ${name}`, async () => {
      const value = name.endsWith('Since') ? date : 'bytes=0-1';
      const text = `GET${'\n'.repeat(line)}${value}${'\n'.repeat(12 - line)}${tail}`;
      const headers = { 'x-ms-date': date, [name]: value, ...signed(text) };
      await queues.expect(200, { target: listTarget, headers });
      const other = { ...headers, [name]: name.endsWith('Since') ? `${date} ` : 'bytes=0-2' };
      if (name.endsWith('Since')) other[name] = 'Thu, 29 Feb 2024 12:00:00 GMT';
      assertQueueError(await queues.send({ target: listTarget, headers: other }), failed);
    });
  }

  it('have Content-Encoding and Content-Language in either order', async () => {
    const both = { 'Content-Encoding': 'identity', 'Content-Language': 'cs' };
    for (const lines of ['identity\ncs', 'cs\nidentity']) {
      const text = `GET\n${lines}${'\n'.repeat(10)}${tail}`;
      const headers = { 'x-ms-date': date, ...both, ...signed(text) };
      await queues.expect(200, { target: listTarget, headers });
    }
    const text = `GET\ncs\ncs${'\n'.repeat(10)}${tail}`;
    const headers = { 'x-ms-date': date, ...both, ...signed(text) };
    assertQueueError(await queues.send({ target: listTarget, headers }), failed);
  });

  it('hold no length of zero from 2015-02-21, and 0 before', async () => {
    const target = `/${account}/zero`;
    const put = (signedVersion: string, length: string) => {
      const lines = `PUT\n\n\n${length}${'\n'.repeat(9)}`;
      const head = `x-ms-date:${date}\nx-ms-version:${signedVersion}\n`;
      const headers = {
        'x-ms-date': date,
        'Content-Length': '0',
        ...signed(`${lines}${head}/${account}${target}`),
      };
      return queues.send({ method: 'PUT', target, version: signedVersion, headers });
    };
    assert.equal((await put('2015-02-21', '')).status, 201);
    assert.equal((await put('2014-02-14', '0')).status, 204);
    assertQueueError(await put('2015-02-21', '0'), failed);
    assertQueueError(await put('2014-02-14', ''), failed);
  });

  it('hold the length of a body in every version', async () => {
    const body = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
    for (const each of ['2014-02-14', '2015-02-21', version]) {
      await queues.expect(201, { method: 'POST', path: '/work/messages', version: each, body });
    }
  });
});

describe('the x-ms- headers of a signature', () => {
  const list = (headers: Record<string, string | undefined>, canonical: string, at = version) =>
    queues.send({
      target: listTarget,
      version: at,
      headers: {
        'x-ms-date': date,
        ...headers,
        ...signed(`GET${noLines}\n${canonical}${listResource}`),
      },
    });
  const standard = (at = version) => `x-ms-date:${date}\nx-ms-version:${at}\n`;

  it('take part with names in lower case and values trimmed', async () => {
    const headers = { 'X-MS-Client-Request-Id': '  Some  Id\t ' };
    const canonical = `x-ms-client-request-id:Some  Id\n${standard()}`;
    assert.equal((await list(headers, canonical)).status, 200);
  });

  it('with an empty value take part from 2016-05-31 and are left out before', async () => {
    const headers = { 'x-ms-client-request-id': '' };
    const empty = 'x-ms-client-request-id:\n';
    assert.equal((await list(headers, `${empty}${standard()}`)).status, 200);
    assertQueueError(await list(headers, standard()), failed);
    const before = '2015-12-11';
    assert.equal((await list(headers, standard(before), before)).status, 200);
    assertQueueError(await list(headers, `${empty}${standard(before)}`, before), failed);
  });

  it('may be in ordinal order and in word-sort order, and in no other', async () => {
    const value = { 'x-ms-meta-a1': 'one', 'x-ms-meta-a_b': 'two', 'x-ms-meta-b': 'three' };
    const one = 'x-ms-meta-a1:one\n';
    const two = 'x-ms-meta-a_b:two\n';
    const three = 'x-ms-meta-b:three\n';
    const around = (inner: string) => `x-ms-date:${date}\n${inner}x-ms-version:${version}\n`;
    assert.equal((await list(value, around(one + two + three))).status, 200);
    assert.equal((await list(value, around(two + one + three))).status, 200);
    assertQueueError(await list(value, around(three + one + two)), failed);
  });

  it('may be sorted with dashes that weigh nothing', async () => {
    const value = { 'x-ms-a-c': '1', 'x-ms-ab': '2' };
    for (const inner of ['x-ms-a-c:1\nx-ms-ab:2\n', 'x-ms-ab:2\nx-ms-a-c:1\n']) {
      assert.equal((await list(value, `${inner}${standard()}`)).status, 200, inner);
    }
  });

  it('of no other prefix take part', async () => {
    assert.equal((await list({ 'x-msmeta': 'x', 'x-other': 'y' }, standard())).status, 200);
  });

  it('that come twice are refused with 400', async () => {
    const twice = { 'x-ms-meta-a': ['1', '2'] };
    for (const auth of ['SharedKey', 'SharedKeyLite'] as const) {
      const response = await queues.send({ method: 'PUT', path: '/twice', headers: twice, auth });
      assert.equal(response.status, 400, response.text);
    }
    assertQueueError(await queues.send({ path: '/twice?comp=metadata' }), {
      status: 404,
      code: 'QueueNotFound',
    });
  });
});

describe('the resource of a signature', () => {
  const get = (target: string, resource: string, scheme: Scheme = 'SharedKey') => {
    const head = `x-ms-date:${date}\nx-ms-version:${version}\n`;
    const lines = scheme === 'SharedKey' ? `GET${noLines}\n` : 'GET\n\n\n\n';
    const headers = { 'x-ms-date': date, ...signed(`${lines}${head}${resource}`, scheme) };
    return queues.send({ target, headers });
  };

  it('has the path as it was sent', async () => {
    const encoded = `/${account}/%77ork`;
    const target = `${encoded}?comp=metadata`;
    assert.equal((await get(target, `/${account}${encoded}\ncomp:metadata`)).status, 200);
    assertQueueError(await get(target, `/${account}/${account}/work\ncomp:metadata`), failed);
  });

  it('has no slash that was not sent', async () => {
    const without = await get(`/${account}?comp=list`, `/${account}/${account}\ncomp:list`);
    assert.equal(without.status, 200, without.text);
    assertQueueError(await get(`/${account}?comp=list`, listResource), failed);
  });

  it('has names in lower case and sorted, values decoded', async () => {
    const target = `/${account}/?PREFIX=%c3%a9%2F&Comp=list&maxResults=5`;
    const resource = `/${account}/${account}/\ncomp:list\nmaxresults:5\nprefix:é/`;
    assert.equal((await get(target, resource)).status, 200);
  });

  it('has the values of a repeated name sorted and joined with commas', async () => {
    const target = `/${account}/?comp=list&x=b&X=a&x=c`;
    const resource = `/${account}/${account}/\ncomp:list\nx:a,b,c`;
    assert.equal((await get(target, resource)).status, 200);
    assertQueueError(await get(target, resource.replace('a,b,c', 'b,a,c')), failed);
  });

  it('has a plus as itself or as a blank', async () => {
    for (const value of ['a+b', 'a b']) {
      const target = `/${account}/?comp=list&prefix=a+b`;
      const resource = `/${account}/${account}/\ncomp:list\nprefix:${value}`;
      assert.equal((await get(target, resource)).status, 200, value);
    }
  });

  it('has a receipt decoded', async () => {
    const target = `/${account}/?comp=list&popreceipt=a%2Bb%2Fc%3D%3D`;
    const resource = `/${account}/${account}/\ncomp:list\npopreceipt:a+b/c==`;
    assert.equal((await get(target, resource)).status, 200);
  });

  it('counts every parameter, timeout too', async () => {
    assertQueueError(await get(`${listTarget}&timeout=30`, listResource), failed);
    const resource = `${listResource}\ntimeout:30`;
    assert.equal((await get(`${listTarget}&timeout=30`, resource)).status, 200);
  });

  it('in a SharedKeyLite signature has comp and nothing else of the query', async () => {
    const resource = `/${account}/${account}/?comp=list`;
    const target = `${listTarget}&timeout=30&prefix=q`;
    assert.equal((await get(target, resource, 'SharedKeyLite')).status, 200);
    assertQueueError(await get(target, `${resource}&timeout=30`, 'SharedKeyLite'), failed);
    const messageTarget = `/${account}/work/messages?peekonly=true`;
    const plain = `/${account}/${account}/work/messages`;
    assert.equal((await get(messageTarget, plain, 'SharedKeyLite')).status, 200);
  });

  it('on the secondary endpoint may have the suffix or not', async () => {
    const target = `/${account}-secondary/?comp=list`;
    for (const resource of [
      `/${account}/${account}-secondary/\ncomp:list`,
      `/${account}/${account}/\ncomp:list`,
    ]) {
      assert.equal((await get(target, resource)).status, 200, resource);
    }
  });
});

describe('SharedKeyLite', () => {
  it('signs every operation', async () => {
    const auth = 'SharedKeyLite';
    await queues.expect(201, { method: 'PUT', path: '/lite', auth });
    const body = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
    await queues.expect(201, { method: 'POST', path: '/lite/messages', auth, body });
    await queues.expect(200, { path: '/lite/messages?numofmessages=2', auth });
    await queues.expect(200, { path: '/lite?comp=metadata', auth });
    await queues.expect(200, { path: '/?restype=service&comp=properties', auth });
    await queues.expect(204, { method: 'DELETE', path: '/lite/messages', auth });
    await queues.expect(204, { method: 'DELETE', path: '/lite', auth });
  });

  it('covers Content-MD5 and Content-Type', async () => {
    const body = '<QueueMessage><MessageText>x</MessageText></QueueMessage>';
    const resource = `/${account}/${account}/work/messages`;
    const text = `POST\n\ntext/xml\n\nx-ms-date:${date}\nx-ms-version:${version}\n${resource}`;
    const send = (type: string) =>
      queues.send({
        method: 'POST',
        path: '/work/messages',
        body,
        headers: { 'x-ms-date': date, 'Content-Type': type, ...signed(text, 'SharedKeyLite') },
      });
    assert.equal((await send('text/xml')).status, 201);
    assertQueueError(await send('application/xml'), failed);
  });
});

describe('credentials', () => {
  it('of either key of an account are accepted', async () => {
    for (const key of [developmentKey, 'c2Vjb25k']) {
      const head = `x-ms-date:${date}\nx-ms-version:${version}\n`;
      const signature = signatureOf(key, `GET${noLines}\n${head}${listResource}`);
      const headers = { 'x-ms-date': date, Authorization: `SharedKey ${account}:${signature}` };
      await queues.expect(200, { target: listTarget, headers });
    }
  });

  it('that are more than 15 minutes off are 403', async () => {
    for (const minutes of [-16, 16]) {
      wait(minutes * 60);
      assertQueueError(await queues.send({ headers: { 'x-ms-date': date } }), failed);
      wait(-minutes * 60);
    }
    for (const minutes of [-14, 14]) {
      wait(minutes * 60);
      await queues.expect(200, { headers: { 'x-ms-date': date } });
      wait(-minutes * 60);
    }
    assertQueueError(await queues.send({ headers: { 'x-ms-date': 'yesterday' } }), failed);
    assertQueueError(await queues.send({ headers: { 'x-ms-date': undefined } }), failed);
  });

  it('are over parameters that nobody can divide in another way', async () => {
    const queue = await queues.newQueue('divided');
    await queues.put(queue, 'only seen');
    const headers = { 'x-ms-date': date, 'x-ms-version': version };
    const signedFor = (query: string): string => {
      const target = `/${account}/${queue}/messages?${query}`;
      const signable = { method: 'GET', target, headers, account, key: developmentKey };
      const text = queueStringToSign({ ...signable, scheme: 'SharedKey' });
      return `SharedKey ${account}:${signatureOf(developmentKey, text)}`;
    };
    const Authorization = signedFor('numofmessages=1&peekonly=true');
    const send = (query: string) =>
      queues.send({ path: `/${queue}/messages?${query}`, headers: { ...headers, Authorization } });
    assert.equal((await send('numofmessages=1&peekonly=true')).status, 200);
    for (const query of ['numofmessages:1%0Apeekonly=true', 'numofmessages=1%0Apeekonly:true']) {
      assertQueueError(await send(query), failed);
    }
    assert.deepEqual(await queues.texts(queue), ['only seen'], 'nobody has taken it');
  });

  for (const value of ['Basic abc', 'SharedKey', 'SharedKey nocolon', 'nonsense', ':']) {
    it(`'${value}' are 400`, async () => {
      const response = await queues.send({ headers: { Authorization: value } });
      assertQueueError(response, { status: 400, code: 'InvalidAuthenticationInfo' });
    });
  }

  it('that are not there are 401 with a challenge from 2019-12-12', async () => {
    for (const each of ['2019-12-12', version]) {
      const response = await queues.send({ auth: 'none', version: each });
      assertQueueError(response, { status: 401, code: 'NoAuthenticationInformation' });
      assert.match(
        response.header('www-authenticate') ?? '',
        /^Bearer authorization_uri=https:\/\/login\.microsoftonline\.com\/[^ ]+\/oauth2\/authorize resource_id=https:\/\/storage\.azure\.com$/,
      );
    }
  });

  it('that are not there are 403 before 2019-12-12 (choice of this server)', async () => {
    const response = await queues.send({ auth: 'none', version: '2019-10-10' });
    assertQueueError(response, { status: 403, code: 'AuthenticationFailed' });
    assert.equal(response.header('www-authenticate'), undefined);
  });
});
