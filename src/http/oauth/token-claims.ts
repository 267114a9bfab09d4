import type { JWTPayload } from 'jose';
import type { TokenNames } from './role-permissions.js';

/** What a token whose signature, issuer and period are good says. */
export interface TokenClaims extends TokenNames {
  readonly audiences: readonly string[];
  /** Seconds since 1970. */
  readonly notBefore: number;
  readonly expires: number;
  /** Whose token it is, and in which tenant; undefined when it does not say. */
  readonly objectId: string | undefined;
  readonly tenantId: string | undefined;
}

const namesMax = 100;
const nameCharactersMax = 256;

/** A token that is signed well and cannot be used; the message says why, for its bearer. */
export class TokenClaimsError extends Error {
  override readonly name = 'TokenClaimsError';
}

/** Reads the claims that this server acts on. Throws `TokenClaimsError`. */
export function readClaims(payload: JWTPayload): TokenClaims {
  const { nbf, exp } = payload;
  if (nbf === undefined || exp === undefined) {
    throw new TokenClaimsError('The token does not say when it is valid: it needs nbf and exp.');
  }
  return {
    audiences: namesOf('aud', payload['aud']),
    notBefore: nbf,
    expires: exp,
    roles: namesOf('roles', payload['roles']),
    scopes: namesOf('scp', payload['scp'] ?? payload['scope']),
    objectId: nameOf(payload['oid']),
    tenantId: nameOf(payload['tid']),
  };
}

/** A list of texts, or one text; that of scopes has its names between spaces. */
function namesOf(claim: 'aud' | 'roles' | 'scp', value: unknown): readonly string[] {
  if (value === undefined) return [];
  const names = typeof value === 'string' ? split(claim, value) : value;
  if (isNames(names)) return names;
  throw new TokenClaimsError(
    `The claim ${claim} is no list of at most ${namesMax} names of at most ` +
      `${nameCharactersMax} characters.`,
  );
}

function split(claim: 'aud' | 'roles' | 'scp', text: string): readonly string[] {
  return claim === 'scp' ? text.split(' ').filter((scope) => scope !== '') : [text];
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= namesMax && value.every(isName);
}

function nameOf(value: unknown): string | undefined {
  return isName(value) && value !== '' ? value : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= nameCharactersMax;
}
