import { createHash } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../exchange/logger.js';
import { isMeantFor } from './audience.js';
import type { BearerTarget, BearerDecision, BearerVerifier } from './bearer-verifier.js';
import { bearerChallenge } from './challenge.js';
import { KeysUnavailableError, type IssuerKeys, type KeySet } from './issuer-keys.js';
import { permissionsOf, type RightsByName } from './role-permissions.js';
import { readClaims, TokenClaimsError, type TokenClaims } from './token-claims.js';

/** The conditions on accepted tokens. */
export interface TokenRules {
  /** The exact value of `iss`. */
  readonly issuer: string;
  /** Accepted values of `aud`; undefined: the storage service, or the addressed endpoint. */
  readonly audiences: readonly string[] | undefined;
  /** Asymmetric algorithms only: a verifier must not be able to sign. */
  readonly algorithms: readonly string[];
  readonly clockToleranceSeconds: number;
  /** Custom role and scope names, beside the built-in ones. */
  readonly rights: RightsByName;
  readonly allowHttp: boolean;
}

export interface TokenVerifierParts {
  readonly rules: TokenRules;
  readonly keys: IssuerKeys;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface VerifiedToken {
  readonly claims: TokenClaims;
  /** The key set that verified the signature. */
  readonly by: KeySet;
}

const tokenCharactersMax = 16 * 1024;
const verifiedTokensMax = 1000;

function refused(reason: string): BearerDecision {
  return { kind: 'refused', reason };
}

/**
 * Verifies JSON web tokens with the keys of their issuer. Checking a signature costs as much as
 * several requests, so results are cached until the token expires, is evicted, or the keys of the
 * issuer change.
 */
export class TokenVerifier implements BearerVerifier {
  readonly issuer: string;
  readonly challenge: string;
  readonly allowHttp: boolean;
  readonly #parts: TokenVerifierParts;
  /** By the hash of the token, least recently used first. All were signed by keys of `#keySet`. */
  readonly #verified = new Map<string, TokenClaims>();
  #keySet: KeySet | undefined;

  constructor(parts: TokenVerifierParts) {
    const { issuer, audiences, allowHttp } = parts.rules;
    this.#parts = parts;
    this.issuer = issuer;
    this.challenge = bearerChallenge(issuer, audiences);
    this.allowHttp = allowHttp;
  }

  async verify(token: string, target: BearerTarget): Promise<BearerDecision> {
    if (token.length > tokenCharactersMax) {
      return refused(`The token is longer than ${tokenCharactersMax} characters.`);
    }
    try {
      const claims = await this.#claimsOf(token);
      const { audiences, rights } = this.#parts.rules;
      if (!isMeantFor(claims.audiences, target, audiences)) {
        return refused('Invalid token audience. The token is for another service or account.');
      }
      const permissions = permissionsOf(claims, target.service, rights);
      const { objectId, tenantId, applicationId, userPrincipalName } = claims;
      const user = { objectId, tenantId, applicationId, userPrincipalName };
      const [audience] = claims.audiences;
      return { kind: 'granted', permissions, issuer: this.issuer, ...user, audience };
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** The claims of a token, after its signature, issuer and period were verified. */
  async #claimsOf(token: string): Promise<TokenClaims> {
    const keySet = await this.#parts.keys.current();
    this.#keepOnlyOf(keySet);
    const hash = createHash('sha256').update(token).digest('base64');
    const known = this.#verified.get(hash);
    this.#verified.delete(hash);
    const { claims, by } = known
      ? { claims: known, by: keySet }
      : await this.#verify(token, keySet);
    this.#checkPeriod(claims);
    // The keys may have changed during the check.
    if (this.#keySet === by) this.#remember(hash, claims);
    return claims;
  }

  #remember(hash: string, claims: TokenClaims): void {
    this.#verified.set(hash, claims);
    for (const oldest of this.#verified.keys()) {
      if (this.#verified.size <= verifiedTokensMax) break;
      this.#verified.delete(oldest);
    }
  }

  /** Forgets tokens signed with keys that the issuer has withdrawn. */
  #keepOnlyOf(keySet: KeySet): void {
    if (this.#keySet !== keySet) this.#verified.clear();
    this.#keySet = keySet;
  }

  async #verify(token: string, keySet: KeySet): Promise<VerifiedToken> {
    try {
      return await this.#verifyWith(token, keySet);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const renewed = await this.#parts.keys.renewed(keySet);
      if (renewed === keySet) throw error;
      this.#keepOnlyOf(renewed);
      return this.#verifyWith(token, renewed);
    }
  }

  async #verifyWith(token: string, keySet: KeySet): Promise<VerifiedToken> {
    const { rules, clock } = this.#parts;
    const { payload } = await jwtVerify(token, keySet.find, {
      issuer: rules.issuer,
      algorithms: [...rules.algorithms],
      clockTolerance: rules.clockToleranceSeconds,
      currentDate: new Date(clock.nowMicros() / 1000),
      requiredClaims: ['aud', 'nbf', 'exp'],
    });
    return { claims: readClaims(payload), by: keySet };
  }

  #checkPeriod({ notBefore, expires }: TokenClaims): void {
    const { rules, clock } = this.#parts;
    const now = Math.floor(clock.nowMicros() / 1e6);
    if (expires <= now - rules.clockToleranceSeconds) throw new TokenClaimsError(expired);
    if (notBefore > now + rules.clockToleranceSeconds) throw new TokenClaimsError(notYetValid);
  }

  #failed(error: unknown): BearerDecision {
    if (error instanceof TokenClaimsError) return refused(error.message);
    if (error instanceof errors.JOSEError) return refused(reasonOf(error, this.#parts.rules));
    if (!(error instanceof KeysUnavailableError)) {
      this.#parts.logger.error('a token could not be verified', { error });
    }
    return { kind: 'undecided' };
  }
}

const expired = 'Lifetime validation failed. The token is expired.';
const notYetValid = 'Lifetime validation failed. The token is not valid yet.';

/** An error message without any part of the token, because it is sent in answers. */
function reasonOf(error: errors.JOSEError, { issuer, algorithms }: TokenRules): string {
  if (error instanceof errors.JWTExpired) return expired;
  if (error instanceof errors.JWTClaimValidationFailed) return claimReason(error, issuer);
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return `The token is not signed with one of ${algorithms.join(', ')}.`;
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'The signature of the token is wrong.';
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return 'The token is signed with a key that the issuer does not publish.';
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return 'The token does not name its key (kid), and the issuer publishes several.';
  }
  return 'The token is no signed JSON web token, or uses what is not supported here.';
}

function claimReason({ claim, reason }: errors.JWTClaimValidationFailed, issuer: string): string {
  if (reason === 'missing' && requiredClaims.has(claim)) return `The token has no claim ${claim}.`;
  if (claim === 'iss') return `Invalid token issuer. Tokens of ${issuer} are accepted here.`;
  return claim === 'nbf' && reason === 'check_failed' ? notYetValid : 'Lifetime validation failed.';
}

const requiredClaims: ReadonlySet<string> = new Set(['iss', 'aud', 'nbf', 'exp']);
