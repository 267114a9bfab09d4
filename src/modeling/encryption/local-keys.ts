import {
  constants,
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  privateDecrypt,
  publicEncrypt,
  type KeyObject,
} from 'node:crypto';
import { EncryptionError } from './encryption-error.js';
import type { KeyWrapAlgorithm, KeyWrapper } from './key-wrapper.js';

// Key-encryption keys in this process, for tests and for programs without a vault. A reader of the
// memory of the process, or of the source of the key, can decrypt every row.

/** The initial value of RFC 3394, by which unwrapping checks that the key fits. */
const wrapInitialValue = Buffer.alloc(8, 0xa6);

const aesCiphers: Readonly<Record<string, { readonly cipher: string; readonly bytes: number }>> = {
  A128KW: { cipher: 'id-aes128-wrap', bytes: 16 },
  A192KW: { cipher: 'id-aes192-wrap', bytes: 24 },
  A256KW: { cipher: 'id-aes256-wrap', bytes: 32 },
};

const oaepHashes: Readonly<Record<string, string>> = {
  'RSA-OAEP': 'sha1',
  'RSA-OAEP-256': 'sha256',
};

type Transform = (algorithm: KeyWrapAlgorithm, bytes: Uint8Array) => Uint8Array;

function wrapperOf(keyID: string, wrap: Transform, unwrap: Transform): KeyWrapper {
  const run = async (what: string, transform: Transform, ...given: Parameters<Transform>) => {
    try {
      return await Promise.resolve({ result: transform(...given) });
    } catch (cause) {
      if (cause instanceof EncryptionError) throw cause;
      throw new EncryptionError(`The key '${keyID}' cannot ${what} with ${given[0]}`, { cause });
    }
  };
  return {
    keyID,
    wrapKey: (algorithm, key) => run('wrap', wrap, algorithm, key),
    unwrapKey: (algorithm, key) => run('unwrap this', unwrap, algorithm, key),
  };
}

/**
 * AES key wrap (RFC 3394) by a key of 16, 24 or 32 bytes, as A128KW, A192KW or A256KW. `keyID` is
 * any name that never changes for this key.
 */
export function aesKeyWrapper(keyID: string, key: Uint8Array): KeyWrapper {
  const cipherOf = (algorithm: KeyWrapAlgorithm): string => {
    const found = aesCiphers[algorithm];
    if (found?.bytes === key.length) return found.cipher;
    throw new EncryptionError(`The key '${keyID}' has ${key.length} bytes: not for ${algorithm}`);
  };
  return wrapperOf(
    keyID,
    (algorithm, bytes) => {
      const cipher = createCipheriv(cipherOf(algorithm), key, wrapInitialValue);
      return Buffer.concat([cipher.update(bytes), cipher.final()]);
    },
    (algorithm, bytes) => {
      const decipher = createDecipheriv(cipherOf(algorithm), key, wrapInitialValue);
      return Buffer.concat([decipher.update(bytes), decipher.final()]);
    },
  );
}

/**
 * RSA-OAEP or RSA-OAEP-256. A public key can only wrap: a process that only writes needs no key
 * that reads.
 */
export function rsaKeyWrapper(keyID: string, key: KeyObject): KeyWrapper {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const paddingOf = (algorithm: KeyWrapAlgorithm) => {
    const oaepHash = oaepHashes[algorithm];
    if (oaepHash !== undefined) return { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash };
    throw new EncryptionError(`The key '${keyID}' is an RSA key: not for ${algorithm}`);
  };
  return wrapperOf(
    keyID,
    (algorithm, bytes) => publicEncrypt({ key: publicKey, ...paddingOf(algorithm) }, bytes),
    (algorithm, bytes) => {
      if (key.type !== 'private') {
        throw new EncryptionError(`The key '${keyID}' is a public key: it cannot unwrap`);
      }
      return privateDecrypt({ key, ...paddingOf(algorithm) }, bytes);
    },
  );
}
