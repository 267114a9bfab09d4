import { aesKeyWrapper } from '../../../src/modeling/encryption/local-keys.js';
import type { KeyEncryptionKey, KeyWrapper } from '../../../src/modeling/encryption/key-wrapper.js';

/** A key-encryption key that counts its uses, for which a vault would charge. */
export class CountingKey implements KeyWrapper {
  wraps = 0;
  unwraps = 0;
  /** The maximum of concurrent calls. */
  atOnceMax = 0;
  #atOnce = 0;
  readonly keyID: string;
  readonly #inner: KeyWrapper;

  constructor(keyID: string, key: Uint8Array = new Uint8Array(32).fill(keyID.length)) {
    this.keyID = keyID;
    this.#inner = aesKeyWrapper(keyID, key);
  }

  get kek(): KeyEncryptionKey {
    return { wrapper: this, algorithm: 'A256KW' };
  }

  wrapKey: KeyWrapper['wrapKey'] = (algorithm, key) => {
    this.wraps += 1;
    return this.#counted(() => this.#inner.wrapKey(algorithm, key));
  };

  unwrapKey: KeyWrapper['unwrapKey'] = (algorithm, key) => {
    this.unwraps += 1;
    return this.#counted(() => this.#inner.unwrapKey(algorithm, key));
  };

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#atOnce += 1;
    this.atOnceMax = Math.max(this.atOnceMax, this.#atOnce);
    try {
      return await work();
    } finally {
      this.#atOnce -= 1;
    }
  }
}
