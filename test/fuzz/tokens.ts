import { createHmac } from 'node:crypto';
import { assembled, testIssuer, type Claims, type TestIssuer } from '../support/oauth-issuer.js';
import { developmentAccount } from '../wire/kit/signature.js';
import type { Reach } from './reach.js';
import type { DelegationKey } from './user-delegation.js';

export interface BearerToken {
  readonly text: string;
  readonly reach: Reach;
}

/** Authorization by bearer token. */
export interface Tokens {
  readonly good: readonly BearerToken[];
  readonly bearers: readonly BearerToken[];
  readonly delegationKey: DelegationKey;
}

const contributor = ['Storage Table Data Contributor', 'Storage Queue Data Contributor'];
const reader = ['Storage Table Data Reader', 'Storage Queue Data Reader'];
/** Tokens for the storage service as a whole are good for every account; these are for one. */
const audience = ['table', 'queue'].map(
  (service) => `https://${developmentAccount}.${service}.core.windows.net`,
);
const user = {
  aud: audience,
  oid: '6f0f0f0e-0000-4000-8000-00000000000a',
  tid: '6f0f0f0e-0000-4000-8000-00000000000b',
};
/** The tokens of a run must be valid until its end. */
const lastingSeconds = 7 * 24 * 3600;

/** A token that may do everything in both services. */
export function contributorToken(issuer: TestIssuer): Promise<string> {
  return issuer.token({ ...user, roles: contributor, exp: expiry() });
}

/** Valid tokens, tokens with too few rights, and invalid tokens. */
export async function bearerTokens(issuer: TestIssuer): Promise<readonly BearerToken[]> {
  const made: BearerToken[] = [];
  const add = (text: string, reach: Reach) => made.push({ text, reach });
  const token = (claims: Claims, header = {}) =>
    issuer.token({ ...user, roles: contributor, exp: expiry(), ...claims }, header);

  add(await token({}), 'all');
  for (const roles of [reader, ['Storage Queue Data Message Sender']]) {
    add(await token({ roles }), roles === reader ? 'see' : 'all');
  }
  add(await token({ scp: 'read', roles: reader }), 'see');
  for (const claims of powerless) add(await token(claims), 'none');
  for (const header of [{ kid: 'other' }, { typ: 'x'.repeat(2000) }, { kid: 'x'.repeat(40_000) }]) {
    add(await token({}, header), 'all');
  }
  const impostor = await testIssuer();
  add(await contributorToken(impostor), 'none');
  add(await impostor.token({ ...user, roles: contributor }, { jwk: impostor.publicJwk }), 'none');
  for (const text of forged(issuer)) add(text, 'none');
  return made;
}

function expiry(): number {
  return Math.floor(Date.now() / 1000) + lastingSeconds;
}

/** Nested more deeply than any claim. */
const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) as unknown;

/** Claims of correctly signed tokens that grant nothing. */
const powerless: readonly Claims[] = [
  { roles: [] },
  { roles: ['Owner'] },
  { roles: 'Storage Table Data Contributor ' },
  { roles: { 0: 'Storage Table Data Contributor' } },
  { roles: [deep], scp: deep },
  { scp: '', roles: [] },
  { aud: 'https://other.example' },
  { aud: [] },
  { aud: deep },
  { iss: 'https://other.example/' },
  { exp: 1 },
  { exp: 'tomorrow' },
  { nbf: 9e12 },
  { roles: [], groups: Array.from({ length: 4000 }, (_, index) => index) },
];

/** Tokens with a contributor's claims that the issuer did not sign. */
function forged({ issuer, keyId, publicJwk }: TestIssuer): readonly string[] {
  const claims = {
    ...user,
    iss: issuer,
    exp: expiry(),
    roles: contributor,
  };
  const unsigned = assembled({ alg: 'HS256', kid: keyId }, claims).slice(0, -1);
  const secrets = [JSON.stringify(publicJwk), publicJwk.n ?? '', ''];
  const confused = secrets.map((secret) => {
    const signature = createHmac('sha256', secret).update(unsigned).digest('base64url');
    return `${unsigned}.${signature}`;
  });
  return [
    ...confused,
    ...['none', 'None', '', 'RS256', 'ES256', 'PS256', 'HS256', 'constructor', '__proto__'].map(
      (alg) => assembled({ alg, kid: keyId }, claims),
    ),
    assembled({ alg: 'RS256', kid: keyId }, claims, Buffer.alloc(256)),
    assembled({ alg: 'RS256', kid: keyId }, claims, Buffer.alloc(20_000)),
    assembled({ alg: 'RS256', kid: keyId, crit: ['x'], x: 1 }, claims, 'AAAA'),
    assembled({ alg: 'RS256', kid: ['a'] }, claims, 'AAAA'),
    assembled({ alg: 5 }, claims, 'AAAA'),
    assembled({ alg: 'RSA-OAEP', enc: 'A128GCM' }, claims, 'AAAA.AAAA.AAAA'),
    assembled({ alg: 'RS256', jku: 'http://127.0.0.1:1/keys', x5u: 'file:///etc' }, claims, 'AA'),
    assembled([], claims, 'AAAA'),
    assembled({ alg: 'RS256', kid: keyId }, [claims], 'AAAA'),
    '..',
    '.'.repeat(3000),
    'e30.e30.e30',
    'A'.repeat(50_000),
    'bnVsbA.bnVsbA.bnVsbA',
    '',
  ];
}
