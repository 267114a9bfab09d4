import { EncryptionError } from './encryption-error.js';

/** How a key-encryption key wraps a content key: the names of JSON Web Algorithms. */
export type KeyWrapAlgorithm = 'A128KW' | 'A192KW' | 'A256KW' | 'RSA-OAEP' | 'RSA-OAEP-256';

const algorithms: ReadonlySet<string> = new Set<KeyWrapAlgorithm>([
  'A128KW',
  'A192KW',
  'A256KW',
  'RSA-OAEP',
  'RSA-OAEP-256',
]);

export function isKeyWrapAlgorithm(name: unknown): name is KeyWrapAlgorithm {
  return typeof name === 'string' && algorithms.has(name);
}

/** What a wrapper gives. */
export interface WrappedKey {
  readonly result: Uint8Array;
  /** The exact version that wrapped, when the wrapper knows better than its own `keyID`. */
  readonly keyID?: string | undefined;
}

/**
 * A key-encryption key. The key itself may never leave a vault: a `CryptographyClient` of
 * `@azure/keyvault-keys` is a `KeyWrapper` as it is, and each call of its methods is then one
 * request to the vault.
 */
export interface KeyWrapper {
  /** Written beside what it wrapped, so that readers find it again. Must be set, and permanent. */
  readonly keyID: string | undefined;
  wrapKey(algorithm: KeyWrapAlgorithm, key: Uint8Array): Promise<WrappedKey>;
  unwrapKey(algorithm: KeyWrapAlgorithm, encryptedKey: Uint8Array): Promise<WrappedKey>;
}

/** A wrapper and how it is to wrap. */
export interface KeyEncryptionKey {
  readonly wrapper: KeyWrapper;
  readonly algorithm: KeyWrapAlgorithm;
}

/** The key-encryption keys of a table: one that writes, any number that read. */
export interface KeyRing {
  /** Wraps the content keys of new writes. */
  readonly current: KeyEncryptionKey;
  /**
   * Finds by its exact id a key that wrapped earlier; undefined when there is none of that id. The
   * id comes from a stored row: find only keys of your own, or whoever can write to the table
   * chooses the key. Not asked for the id of `current`.
   */
  find(keyId: string): KeyWrapper | undefined | Promise<KeyWrapper | undefined>;
}

/**
 * A key ring of keys at hand. To rotate, make the new key `current` and pass the old ones as
 * `older` until no row needs them (`rewrap`).
 */
export function keyRing(current: KeyEncryptionKey, ...older: readonly KeyWrapper[]): KeyRing {
  const byId = new Map([current.wrapper, ...older].map((wrapper) => [idOf(wrapper), wrapper]));
  return { current, find: (keyId) => byId.get(keyId) };
}

/** Throws `EncryptionError` when the wrapper has no id: what it wraps could never be read again. */
export function idOf({ keyID }: KeyWrapper): string {
  if (keyID === undefined || keyID === '') {
    throw new EncryptionError('The key-encryption key has no id: readers could not find it again');
  }
  return keyID;
}
