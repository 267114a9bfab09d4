import type { Clock } from '../../base/clock.js';
import { EncryptionError } from './encryption-error.js';
import type { WrappedContentKey } from './envelope.js';
import { idOf, type KeyRing, type KeyWrapAlgorithm, type KeyWrapper } from './key-wrapper.js';

/** Bounds of the cache of unwrapped keys. */
export interface KeyCacheOptions {
  /** Content keys kept unwrapped in memory; with 0, every read unwraps. */
  readonly entriesMax: number;
  /** How long a key is used after its unwrapping, even if its key-encryption key was revoked. */
  readonly maxAgeMs: number;
}

interface Entry {
  readonly key: Promise<Uint8Array>;
  readonly since: number;
}

/**
 * Unwraps content keys and caches the latest, so that reading a row again, or a copy of it under
 * the same key, calls the vault once. Concurrent reads share one call.
 */
export class UnwrappedKeys {
  readonly #ring: KeyRing;
  readonly #clock: Clock;
  readonly #options: KeyCacheOptions;
  /** In the order of their unwrapping, oldest first. */
  readonly #entries = new Map<string, Entry>();

  constructor(ring: KeyRing, clock: Clock, options: KeyCacheOptions) {
    this.#ring = ring;
    this.#clock = clock;
    this.#options = options;
  }

  /** The content key. At most one `unwrapKey`. */
  unwrap({ keyId, algorithm, bytes }: WrappedContentKey): Promise<Uint8Array> {
    const { entriesMax, maxAgeMs } = this.#options;
    if (entriesMax === 0) return this.unwrapWith(keyId, algorithm, bytes);
    const name = `${algorithm} ${Buffer.from(bytes).toString('base64')} ${keyId}`;
    const now = this.#clock.monotonicMs();
    const known = this.#entries.get(name);
    if (known !== undefined && now - known.since < maxAgeMs) return known.key;
    const key = this.unwrapWith(keyId, algorithm, bytes);
    this.#entries.delete(name);
    this.#entries.set(name, { key, since: now });
    this.#trim();
    key.catch(() => this.#entries.delete(name));
    return key;
  }

  #trim(): void {
    const { entriesMax } = this.#options;
    for (const name of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax) return;
      this.#entries.delete(name);
    }
  }

  /** One `unwrapKey`. Throws `EncryptionError` when no key has the id. */
  async unwrapWith(
    keyId: string,
    algorithm: KeyWrapAlgorithm,
    bytes: Uint8Array,
  ): Promise<Uint8Array> {
    const wrapper = await this.#find(keyId);
    if (wrapper === undefined) {
      throw new EncryptionError(`The key-encryption key '${keyId}' is not known to the key ring`);
    }
    const { result } = await wrapper.unwrapKey(algorithm, bytes);
    return result;
  }

  #find(keyId: string): KeyWrapper | undefined | Promise<KeyWrapper | undefined> {
    const { wrapper } = this.#ring.current;
    return idOf(wrapper) === keyId ? wrapper : this.#ring.find(keyId);
  }
}
