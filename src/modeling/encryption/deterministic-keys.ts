import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { EncryptionError } from './encryption-error.js';
import {
  idOf,
  isKeyWrapAlgorithm,
  type KeyEncryptionKey,
  type KeyWrapAlgorithm,
} from './key-wrapper.js';
import { deterministicKeyBytes } from './property-cipher.js';

/**
 * The key of deterministic properties, wrapped, so that it can be stored with the configuration.
 * Plain JSON. Losing it loses every property encrypted with it.
 */
export interface DeterministicKeyRecord {
  /** Written into each row. Must never change for this key. */
  readonly id: string;
  /** The id of the key-encryption key that wrapped this key. */
  readonly kek: string;
  readonly wrap: KeyWrapAlgorithm;
  /** Base64. */
  readonly key: string;
}

/** Makes a key of 64 random bytes. One call of `wrapKey`. */
export async function createDeterministicKey(
  id: string,
  { wrapper, algorithm }: KeyEncryptionKey,
  randomness: Randomness = systemRandomness,
): Promise<DeterministicKeyRecord> {
  const key = randomness.bytes(deterministicKeyBytes);
  const { result, keyID } = await wrapper.wrapKey(algorithm, key);
  return {
    id,
    kek: keyID ?? idOf(wrapper),
    wrap: algorithm,
    key: Buffer.from(result).toString('base64'),
  };
}

export type Unwrap = (
  keyId: string,
  algorithm: KeyWrapAlgorithm,
  bytes: Uint8Array,
) => Promise<Uint8Array>;

/** The deterministic keys of a table, each unwrapped once, on first use. */
export class DeterministicKeys {
  /** New writes use the first. */
  readonly #records: readonly DeterministicKeyRecord[];
  readonly #unwrap: Unwrap;
  readonly #unwrapped = new Map<string, Promise<Uint8Array>>();

  constructor(records: readonly DeterministicKeyRecord[], unwrap: Unwrap) {
    this.#records = records;
    this.#unwrap = unwrap;
  }

  get ids(): readonly string[] {
    return this.#records.map(({ id }) => id);
  }

  get currentId(): string {
    const [current] = this.#records;
    if (current === undefined) throw new EncryptionError('There is no deterministic key');
    return current.id;
  }

  /** One `unwrapKey` for each key, ever; a failed one is tried again by the next call. */
  keyOf(id: string): Promise<Uint8Array> {
    const known = this.#unwrapped.get(id);
    if (known !== undefined) return known;
    const key = this.#load(id);
    this.#unwrapped.set(id, key);
    key.catch(() => this.#unwrapped.delete(id));
    return key;
  }

  async #load(id: string): Promise<Uint8Array> {
    const record = this.#records.find((candidate) => candidate.id === id);
    if (record === undefined) {
      throw new EncryptionError(`There is no deterministic key '${id}': pass its record, too`);
    }
    if (!isKeyWrapAlgorithm(record.wrap)) {
      throw new EncryptionError(`'${String(record.wrap)}' wraps no keys`);
    }
    const key = await this.#unwrap(record.kek, record.wrap, Buffer.from(record.key, 'base64'));
    if (key.length === deterministicKeyBytes) return key;
    throw new EncryptionError(
      `The deterministic key '${id}' has ${key.length} bytes instead of ${deterministicKeyBytes}`,
    );
  }
}
