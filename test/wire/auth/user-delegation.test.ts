import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AnonymousCredential,
  newPipeline,
  QueueClient,
  QueueSASPermissions,
  QueueServiceClient,
  type UserDelegationKey,
} from '@azure/storage-queue';
import { manualClock } from '../../../src/app/index.js';
import { testIssuer, type Claims, type TestIssuer } from '../../support/oauth-issuer.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { QueueWireClient } from '../kit/queue-client.js';

// User delegation keys of queues and the signatures made with them (queue-service §4.5).

const nowMs = Date.UTC(2026, 4, 5, 6, 7, 8);
const hourMs = 3_600_000;
const clock = manualClock(nowMs * 1000);
const owner = {
  roles: ['Storage Queue Data Contributor'],
  oid: '6f0f0f0e-0000-4000-8000-00000000000a',
  tid: '6f0f0f0e-0000-4000-8000-00000000000b',
};

let issuer: TestIssuer;
let started: StartedServer;

const tls = () => ({
  tlsOptions: { ca: started.server.certificate ?? '' },
  retryOptions: { maxTries: 1 },
});

async function serviceOf(claims: Claims): Promise<QueueServiceClient> {
  const token = await issuer.token({ ...claims, exp: nowMs / 1000 + 30 * 24 * 3600 });
  const getToken = () => Promise.resolve({ token, expiresOnTimestamp: Date.now() + hourMs });
  const options = { ...newPipeline(new AnonymousCredential()).options, ...tls() };
  return new QueueServiceClient(started.server.queueEndpoint, { getToken }, options);
}

async function keyFor(
  claims: Claims,
  [fromMs, toMs]: readonly [number, number] = [0, hourMs],
): Promise<UserDelegationKey> {
  const service = await serviceOf(claims);
  return service.getUserDelegationKey(new Date(nowMs + fromMs), new Date(nowMs + toMs));
}

/** A client of a queue that has only a signature made by a user delegation key. */
async function signedClient(
  name: string,
  key: UserDelegationKey,
  permissions: string,
): Promise<QueueClient> {
  const queue = (await serviceOf(owner)).getQueueClient(name);
  const url = queue.generateUserDelegationSasUrl(
    {
      permissions: QueueSASPermissions.parse(permissions),
      expiresOn: new Date(nowMs + 2 * hourMs),
    },
    key,
  );
  const options = { ...newPipeline(new AnonymousCredential()).options, ...tls() };
  return new QueueClient(url, new AnonymousCredential(), options);
}

describe('user delegation keys of queues', () => {
  before(async () => {
    issuer = await testIssuer({ nowSeconds: nowMs / 1000 });
    started = await startServer({
      oauth: { issuer: issuer.issuer, jwks: issuer.jwks },
      tls: 'self-signed',
      clock,
      checkClockSkew: false,
    });
  });
  after(async () => {
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, []);
  });

  it('sign for what the signature says, and nothing else, until the key ends', async () => {
    const service = await serviceOf(owner);
    await service.createQueue('delegated');
    await service.createQueue('other');
    const key = await keyFor(owner);
    assert.equal(key.signedObjectId, owner.oid);
    assert.equal(key.signedTenantId, owner.tid);
    assert.equal(key.signedService, 'q');
    const client = await signedClient('delegated', key, 'ra');
    await client.sendMessage('signed');
    const { peekedMessageItems } = await client.peekMessages();
    assert.equal(peekedMessageItems[0]?.messageText, 'signed');
    await started.recorded(1);
    assert.equal(started.records.at(-1)?.authKind, 'user-delegation-sas');
    await assert.rejects(client.receiveMessages(), { code: 'AuthorizationPermissionMismatch' });
    await assert.rejects(client.delete(), { code: 'AuthorizationFailure' });
    const elsewhere = new QueueClient(
      client.url.replace('/delegated?', '/other?'),
      new AnonymousCredential(),
      { ...newPipeline(new AnonymousCredential()).options, ...tls() },
    );
    await assert.rejects(elsewhere.peekMessages(), { code: 'AuthenticationFailed' });
    clock.advanceMicros(hourMs * 1000);
    try {
      await assert.rejects(client.peekMessages(), { code: 'AuthenticationFailed' });
    } finally {
      clock.advanceMicros(-hourMs * 1000);
    }
    await client.peekMessages();
  });

  it('are good for nothing when a part of what they say is changed', async () => {
    await (await serviceOf(owner)).createQueue('changed');
    const key = await keyFor(owner);
    const forged: readonly Partial<UserDelegationKey>[] = [
      { signedObjectId: owner.tid },
      { signedTenantId: owner.oid },
      { signedExpiresOn: new Date(nowMs + 5 * hourMs) },
      { signedStartsOn: new Date(nowMs - hourMs) },
      { signedVersion: '2025-07-05' },
      { signedService: 'b' },
      { value: Buffer.alloc(32).toString('base64') },
    ];
    for (const change of forged) {
      const client = await signedClient('changed', { ...key, ...change }, 'r');
      await assert.rejects(client.peekMessages(), { code: 'AuthenticationFailed' });
    }
    await (await signedClient('changed', key, 'r')).peekMessages();
  });

  it('end with the trust in the issuer of the token', async () => {
    const name = 'distrusted';
    await (await serviceOf(owner)).createQueue(name);
    const client = await signedClient(name, await keyFor(owner), 'r');
    await client.peekMessages();
    const { search } = new URL(client.url);
    const { jwks } = issuer;
    const others = [
      undefined,
      { issuer: 'https://another.example/', jwks },
      { issuer: issuer.issuer, jwks },
    ];
    const statuses: number[] = [];
    for (const oauth of others) {
      const options = { clock, checkClockSkew: false };
      await using other = await startServer(oauth === undefined ? options : { ...options, oauth });
      const wire = QueueWireClient.of(other.server);
      await wire.expect(201, { method: 'PUT', path: `/${name}` });
      const path = `/${name}/messages${search}&peekonly=true`;
      const { status } = await wire.send({ path, auth: 'none' });
      statuses.push(status);
      wire.close();
    }
    assert.deepEqual(statuses, [403, 403, 200], 'nobody, somebody else, the same issuer');
  });

  it('are only for those who may do all that signatures of queues allow', async () => {
    const { oid, tid, roles } = owner;
    const others: readonly Claims[] = [
      { oid, tid, roles: ['Storage Queue Data Reader'] },
      { oid, tid, roles: ['Storage Queue Data Message Processor'] },
      { oid, tid, roles: ['Storage Table Data Contributor'] },
      { oid, tid, roles, scp: 'read' },
    ];
    for (const claims of others) {
      await assert.rejects(keyFor(claims), { code: 'AuthorizationPermissionMismatch' });
    }
    await assert.rejects(keyFor({ roles, tid }), { code: 'AuthorizationFailure' });
    await assert.rejects(keyFor({ roles, oid }), { code: 'AuthorizationFailure' });
  });

  it('are for at most seven days, and for a time to come', async () => {
    const weekMs = 7 * 24 * hourMs;
    await keyFor(owner, [0, weekMs]);
    await keyFor(owner, [-hourMs, hourMs]);
    const bad = [
      [0, weekMs + 1000],
      [hourMs, weekMs + hourMs],
      [-weekMs, 1000],
      [0, 0],
      [-2 * hourMs, -hourMs],
      [2 * hourMs, hourMs],
    ] as const;
    for (const period of bad) {
      await assert.rejects(
        keyFor(owner, period),
        { code: 'InvalidXmlNodeValue' },
        period.join(' '),
      );
    }
  });

  it('are not given to keys of the account, and need a period that can be read', async () => {
    await using plain = await startServer({
      oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
      clock,
      checkClockSkew: false,
    });
    const wire = QueueWireClient.of(plain.server);
    const path = '/?restype=service&comp=userdelegationkey';
    const body = '<KeyInfo><Expiry>2026-05-05T07:00:00Z</Expiry></KeyInfo>';
    const version = '2025-07-05';
    const Authorization = `Bearer ${await issuer.token(owner)}`;
    const ask = (text: string) =>
      wire.send({ method: 'POST', path, body: text, version, headers: { Authorization } });
    const byKey = await wire.send({ method: 'POST', path, body, version });
    assert.equal(byKey.header('x-ms-error-code'), 'AuthorizationFailure');
    const good = await ask(body);
    assert.match(good.text, /<SignedStart>2026-05-05T06:07:08Z<\/SignedStart>/, 'from now on');
    const bad = [
      ['', 'InvalidXmlDocument'],
      ['<KeyInfo/>', 'MissingRequiredXmlNode'],
      ['<KeyInfo><Expiry>tomorrow</Expiry></KeyInfo>', 'InvalidXmlNodeValue'],
      [body.replace('</KeyInfo>', '<Other/></KeyInfo>'), 'UnsupportedXmlNode'],
      [
        body.replace('</KeyInfo>', `<DelegatedUserTid>${owner.tid}</DelegatedUserTid></KeyInfo>`),
        'InvalidXmlNodeValue',
      ],
    ] as const;
    for (const [text, code] of bad) {
      const response = await ask(text);
      assert.equal(response.header('x-ms-error-code'), code, response.text);
    }
    for (const [expiry, reason] of [
      ['2026-05-05T06:07:08Z', 'It must be later than the start, and than now.'],
      ['2026-05-12T06:07:09Z', 'It may be at most seven days after the start, and after now.'],
    ] as const) {
      const { text } = await ask(body.replace('2026-05-05T07:00:00Z', expiry));
      assert.ok(text.includes(`<XmlNodeValue>${expiry}</XmlNodeValue>`), text);
      assert.ok(text.includes(`<Reason>${reason}</Reason>`), text);
    }
    wire.close();
  });
});
