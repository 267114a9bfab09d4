import { nameOf, type Bytes } from './bytes.js';

/** Rows that are removed side by side. */
const removalsEach = 16;
/** Rows that wait, at most. More of them stay where they are: they only take space. */
const waitingMax = 100_000;

interface Superseded {
  readonly prefix: Bytes;
  readonly row: Bytes;
  readonly version: number;
  readonly sinceMs: number;
  /** What was superseded of the same entry while this one waits. */
  readonly later?: Superseded;
}

export interface SupersededOptions {
  readonly monotonicMs: () => number;
  /** Reads may need versions for so long after they were superseded, in milliseconds. */
  readonly neededMs: number;
  readonly remove: (prefix: Bytes, row: Bytes, version: number) => Promise<void>;
}

/** Versions that this process has superseded, until no read needs them any more. */
export class SupersededVersions {
  readonly #options: SupersededOptions;
  /** By prefix and row, oldest first. */
  readonly #waiting = new Map<string, Superseded>();

  constructor(options: SupersededOptions) {
    this.#options = options;
  }

  /** Versions of an entry up to this one. */
  add(prefix: Bytes, row: Bytes, version: number): void {
    const name = nameOf(Buffer.concat([prefix, row]));
    const waiting = this.#waiting.get(name);
    if (waiting === undefined && this.#waiting.size >= waitingMax) return;
    const added = { prefix, row, version, sinceMs: this.#options.monotonicMs() };
    this.#waiting.set(name, waiting === undefined ? added : { ...waiting, later: added });
  }

  /** Removes those that no read needs any more. */
  async removeOld(): Promise<void> {
    const { monotonicMs, neededMs, remove } = this.#options;
    for (;;) {
      const until = monotonicMs() - neededMs;
      const old: Superseded[] = [];
      for (const [name, each] of this.#waiting) {
        if (each.sinceMs > until || old.length === removalsEach) break;
        old.push(each);
        this.#waiting.delete(name);
        if (each.later !== undefined) this.#waiting.set(name, each.later);
      }
      if (old.length === 0) return;
      await Promise.all(old.map(({ prefix, row, version }) => remove(prefix, row, version)));
    }
  }
}
