import type { JWTVerifyGetKey } from 'jose';

/** The public keys of an issuer at one time. Read again, the same keys are the same object. */
export interface KeySet {
  /** Finds the key that a token names; rejects when there is none or no single one. */
  readonly find: JWTVerifyGetKey;
}

/** Where the keys of the issuer come from. Both methods throw `KeysUnavailableError`. */
export interface IssuerKeys {
  /** The keys as far as they are known, read again from time to time. */
  current(): Promise<KeySet>;
  /**
   * The keys after a look whether there are others than `known`: a token names one that is not
   * among them. Looks no more often than the source can bear, whatever tokens come.
   */
  renewed(known: KeySet): Promise<KeySet>;
}

/** The keys of the issuer cannot be had; the cause says why. */
export class KeysUnavailableError extends Error {
  override readonly name = 'KeysUnavailableError';
}
