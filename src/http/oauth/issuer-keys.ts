import type { JWTVerifyGetKey } from 'jose';

/** The public keys of an issuer at one time. Rereading unchanged keys gives the same object. */
export interface KeySet {
  /** Finds the key that a token names; rejects when there is none or more than one. */
  readonly find: JWTVerifyGetKey;
}

/** The source of the issuer's keys. Both methods throw `KeysUnavailableError`. */
export interface IssuerKeys {
  /** The cached keys, refreshed periodically. */
  current(): Promise<KeySet>;
  /**
   * Refreshes the keys for a token whose key is not in `known`. Rate-limited, whatever tokens
   * arrive.
   */
  renewed(known: KeySet): Promise<KeySet>;
}

/** The keys of the issuer are unavailable; the cause says why. */
export class KeysUnavailableError extends Error {
  override readonly name = 'KeysUnavailableError';
}
