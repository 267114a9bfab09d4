import type { JWTPayload } from 'jose';
import type { TokenNames } from './role-permissions.js';

/** The claims of a token with a valid signature, issuer and period. */
export interface TokenClaims extends TokenNames {
  readonly audiences: readonly string[];
  /** Seconds since 1970. */
  readonly notBefore: number;
  readonly expires: number;
  /** The user and the tenant of the token; undefined when these claims are absent. */
  readonly objectId: string | undefined;
  readonly tenantId: string | undefined;
  /** The program that got the token, and the sign-in name of the user. */
  readonly applicationId: string | undefined;
  readonly userPrincipalName: string | undefined;
}

const namesMax = 100;
const nameCharactersMax = 256;

/** A well-signed token that cannot be used; the message tells its bearer why. */
export class TokenClaimsError extends Error {
  override readonly name = 'TokenClaimsError';
}

/** Reads the claims that this server uses. Throws `TokenClaimsError`. */
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
    applicationId: nameOf(payload['appid'] ?? payload['azp']),
    userPrincipalName: nameOf(payload['upn']),
  };
}

/**
 * The texts of a claim, which is a list of texts or one text. A text of scopes is split at spaces.
 */
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
