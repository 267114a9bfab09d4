import assert from 'node:assert/strict';
import { get } from 'node:https';
import { after, describe, it } from 'node:test';
import { TableServiceClient } from '@azure/data-tables';
import { manualClock } from '../../../src/app/index.js';
import { startServer } from '../../support/start-server.js';
import { acceptFull, acceptMinimal, entityPath, WireClient } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError } from '../kit/errors.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';
import {
  accountSas,
  lasting,
  queueSas,
  sasQuery,
  tableSas,
  withSas,
  type SasParameters,
} from '../kit/sas.js';
import { startFixture } from '../kit/server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';

// What makes a token valid or invalid before the operation matters, and the resulting error.

const secondKey = Buffer.from('the second key').toString('base64');
const otherKey = Buffer.from('the key of another account').toString('base64');
const accounts = [
  { name: developmentAccount, keys: [developmentKey, secondKey] },
  { name: 'otheraccount', keys: [otherKey] },
];
const noon = Date.UTC(2025, 10, 22, 12) * 1000;
const clock = manualClock(noon);
const { server, client } = await startFixture({ accounts, clock, checkClockSkew: false });
const queues = QueueWireClient.of(server);
const other = new WireClient(server.tablePort, 'otheraccount', otherKey);
after(() => [queues, other].forEach((each) => each.close()));
const table = await client.newTable('People');
await client.put(table, { PartitionKey: 'p', RowKey: 'r', text: 'kept' });
await other.createTable(table);
const queue = await queues.newQueue('people');
await queues.put(queue, 'kept');

const failed = { status: 403, code: 'AuthenticationFailed' } as const;
const entity = entityPath(table, 'p', 'r');
const peek = `/${queue}/messages?peekonly=true`;

function ask(token: SasParameters, path = entity, more: object = {}): Promise<WireResponse> {
  return client.send({ path: withSas(path, token), auth: 'none', ...more });
}

async function assertGood(token: SasParameters, path = entity): Promise<void> {
  const response = await ask(token, path);
  assert.equal(response.status, 200, response.text);
}

async function assertBad(token: SasParameters, path = entity): Promise<void> {
  assertFrontDoorError(await ask(token, path), failed);
}

async function peeked(token: SasParameters, path = peek): Promise<[number, string | undefined]> {
  const { status, ...response } = await queues
    .send({ path: withSas(path, token), auth: 'none' })
    .then((answer) => ({ status: answer.status, code: answer.header('x-ms-error-code') }));
  return [status, response.code];
}

const full = {
  tn: table,
  sp: 'raud',
  st: '2025-11-22T11:00:00Z',
  se: '2025-11-22T13:00:00Z',
  sip: '127.0.0.1-127.0.0.9',
  spr: 'https,http',
  spk: 'p',
  srk: 'a',
  epk: 'q',
  erk: 'z',
};

describe('every field of a token', () => {
  const changes: Readonly<Record<string, readonly (string | undefined)[]>> = {
    sv: ['2021-12-03', '2014-02-14', '2019-02-02', undefined, ''],
    tn: ['Other', undefined, `${table}x`],
    sp: ['r', 'raudx', 'duar', undefined],
    st: ['2025-11-22T10:00:00Z', '2025-11-22T11:00Z', undefined],
    se: ['2025-11-22T14:00:00Z', '2099-01-01', undefined],
    sip: ['127.0.0.1', '0.0.0.0-255.255.255.255', undefined],
    spr: ['https', undefined],
    spk: ['a', '', undefined],
    srk: ['', '0', undefined],
    epk: ['z', '', undefined],
    erk: ['zz', '', undefined],
    si: ['policy'],
    sig: ['', 'AAAA', undefined],
  };
  const token = tableSas(full);

  for (const [name, values] of Object.entries(changes)) {
    for (const value of values) {
      it(`is signed: ${name} as ${value ?? 'absent'} opens nothing`, async () => {
        await assertGood(token);
        const response = await ask({ ...token, [name]: value });
        assert.ok([401, 403].includes(response.status), response.text);
        assert.ok(!response.text.includes('kept'));
      });
    }
  }

  it('is signed: any character of the signature counts', async () => {
    const sig = token['sig'] ?? '';
    for (let at = 0; at < sig.length - 2; at += 1) {
      const replacement = sig[at] === 'A' ? 'B' : 'A';
      await assertBad({ ...token, sig: sig.slice(0, at) + replacement + sig.slice(at + 1) });
    }
  });

  it('may come once', async () => {
    for (const name of Object.keys(token)) {
      for (const value of [token[name] ?? '', 'x']) {
        const twice = `${entity}?${sasQuery(token)}&${name}=${encodeURIComponent(value)}`;
        assertFrontDoorError(await client.send({ path: twice, auth: 'none' }), failed);
      }
    }
    const spelled = `${entity}?${sasQuery(token)}&%73e=2099-01-01`;
    assertFrontDoorError(await client.send({ path: spelled, auth: 'none' }), failed);
  });

  it('cannot be made of another by moving line breaks', async () => {
    const narrow = tableSas({ tn: table, sp: 'r', spk: 'x', epk: 'x' });
    await assertBad({ ...narrow, spk: 'x\n\nx', epk: undefined });
    const old = tableSas({ tn: table, sp: 'r', sv: '2015-02-21', spk: 'x', srk: '', epk: 'x' });
    await assertBad({ ...old, sv: '2015-04-05' });
  });

  it('of an account token and of a queue token is signed as well', async () => {
    const ofAccount = accountSas({ ss: 'tq', srt: 'o', sp: 'r', se: '2025-11-22T13:00:00Z' });
    await assertGood(ofAccount);
    for (const [name, value] of Object.entries({
      ss: 't',
      srt: 'sco',
      sp: 'rwd',
      se: '2099-01-01',
    })) {
      await assertBad({ ...ofAccount, [name]: value });
      assert.deepEqual(await peeked({ ...ofAccount, [name]: value }), [403, failed.code]);
    }
    const ofQueue = queueSas(queue, { sp: 'r', se: '2025-11-22T13:00:00Z' });
    assert.deepEqual(await peeked(ofQueue), [200, undefined]);
    for (const [name, value] of Object.entries({ sp: 'rp', se: '2099-01-01', sv: '2019-02-02' })) {
      assert.deepEqual(await peeked({ ...ofQueue, [name]: value }), [403, failed.code]);
    }
  });
});

describe('the layout of each version', () => {
  for (const sv of ['2012-02-12', '2013-08-15', '2014-02-14', '2015-02-21']) {
    it(`${sv} has no lines for address and protocol`, async () => {
      await assertGood(tableSas({ tn: table, sp: 'r', sv, spk: 'p', epk: 'p' }));
      assert.deepEqual(await peeked(queueSas(queue, { sp: 'r', sv })), [200, undefined]);
      await assertBad(tableSas({ tn: table, sp: 'r', sv, spr: 'https' }));
      await assertBad(tableSas({ tn: table, sp: 'r', sv, sip: '127.0.0.1' }));
    });
  }
  for (const sv of ['2015-04-05', '2018-11-09', '2020-10-02', '2020-12-06', '2026-06-06']) {
    it(`${sv} has them, and accounts have tokens`, async () => {
      const terms = { sv, sp: 'r', sip: '127.0.0.1', spr: 'https,http' };
      await assertGood(tableSas({ tn: table, ...terms }));
      assert.deepEqual(await peeked(queueSas(queue, terms)), [200, undefined]);
      await assertGood(accountSas({ ss: 'qt', srt: 'o', ...terms }));
    });
  }

  it('the vectors of the protocol are good in their time', async () => {
    const vectors: readonly SasParameters[] = [
      {
        sv: '2019-02-02',
        st: '2025-11-21T00:00:00Z',
        se: '2025-11-28T00:00:00Z',
        sp: 'raud',
        sig: '8ipbrnPo4Aik21pHUPlU5P09h8sNsjzw9RTRkASon8g=',
        tn: 'People',
        srk: '1',
        spk: 'a',
        epk: 'b',
        erk: '9',
      },
      {
        sv: '2020-12-06',
        ss: 't',
        srt: 'sco',
        sp: 'rwdlacu',
        st: '2025-11-21T00:00:00Z',
        se: '2025-11-28T00:00:00Z',
        spr: 'https,http',
        sig: 'VlE+93Hp5bmQXpdV6zSn+Kv2sM7W/OHTriWJGFKDY3Q=',
      },
    ];
    for (const vector of vectors) {
      const missing = await ask(vector, '/people()');
      assertJsonError(missing, { status: 404, code: 'TableNotFound' });
    }
  });

  it('an account token begins with 2015-04-05', async () => {
    await assertBad(accountSas({ sv: '2015-02-21', ss: 't', srt: 'sco', sp: 'r' }));
  });
});

describe('the time of a token', () => {
  const at = (time: string) =>
    tableSas({ tn: table, sp: 'r', ...lasting, st: time, se: undefined });

  it('begins with its start and ends before its expiry, to the microsecond', async () => {
    const window = { tn: table, sp: 'r', st: '2025-11-22T12:00:00Z', se: '2025-11-22T12:01:00Z' };
    const token = tableSas(window);
    await assertGood(token);
    clock.advanceMicros(59_999_999);
    await assertGood(token);
    clock.advanceMicros(1);
    await assertBad(token);
    await assertBad(tableSas({ ...window, st: '2025-11-22T12:01:01Z', se: '2025-11-23' }));
    await assertGood(tableSas({ ...window, se: '2025-11-23' }));
    clock.advanceMicros(-60_000_000);
  });

  it('is not open at its end', async () => {
    await assertBad(at('2020-01-01'));
    await assertBad(tableSas({ tn: table, sp: 'r', se: 'soon' }));
    await assertBad(tableSas({ tn: table, sp: 'r', se: '' }));
    await assertBad(accountSas({ ss: 't', srt: 'o', sp: 'r', se: undefined }));
    assert.deepEqual(await peeked(queueSas(queue, { sp: 'r', se: undefined })), [403, failed.code]);
  });

  it('may be written as a date or to the minute', async () => {
    for (const se of ['2025-11-23', '2025-11-22T12:30Z', '2025-11-22T12:30:00.1234567Z']) {
      await assertGood(tableSas({ tn: table, sp: 'r', se }));
    }
  });
});

describe('address and protocol', () => {
  const mismatch = (code: string) => ({ status: 403, code: `Authorization${code}Mismatch` });

  it('are those of the connection, whatever headers say', async () => {
    for (const sip of ['127.0.0.1', '126.0.0.0-128.0.0.0']) {
      await assertGood(tableSas({ tn: table, sp: 'r', sip }));
    }
    for (const sip of ['10.0.0.1', '127.0.0.2-127.0.0.255']) {
      const token = tableSas({ tn: table, sp: 'r', sip });
      const headers = { 'X-Forwarded-For': '10.0.0.1', Forwarded: 'for=10.0.0.1' };
      assertJsonError(await ask(token, entity, { headers }), mismatch('SourceIP'));
      const ofQueue = await peeked(queueSas(queue, { sp: 'r', sip }));
      assert.deepEqual(ofQueue, [403, 'AuthorizationSourceIPMismatch']);
    }
    const token = tableSas({ tn: table, sp: 'r', spr: 'https' });
    const headers = { 'X-Forwarded-Proto': 'https' };
    assertJsonError(await ask(token, entity, { headers }), mismatch('Protocol'));
  });

  it('may be https alone, which holds over TLS', async () => {
    await using secure = await startServer({ tls: 'self-signed' });
    const { tableEndpoint, certificate: ca = '' } = secure.server;
    const token = tableSas({ tn: 'Secured', sp: 'r', spr: 'https' });
    const path = withSas(`${tableEndpoint}/Secured()`, token);
    const client = new TableServiceClient(
      `${tableEndpoint}?${sasQuery(accountSas({ ss: 't', srt: 'c', sp: 'c', spr: 'https' }))}`,
      { tlsOptions: { ca } },
    );
    await client.createTable('Secured');
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { Accept: acceptMinimal };
      get(path, { ca, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).on('error', reject);
    });
    assert.equal(status, 200);
  });

  it('that cannot be read open nothing', async () => {
    for (const sip of ['localhost', '127.0.0.1/8', '::1', '127.0.0.9-127.0.0.1', '127.1']) {
      await assertBad(tableSas({ tn: table, sp: 'r', sip }));
    }
    for (const spr of ['http', 'HTTPS', 'ftp']) {
      await assertBad(tableSas({ tn: table, sp: 'r', spr }));
    }
  });

  it('come after the time and before the permission', async () => {
    const early = { tn: table, st: '2025-11-23', spr: 'https', sip: '10.0.0.1', sp: 'a' };
    await assertBad(tableSas(early));
    assertJsonError(await ask(tableSas({ ...early, st: '' })), mismatch('Protocol'));
    const wrongAddress = tableSas({ ...early, st: '', spr: '' });
    assertJsonError(await ask(wrongAddress), mismatch('SourceIP'));
    const wrongLetter = tableSas({ ...early, st: '', spr: '', sip: '' });
    assertJsonError(await ask(wrongLetter), mismatch('Permission'));
  });
});

describe('the signer of a token', () => {
  it('is the holder of either key of the account', async () => {
    const owner = { account: developmentAccount, key: secondKey };
    await assertGood(tableSas({ tn: table, sp: 'r' }, owner));
    await assertGood(accountSas({ ss: 't', srt: 'o', sp: 'r' }, owner));
    assert.deepEqual(await peeked(queueSas(queue, { sp: 'r' }, owner)), [200, undefined]);
  });

  it('is not the holder of the key of another account', async () => {
    for (const owner of [
      { account: developmentAccount, key: otherKey },
      { account: 'otheraccount', key: otherKey },
      { account: 'otheraccount', key: developmentKey },
    ]) {
      await assertBad(tableSas({ tn: table, sp: 'r' }, owner));
      await assertBad(accountSas({ ss: 't', srt: 'o', sp: 'r' }, owner));
    }
    const own = await other.send({
      path: withSas(`/${table}()`, tableSas({ tn: table, sp: 'r' })),
      auth: 'none',
    });
    assertFrontDoorError(own, failed);
  });

  it('is decided by the Authorization header when there is one', async () => {
    const good = tableSas({ tn: table, sp: 'r' });
    const path = withSas(entity, { ...good, sig: 'AAAA' });
    assert.equal((await client.send({ path })).status, 200);
    const Authorization = `SharedKeyLite ${developmentAccount}:AAAA`;
    assertFrontDoorError(await ask(good, entity, { headers: { Authorization } }), failed);
  });

  it('signs for one service: a token of a table opens no queue', async () => {
    assert.deepEqual(await peeked(tableSas({ tn: queue, sp: 'raud' })), [403, failed.code]);
    await assertBad({ ...queueSas(table, { sp: 'raup' }), tn: table });
    await assertBad(queueSas(table, { sp: 'raup' }));
  });
});

describe('the version that a request is executed with', () => {
  const bare = { headers: { 'x-ms-version': undefined } };

  it('is x-ms-version, else api-version, else that of the signature', async () => {
    const token = tableSas({ tn: table, sp: 'r', sv: '2018-11-09' });
    assert.equal((await ask(token)).header('x-ms-version'), '2019-02-02');
    assert.equal((await ask(token, entity, bare)).header('x-ms-version'), '2018-11-09');
    const chosen = await ask(token, `${entity}?api-version=2017-04-17`, bare);
    assert.equal(chosen.header('x-ms-version'), '2017-04-17');
    const malformed = await ask(token, `${entity}?api-version=latest`, bare);
    assertFrontDoorError(malformed, { status: 400, code: 'InvalidHeaderValue' });
  });

  it('is that of a signature before 2014-02-14', async () => {
    const token = tableSas({ tn: table, sp: 'r', sv: '2013-08-15' });
    const response = await ask(token, `${entity}?api-version=2017-04-17`);
    assert.equal(response.header('x-ms-version'), '2013-08-15');
  });
});

describe('an answer to the bearer of a token', () => {
  const secret = 'keep-me-quiet';

  it('repeats no part of the token in links and locations', async () => {
    const token = tableSas({ tn: table, sp: 'raud' });
    const body = '{"PartitionKey":"p","RowKey":"linked"}';
    const headers = { Accept: acceptFull };
    const inserted = await ask(token, `/${table}`, { method: 'POST', body, headers });
    assert.equal(inserted.status, 201, inserted.text);
    const read = await ask(token, `/${table}()`, { headers });
    for (const response of [inserted, read]) {
      for (const text of [response.head, response.text]) {
        assert.ok(!text.includes('sig=') && !text.includes('sv='), text);
      }
    }
    assert.equal(
      (
        await ask(token, entityPath(table, 'p', 'linked'), {
          method: 'DELETE',
          headers: { 'If-Match': '*' },
        })
      ).status,
      204,
    );
  });

  it('says nothing about policies that the token does not name', async () => {
    const xml = `<SignedIdentifiers><SignedIdentifier><Id>${secret}</Id></SignedIdentifier></SignedIdentifiers>`;
    await client.send({ method: 'PUT', path: `/${table}?comp=acl`, body: xml });
    const response = await ask(tableSas({ tn: table, sp: 'r', si: 'unknown', se: undefined }));
    assertFrontDoorError(response, failed);
    assert.ok(!response.text.includes(secret));
  });
});

describe('an empty field', () => {
  it('is an absent one, as the signature is the same over both', async () => {
    const token = tableSas({ tn: table, sp: 'r', spk: 'p', epk: '', st: '', si: '', spr: '' });
    await assertGood(token);
    const { epk: _epk, st: _st, si: _si, spr: _spr, ...without } = token;
    await assertGood(without);
  });
});
