// Client-side encryption. See docs/guides/patterns/client-side-encryption.md.

export { createDeterministicKey, type DeterministicKeyRecord } from './deterministic-keys.js';
export {
  withEncryption,
  type DeterministicOptions,
  type EncryptedTable,
  type EncryptionOptions,
  type EncryptionResolver,
  type RewrapResult,
} from './encrypted-table.js';
export { EncryptionError } from './encryption-error.js';
export { encryptedEquals, type EncryptedNames } from './equality.js';
export {
  keyRing,
  type KeyEncryptionKey,
  type KeyRing,
  type KeyWrapAlgorithm,
  type KeyWrapper,
  type WrappedKey,
} from './key-wrapper.js';
export { aesKeyWrapper, rsaKeyWrapper } from './local-keys.js';
export type { KeyCacheOptions } from './unwrapped-keys.js';
