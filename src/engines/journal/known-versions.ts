import type { Bytes } from '../../base/bytes.js';
import { hasInstantVersions } from '../../kv/instant-versions.js';
import type { Store } from '../../kv/store.js';

/** When this many are known, all are forgotten: they only save time. */
const knownVersionsMax = 1_024;

/**
 * The versions of entries in the base that were asked for. None of a key that has changed since, in
 * the base or in the table over it.
 */
export class KnownVersions {
  readonly #base: Store;
  #versions: Map<string, number> | undefined = new Map();

  constructor(base: Store) {
    this.#base = base;
  }

  /** As `versionNow` of the base. `name`: `nameOfBytes` of the key. */
  versionNow(key: Bytes, name: string): number | undefined {
    return this.#versions?.get(name) ?? this.#ask(key, name);
  }

  /** Called when a key changes. */
  forget(name: string): void {
    this.#versions?.delete(name);
  }

  /** Nothing is known while all of the base is replaced. */
  async during(replacement: () => Promise<void>): Promise<void> {
    this.#versions = undefined;
    try {
      await replacement();
    } finally {
      this.#versions = new Map();
    }
  }

  #ask(key: Bytes, name: string): number | undefined {
    const version = hasInstantVersions(this.#base) ? this.#base.versionNow(key) : undefined;
    if (version === undefined || this.#versions === undefined) return version;
    if (this.#versions.size >= knownVersionsMax) this.#versions.clear();
    this.#versions.set(name, version);
    return version;
  }
}
