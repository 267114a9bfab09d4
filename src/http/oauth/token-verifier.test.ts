import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { createLocalJWKSet } from 'jose';
import { manualClock, type ManualClock } from '../../base/clock.js';
import { silentLogger } from '../exchange/logger.js';
import { assembled, testIssuer, type TestIssuer } from '../../../test/support/oauth-issuer.js';
import { KeysUnavailableError, type IssuerKeys, type KeySet } from './issuer-keys.js';
import { TokenVerifier, type TokenRules } from './token-verifier.js';
import { deferred } from '../../base/async/deferred.js';
import { costly } from '../../../test/support/run-length.js';

const nowSeconds = 1_800_000_000;
const target = { service: 'table', account: 'devstoreaccount1' } as const;

let issuer: TestIssuer;
let other: TestIssuer;

function keySetOf(...issuers: readonly TestIssuer[]): KeySet {
  return { find: createLocalJWKSet({ keys: issuers.map(({ publicJwk }) => publicJwk) }) };
}

interface Under {
  readonly clock: ManualClock;
  readonly verifier: TokenVerifier;
  /** The number of key look-ups. */
  readonly looks: () => number;
  readonly hold: (keySet: KeySet | undefined) => void;
}

function verifierWith(rules: Partial<TokenRules> = {}): Under {
  const clock = manualClock(nowSeconds * 1e6);
  let held: KeySet | undefined = keySetOf(issuer);
  let looks = 0;
  const give = (): Promise<KeySet> =>
    held === undefined ? Promise.reject(new KeysUnavailableError('gone')) : Promise.resolve(held);
  const counting = (keySet: KeySet): KeySet => ({
    find: (...header) => {
      looks += 1;
      return keySet.find(...header);
    },
  });
  held = counting(held);
  const keys: IssuerKeys = { current: give, renewed: give };
  const verifier = new TokenVerifier({
    rules: {
      issuer: issuer.issuer,
      audiences: undefined,
      algorithms: ['RS256', 'PS256', 'ES256'],
      clockToleranceSeconds: 0,
      rights: new Map(),
      allowHttp: false,
      ...rules,
    },
    keys,
    clock,
    logger: silentLogger,
  });
  return {
    clock,
    verifier,
    looks: () => looks,
    hold(keySet) {
      held = keySet && counting(keySet);
    },
  };
}

async function refusal(token: string, rules: Partial<TokenRules> = {}): Promise<string> {
  const decision = await verifierWith(rules).verifier.verify(token, target);
  assert.equal(decision.kind, 'refused');
  return decision.kind === 'refused' ? decision.reason : '';
}

async function accepts(token: string, rules: Partial<TokenRules> = {}): Promise<boolean> {
  return (await verifierWith(rules).verifier.verify(token, target)).kind === 'granted';
}

describe('a verifier of tokens', () => {
  before(async () => {
    issuer = await testIssuer({ nowSeconds });
    other = await testIssuer({ nowSeconds, keyId: 'key-2' });
  });

  it('accepts a good token, and grants what its roles allow on the service asked', async () => {
    const token = await issuer.token({ roles: ['Storage Table Data Reader'] });
    const { verifier } = verifierWith();
    const tables = await verifier.verify(token, target);
    assert.ok(tables.kind === 'granted');
    assert.deepEqual([...tables.permissions.object].sort(), ['list', 'read']);
    const queues = await verifier.verify(token, { ...target, service: 'queue' });
    assert.ok(queues.kind === 'granted');
    assert.deepEqual([...queues.permissions.object], []);
  });

  it('tells who the user and the program are, as far as the token says so', async () => {
    const { verifier } = verifierWith();
    const known = await verifier.verify(
      await issuer.token({ oid: 'user', tid: 'tenant', appid: 'program', upn: 'user@example' }),
      target,
    );
    assert.ok(known.kind === 'granted');
    const { objectId, tenantId, applicationId, userPrincipalName, audience } = known;
    assert.deepEqual(
      [objectId, tenantId, applicationId, userPrincipalName],
      ['user', 'tenant', 'program', 'user@example'],
    );
    assert.equal(typeof audience, 'string');
    const unknown = await verifier.verify(await issuer.token({ azp: 'other' }), target);
    assert.ok(unknown.kind === 'granted');
    assert.deepEqual([unknown.applicationId, unknown.userPrincipalName], ['other', undefined]);
  });

  it('refuses a token without signature', async () => {
    const claims = { iss: issuer.issuer, aud: 'https://storage.azure.com', nbf: 1, exp: 2e9 };
    assert.match(await refusal(assembled({ alg: 'none' }, claims)), /not signed with one of RS256/);
    assert.match(await refusal(assembled({ alg: 'None', kid: 'key-1' }, claims)), /not signed/);
    const [header = '', payload = ''] = (await issuer.token()).split('.');
    assert.match(await refusal(`${header}.${payload}.`), /signature of the token is wrong/);
    assert.match(await refusal(`${header}.${payload}`), /no signed JSON web token/);
  });

  it('refuses a token that takes the public key for a shared secret', async () => {
    const claims = { iss: issuer.issuer, aud: 'https://storage.azure.com', nbf: 1, exp: 2e9 };
    const key = createPublicKey({ key: { ...issuer.publicJwk }, format: 'jwk' });
    const secrets = [
      key.export({ type: 'spki', format: 'pem' }),
      key.export({ type: 'spki', format: 'der' }),
      Buffer.from(JSON.stringify(issuer.publicJwk)),
    ];
    for (const secret of secrets) {
      const header = { alg: 'HS256', kid: 'key-1' };
      const signed = assembled(header, claims).replace(/\.$/, '');
      const signature = createHmac('sha256', secret).update(signed).digest();
      const token = assembled(header, claims, signature);
      assert.match(await refusal(token), /not signed with one of RS256, PS256, ES256/);
    }
  });

  it('refuses keys that the token brings along or points at', async () => {
    const jwk = other.publicJwk;
    for (const header of [{ jwk }, { jku: 'https://evil.example/keys' }, { kid: 'key-1', jwk }]) {
      const token = await other.token({}, { kid: 'key-9', ...header });
      assert.match(await refusal(token), /signature of the token is wrong|does not publish/);
    }
  });

  it('refuses a token that has been changed in any part', async () => {
    const token = await issuer.token({ roles: ['Storage Table Data Reader'] });
    const [header = '', payload = '', signature = ''] = token.split('.');
    const claims: object = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const more = { ...claims, roles: ['Storage Table Data Contributor'] };
    const forged = Buffer.from(JSON.stringify(more)).toString('base64url');
    assert.match(
      await refusal(`${header}.${forged}.${signature}`),
      /signature of the token is wrong/,
    );
    const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1);
    assert.match(
      await refusal(`${header}.${payload}.${flipped}`),
      /signature of the token is wrong/,
    );
  });

  it('refuses the keys of others, unknown keys and keys that nobody names', async () => {
    assert.match(await refusal(await other.token({}, { kid: 'key-1' })), /signature .* is wrong/);
    assert.match(await refusal(await other.token()), /key that the issuer does not publish/);
    const { verifier, hold } = verifierWith();
    hold(keySetOf(issuer, other));
    const nameless = await issuer.token({}, { kid: undefined });
    const decision = await verifier.verify(nameless, target);
    assert.ok(decision.kind === 'refused');
    assert.match(decision.reason, /does not name its key/);
  });

  it('refuses algorithms that are not asked for', async () => {
    const token = await issuer.token();
    assert.match(await refusal(token, { algorithms: ['ES256'] }), /not signed with one of ES256/);
  });

  it('wants the issuer to the letter', async () => {
    for (const iss of [issuer.issuer.slice(0, -1), issuer.issuer.toUpperCase(), 'https://x/', 5]) {
      assert.match(await refusal(await issuer.token({ iss })), /^Invalid token issuer\./);
    }
    assert.match(await refusal(await issuer.token({ iss: undefined })), /no claim iss/);
  });

  it('wants the storage service or the endpoint of the account as the audience', async () => {
    const good = [
      'https://storage.azure.com',
      'https://storage.azure.com/',
      'e406a681-f3d4-42a8-90b6-c2b029497af1',
      'https://devstoreaccount1.table.core.windows.net',
      'https://devstoreaccount1.table.core.usgovcloudapi.net/',
      ['https://elsewhere.example', 'https://storage.azure.com'],
    ];
    for (const aud of good)
      assert.ok(await accepts(await issuer.token({ aud })), JSON.stringify(aud));
    const bad = [
      'https://graph.microsoft.com',
      'https://storage.azure.com//',
      'https://storage.azure.com.evil.example',
      'https://otheraccount.table.core.windows.net',
      'https://devstoreaccount1.queue.core.windows.net',
      '',
      [],
    ];
    for (const aud of bad) {
      assert.match(
        await refusal(await issuer.token({ aud })),
        /^Invalid token audience\./,
        JSON.stringify(aud),
      );
    }
    assert.match(await refusal(await issuer.token({ aud: undefined })), /no claim aud/);
    assert.match(await refusal(await issuer.token({ aud: 7 })), /claim aud is no list/);
  });

  it('wants a configured audience instead, with or without its slash', async () => {
    const rules = { audiences: ['api://shop', 'https://shop.example/'] };
    for (const aud of ['api://shop', 'api://shop/', 'https://shop.example']) {
      assert.ok(await accepts(await issuer.token({ aud }), rules), aud);
    }
    assert.match(await refusal(await issuer.token(), rules), /^Invalid token audience\./);
  });

  it('refuses a token outside of its period, to the second', async () => {
    const period = (nbf: unknown, exp: unknown) => issuer.token({ nbf, exp });
    assert.match(await refusal(await period(1, nowSeconds)), /The token is expired\./);
    assert.match(await refusal(await period(1, nowSeconds - 4000)), /The token is expired\./);
    assert.match(await refusal(await period(nowSeconds + 1, 2e9)), /not valid yet/);
    assert.ok(await accepts(await period(nowSeconds, nowSeconds + 1)));
  });

  it('bears with the clock of the issuer as far as it is told to', async () => {
    const rules = { clockToleranceSeconds: 30 };
    const nearly = await issuer.token({ nbf: nowSeconds + 30, exp: nowSeconds + 60 });
    assert.ok(await accepts(nearly, rules));
    assert.ok(await accepts(await issuer.token({ exp: nowSeconds - 29 }), rules));
    assert.match(await refusal(await issuer.token({ exp: nowSeconds - 30 }), rules), /expired/);
    assert.match(
      await refusal(await issuer.token({ nbf: nowSeconds + 31 }), rules),
      /not valid yet/,
    );
  });

  it('wants the whole period, in numbers', async () => {
    assert.match(await refusal(await issuer.token({ exp: undefined })), /no claim exp/);
    assert.match(await refusal(await issuer.token({ nbf: undefined })), /no claim nbf/);
    assert.match(await refusal(await issuer.token({ exp: '2000000000' })), /Lifetime validation/);
    assert.match(await refusal(await issuer.token({ nbf: 'now' })), /Lifetime validation failed/);
  });

  it('refuses claims beyond their bounds, and huge tokens before it looks at them', async () => {
    const roles = Array.from({ length: 101 }, (_, index) => `role ${index}`);
    assert.match(await refusal(await issuer.token({ roles })), /claim roles is no list of at most/);
    assert.match(await refusal(await issuer.token({ roles: ['x'.repeat(257)] })), /claim roles/);
    assert.match(await refusal(await issuer.token({ roles: { admin: true } })), /claim roles/);
    assert.match(await refusal(await issuer.token({ scp: [1] })), /claim scp/);
    const under = verifierWith();
    const huge = await issuer.token({ padding: 'x'.repeat(16 * 1024) });
    const decision = await under.verifier.verify(huge, target);
    assert.ok(decision.kind === 'refused');
    assert.match(decision.reason, /longer than 16384 characters/);
    assert.equal(under.looks(), 0);
  });

  it('refuses what is no token, without a word of it in the answer', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    const texts = ['x', '...', 'a.b.c', '\u0000.\u0000.\u0000', deep, '.'.repeat(10_000)];
    for (const text of texts) {
      const reason = await refusal(text);
      assert.match(reason, /no signed JSON web token/);
    }
    const secret = await issuer.token({ iss: 'https://secret.example/' });
    assert.doesNotMatch(await refusal(secret), /secret/);
  });

  it('checks the signature of a token once, and its period and audience each time', async () => {
    const { verifier, clock, looks } = verifierWith();
    const aud = 'https://devstoreaccount1.table.core.windows.net';
    const token = await issuer.token({ aud, exp: nowSeconds + 10 });
    for (let times = 0; times < 5; times++) {
      assert.equal((await verifier.verify(token, target)).kind, 'granted');
    }
    assert.equal(looks(), 1);
    const elsewhere = await verifier.verify(token, { ...target, account: 'another' });
    assert.equal(elsewhere.kind, 'refused');
    clock.advanceMicros(10e6);
    assert.deepEqual(await verifier.verify(token, target), {
      kind: 'refused',
      reason: 'Lifetime validation failed. The token is expired.',
    });
  });

  it('forgets what it has verified when the keys change, and knows no bad token', async () => {
    const { verifier, hold, looks } = verifierWith();
    const token = await issuer.token();
    assert.equal((await verifier.verify(token, target)).kind, 'granted');
    hold(keySetOf(other));
    const withdrawn = await verifier.verify(token, target);
    assert.ok(withdrawn.kind === 'refused');
    assert.match(withdrawn.reason, /does not publish/);
    const before = looks();
    await verifier.verify(token, target);
    assert.ok(looks() > before, 'a refused token is looked at again');
  });

  it('does not remember a token that it began to verify with a key withdrawn meanwhile', async () => {
    const token = await issuer.token();
    const [withdrawn, left] = [keySetOf(issuer), keySetOf(other)];
    const { promise: isLooked, resolve: lookedFor } = deferred();
    const { promise: mayGoOn, resolve: goOn } = deferred();
    const slow: KeySet = {
      async find(...header) {
        lookedFor();
        await mayGoOn;
        return withdrawn.find(...header);
      },
    };
    const { verifier, hold } = verifierWith();
    hold(slow);
    const begun = verifier.verify(token, target);
    await isLooked;
    hold(left);
    assert.equal((await verifier.verify(await other.token(), target)).kind, 'granted');
    goOn();
    await begun;
    assert.equal((await verifier.verify(token, target)).kind, 'refused');
  });

  it('says that it cannot tell while there are no keys', async () => {
    const { verifier, hold } = verifierWith();
    const token = await issuer.token();
    assert.equal((await verifier.verify(token, target)).kind, 'granted');
    hold(undefined);
    assert.deepEqual(await verifier.verify(token, target), { kind: 'undecided' });
  });

  it('verifies the other algorithms as well', costly(), async () => {
    for (const algorithm of ['PS256', 'ES256', 'EdDSA']) {
      const signer = await testIssuer({ nowSeconds, algorithm });
      const under = verifierWith({ algorithms: [algorithm] });
      under.hold(keySetOf(signer));
      const decision = await under.verifier.verify(await signer.token(), target);
      assert.equal(decision.kind, 'granted', algorithm);
    }
  });
});
