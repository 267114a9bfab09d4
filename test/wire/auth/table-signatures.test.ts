import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServer } from '../../../src/app/index.js';
import { WireClient } from '../kit/client.js';
import { assertFrontDoorError, refusals } from '../kit/errors.js';
import type { WireResponse } from '../kit/response.js';
import { developmentAccount, signatureOf } from '../kit/signature.js';
import { startFixture } from '../kit/server.js';
import type { WireRequest } from '../kit/signing-client.js';

// table-service §14 no. 1, §8 and §8.2: every signature vector over HTTP, and again with one byte
// changed.

const { client } = await startFixture({ checkClockSkew: false });
await client.createTable('people');

const date = 'Fri, 21 Nov 2025 10:00:00 GMT';
const failed = refusals.authenticationFailed;

interface Vector {
  readonly name: string;
  readonly scheme: 'SharedKey' | 'SharedKeyLite';
  readonly signature: string;
  readonly request: WireRequest;
  /** The status of an authenticated request; the vectors are only about the signature. */
  readonly status: number;
}

const vectors: readonly Vector[] = [
  {
    name: 'SharedKeyLite GET /devstoreaccount1/Tables',
    scheme: 'SharedKeyLite',
    signature: '5pJSER/kaEs+I4p7xy5EJLIRUJpSFcG/9aE34wkWkpc=',
    request: { target: '/devstoreaccount1/Tables' },
    status: 200,
  },
  {
    name: 'SharedKey GET /devstoreaccount1/Tables',
    scheme: 'SharedKey',
    signature: '9DUvnDvFI0/nenHJv/0dASMaR4m42Jzx+gxWPmYDqlQ=',
    request: { target: '/devstoreaccount1/Tables' },
    status: 200,
  },
  {
    name: 'SharedKey POST with Content-Type',
    scheme: 'SharedKey',
    signature: 'I03ZctKIUFz7wAR5w96kNAD9QEBazDKe85FpifUAfIg=',
    request: {
      method: 'POST',
      target: '/devstoreaccount1/Tables',
      headers: { 'Content-Type': 'application/json' },
      body: '{"TableName":"people"}',
    },
    status: 409,
  },
  {
    name: 'SharedKeyLite GET of an entity with a slash and a quote',
    scheme: 'SharedKeyLite',
    signature: 'KnVW84UznMgadji5nPKvTY/14GcDvm7OWi6Ps3pgRxk=',
    request: { target: "/devstoreaccount1/people(PartitionKey='a%2Fb',RowKey='O''Neil')" },
    status: 400,
  },
  {
    name: 'SharedKeyLite service properties',
    scheme: 'SharedKeyLite',
    signature: 'qhKljSeMYbUPYvVyGIfsNFeL3kS+V52mTx1QTztMed8=',
    request: { target: '/devstoreaccount1/?restype=service&comp=properties' },
    status: 200,
  },
  {
    name: 'SharedKeyLite table ACL',
    scheme: 'SharedKeyLite',
    signature: 'qTM2RSZ9JrcWRwKTueAnc9w18ArLtW/k2Xa/d/cQUNM=',
    request: { target: '/devstoreaccount1/people?comp=acl' },
    status: 200,
  },
  {
    name: 'SharedKeyLite host style',
    scheme: 'SharedKeyLite',
    signature: 'VnvXqWHZKuM6/dymuTk7ZA6Zk5JilV/BedeYgMrZi7s=',
    request: {
      target: '/people()',
      headers: { Host: 'devstoreaccount1.table.core.windows.net' },
    },
    status: 200,
  },
];

function send(vector: Vector, change: Partial<WireRequest> & { authorization?: string } = {}) {
  const { authorization, ...request } = change;
  return client.send({
    ...vector.request,
    ...request,
    headers: {
      'x-ms-date': date,
      ...vector.request.headers,
      Authorization: authorization ?? authorizationWith(vector.signature, vector),
      ...request.headers,
    },
  });
}

function authorizationWith(signature: string, vector: Vector, account = developmentAccount) {
  return `${vector.scheme} ${account}:${signature}`;
}

function changed(text: string, at: number): string {
  const replacement = text[at] === 'A' ? 'B' : 'A';
  return text.slice(0, at) + replacement + text.slice(at + 1);
}

for (const vector of vectors) {
  describe(vector.name, () => {
    it('is accepted', async () => {
      const response = await send(vector);
      assert.equal(response.status, vector.status, response.text);
    });

    it('fails with any character of the signature changed', async () => {
      for (let at = 0; at < vector.signature.length - 1; at += 1) {
        const signature = changed(vector.signature, at);
        const authorization = authorizationWith(signature, vector);
        assertFrontDoorError(await send(vector, { authorization }), failed);
      }
    });

    it('fails with the path changed', async () => {
      const target = vector.request.target ?? '';
      const path = target.split('?')[0] ?? '';
      const other = target.replace(path, `${path}x`);
      assertFrontDoorError(await send(vector, { target: other }), failed);
    });

    const encoded = encodeFirst(vector.request.target ?? '');
    if (encoded !== vector.request.target) {
      it('fails with the same path in other bytes', async () => {
        assertFrontDoorError(await send(vector, { target: encoded }), failed);
      });
    }

    it('fails with another date', async () => {
      const headers = { 'x-ms-date': 'Fri, 21 Nov 2025 10:00:01 GMT' };
      assertFrontDoorError(await send(vector, { headers }), failed);
    });

    it('fails with the other scheme', async () => {
      const scheme = vector.scheme === 'SharedKey' ? 'SharedKeyLite' : 'SharedKey';
      const authorization = authorizationWith(vector.signature, { ...vector, scheme });
      assertFrontDoorError(await send(vector, { authorization }), failed);
    });

    it('fails with another account in the header', async () => {
      const authorization = authorizationWith(vector.signature, vector, 'otheraccount');
      assertFrontDoorError(await send(vector, { authorization }), failed);
    });

    if (vector.scheme === 'SharedKey') {
      it('fails with another method, Content-Type or Content-MD5', async () => {
        const method = vector.request.method === 'POST' ? 'GET' : 'DELETE';
        assertFrontDoorError(await send(vector, { method }), failed);
        const type = { 'Content-Type': 'application/json;odata=nometadata' };
        assertFrontDoorError(await send(vector, { headers: type }), failed);
        const md5 = { 'Content-MD5': 'AAAA' };
        assertFrontDoorError(await send(vector, { headers: md5 }), failed);
      });
    } else {
      it('does not cover Content-Type or Content-MD5', async () => {
        const headers = { 'Content-Type': 'text/plain', 'Content-MD5': 'AAAA' };
        assert.equal((await send(vector, { headers })).status, vector.status);
      });
    }
  });
}

/** Percent-encodes the first letter after the account: another spelling of the same resource. */
function encodeFirst(target: string): string {
  const encode = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`;
  return target.replace(/(?<=^(?:\/devstoreaccount1)?\/)[A-Za-z](?!evstore)/, encode);
}

describe('the signed text', () => {
  const signedBy = (text: string, scheme = 'SharedKeyLite') => ({
    Authorization: `${scheme} ${client.account}:${signatureOf(client.key, text)}`,
  });
  const path = `/${client.account}/Tables`;
  const resource = `/${client.account}${path}`;

  it('Date serves when x-ms-date is absent', async () => {
    const headers = { Date: date, 'x-ms-date': undefined, ...signedBy(`${date}\n${resource}`) };
    assert.equal((await client.send({ target: path, headers })).status, 200);
  });

  it('either date serves when both are there', async () => {
    const other = 'Fri, 21 Nov 2025 09:59:00 GMT';
    for (const signed of [date, other]) {
      const headers = { Date: other, 'x-ms-date': date, ...signedBy(`${signed}\n${resource}`) };
      assert.equal((await client.send({ target: path, headers })).status, 200, signed);
    }
  });

  it('no date at all is 403', async () => {
    const headers = { 'x-ms-date': undefined, ...signedBy(`\n${resource}`) };
    assertFrontDoorError(await client.send({ target: path, headers }), failed);
  });

  it('of the query only comp', async () => {
    const headers = { 'x-ms-date': date, ...signedBy(`${date}\n${resource}`) };
    const target = `${path}?$top=1&timeout=20`;
    assert.equal((await client.send({ target, headers })).status, 200);
  });

  it('path style names the account twice; once is not enough', async () => {
    const headers = { 'x-ms-date': date, ...signedBy(`${date}\n${path}`) };
    assertFrontDoorError(await client.send({ target: path, headers }), failed);
  });

  it('a tunnelled POST is signed as POST', async () => {
    const target = `/${client.account}/people(PartitionKey='p',RowKey='r')`;
    const text = `POST\n\napplication/json\n${date}\n/${client.account}${target}`;
    const response = await client.send({
      method: 'POST',
      target,
      body: '{}',
      headers: { 'x-ms-date': date, 'X-HTTP-Method': 'MERGE', ...signedBy(text, 'SharedKey') },
    });
    assert.equal(response.status, 204, response.text);
  });

  for (const scheme of ['SharedKey', 'SharedKeyLite'] as const) {
    it(`${scheme} works with %27, %2F and raw quotes alike`, async () => {
      for (const key of ["'O''Neil'", '%27O%27%27Neil%27', "'%2520'", "'%E6%97%A5'"]) {
        const target = `/${client.account}/people(PartitionKey=${key},RowKey=${key})`;
        const response = await client.send({ target, auth: scheme });
        assert.equal(response.status, 404, response.text);
        assert.equal(response.header('x-ms-error-code'), 'ResourceNotFound');
      }
    });
  }
});

describe('credentials that are missing or malformed', () => {
  const challenge = {
    status: 401,
    code: 'InvalidAuthenticationInfo',
    message:
      'Server failed to authenticate the request. Please refer to the information in the www-authenticate header.',
  } as const;

  it('none, from version 2019-12-12 on: 401 with a challenge', async () => {
    const headers = { 'x-ms-version': '2020-12-06' };
    const response = await client.send({ path: '/Tables', auth: 'none', headers });
    assertFrontDoorError(response, challenge);
    assert.match(
      response.header('www-authenticate') ?? '',
      /^Bearer authorization_uri=https:\/\/login\.microsoftonline\.com\/[^ ]+\/oauth2\/authorize resource_id=https:\/\/storage\.azure\.com$/,
    );
  });

  it('none, before 2019-12-12: 403 (choice of this server)', async () => {
    const headers = { 'x-ms-version': '2019-02-02' };
    const response = await client.send({ path: '/Tables', auth: 'none', headers });
    assertFrontDoorError(response, failed);
    assert.equal(response.header('www-authenticate'), undefined);
  });

  for (const value of [
    'Basic abc',
    'SharedKey',
    'SharedKeyLite devstoreaccount1',
    'nonsense',
    ':',
  ]) {
    it(`'${value}': 400 InvalidAuthenticationInfo`, async () => {
      const response = await client.send({ path: '/Tables', headers: { Authorization: value } });
      assertFrontDoorError(response, {
        status: 400,
        code: 'InvalidAuthenticationInfo',
        message:
          'Authentication information is not given in the correct format. Check the value of Authorization header.',
      });
    });
  }

  it('without any x-ms-version a SharedKey request is served', async () => {
    const headers = { 'x-ms-version': undefined };
    assert.equal((await client.send({ path: '/Tables', headers })).status, 200);
  });
});

describe('clock skew', () => {
  it('more than 15 minutes either way is 403, less is fine', async () => {
    await using server = await createServer({ inMemory: true });
    const strict = WireClient.of(server);
    const at = (minutes: number): Promise<WireResponse> =>
      strict.send({
        path: '/Tables',
        headers: { 'x-ms-date': new Date(Date.now() + minutes * 60_000).toUTCString() },
      });
    for (const minutes of [-16, 16, -60, 60, -525_600]) {
      assertFrontDoorError(await at(minutes), failed);
    }
    for (const minutes of [-14, 14, 0]) assert.equal((await at(minutes)).status, 200);
    const headers = { 'x-ms-date': 'yesterday' };
    assertFrontDoorError(await strict.send({ path: '/Tables', headers }), failed);
    strict.close();
  });
});

describe('x-ms-version', () => {
  for (const version of ['2009-04-14', '2027-01-01', '2099-12-31']) {
    it(`${version} is accepted and echoed`, async () => {
      const headers = { 'x-ms-version': version };
      const response = await client.send({ path: '/Tables', headers });
      assert.equal(response.status, 200, response.text);
      assert.equal(response.header('x-ms-version'), version);
    });
  }
  for (const version of [
    '2009-04-13',
    '2025-13-01',
    '2025-02-30',
    '2025',
    'latest',
    '2025-1-1',
    '',
  ]) {
    it(`'${version}' is 400 InvalidHeaderValue`, async () => {
      const headers = { 'x-ms-version': version };
      const response = await client.send({ path: '/Tables', headers });
      assertFrontDoorError(response, { status: 400, code: 'InvalidHeaderValue' });
    });
  }
});

describe('accounts with two keys', () => {
  it('both sign, and neither opens another account', async () => {
    const keys = ['b25l', 'dHdv'];
    const accounts = [
      { name: 'first', keys },
      { name: 'second', key: 'dGhyZWU=' },
    ];
    await using server = await createServer({ inMemory: true, accounts });
    for (const key of keys) {
      const own = new WireClient(server.tablePort, 'first', key);
      assert.equal((await own.send({ path: '/Tables' })).status, 200);
      own.close();
      const foreign = new WireClient(server.tablePort, 'second', key);
      assertFrontDoorError(await foreign.send({ path: '/Tables' }), failed);
      foreign.close();
    }
  });

  it('keeps the tables of accounts apart', async () => {
    const accounts = [
      { name: 'first', key: 'b25l' },
      { name: 'second', key: 'dHdv' },
    ];
    await using server = await createServer({ inMemory: true, accounts });
    const first = new WireClient(server.tablePort, 'first', 'b25l');
    const second = new WireClient(server.tablePort, 'second', 'dHdv');
    const table = await first.newTable('shared');
    await first.put(table, { PartitionKey: 'p', RowKey: 'r' });
    assert.equal((await second.query(table)).status, 404);
    assert.deepEqual((await second.send({ path: '/Tables' })).items, []);
    first.close();
    second.close();
  });
});
