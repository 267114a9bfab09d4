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

/** The result of wrapping or unwrapping a key. */
export interface WrappedKey {
  readonly result: Uint8Array;
  /** The exact version of the key that wrapped, if it differs from the wrapper's `keyID`. */
  readonly keyID?: string | undefined;
}

/**
 * A key-encryption key. The key itself may stay in a vault: a `CryptographyClient` of
 * `@azure/keyvault-keys` is a `KeyWrapper`, and each call of its methods is then one request to the
 * vault.
 */
export interface KeyWrapper {
  /**
   * Stored with the wrapped key, so that readers find the key-encryption key. Must be set, and
   * never change.
   */
  readonly keyID: string | undefined;
  wrapKey(algorithm: KeyWrapAlgorithm, key: Uint8Array): Promise<WrappedKey>;
  unwrapKey(algorithm: KeyWrapAlgorithm, encryptedKey: Uint8Array): Promise<WrappedKey>;
}

/** A wrapper and its algorithm. */
export interface KeyEncryptionKey {
  readonly wrapper: KeyWrapper;
  readonly algorithm: KeyWrapAlgorithm;
}

/** The key-encryption keys of a table: one that writes, any number that read. */
export interface KeyRing {
  /** Wraps the content keys of new writes. */
  readonly current: KeyEncryptionKey;
  /**
   * Finds a key that wrapped earlier, by its exact id; undefined when there is none. The id comes
   * from a stored row: return only keys of your own, because otherwise every writer of the table
   * could choose the key. Not called for the id of `current`.
   */
  find(keyId: string): KeyWrapper | undefined | Promise<KeyWrapper | undefined>;
}

/**
 * A key ring of given keys. To rotate, make the new key `current` and pass the old ones as `older`
 * until no row needs them (`rewrap`).
 */
export function keyRing(current: KeyEncryptionKey, ...older: readonly KeyWrapper[]): KeyRing {
  const byId = new Map([current.wrapper, ...older].map((wrapper) => [idOf(wrapper), wrapper]));
  return { current, find: (keyId) => byId.get(keyId) };
}

/**
 * Throws `EncryptionError` when the wrapper has no id: nothing that it wraps could be read again.
 */
export function idOf({ keyID }: KeyWrapper): string {
  if (keyID === undefined || keyID === '') {
    throw new EncryptionError('The key-encryption key has no id: readers could not find it again');
  }
  return keyID;
}
