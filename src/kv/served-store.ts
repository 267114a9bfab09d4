import type { StoreFailedError } from './errors.js';
import type { Store } from './store.js';

/** What a store tells beside the results of its calls. None of them throws. */
export interface StoreEvents {
  /**
   * The store can do no more work. Called once. The process has to end, without waiting for
   * anything of the engine: it may be stuck in the middle of a call.
   */
  failed(error: StoreFailedError): void;
  /** The files of the store are not where they were. Writes are refused until `restored`. */
  detached(error: Error): void;
  restored(): void;
  /** Before a store opens: how much of its files was read to see whether they are intact. */
  checking(done: number, total: number): void;
  /** Others than the owner of its files may have access to them. The text is for people. */
  exposed(warning: string): void;
  /** Opening takes long, because another process holds what it needs. The text is for people. */
  waiting(message: string): void;
  /** The owner's mark could not be taken away at the close. The next start takes it for dead. */
  unreleased(error: unknown): void;
}

/** A store that can tell how it is. */
export interface ServedStore extends Store {
  /** Whether versions rise over all partition prefixes: more than the contract promises. */
  readonly versionsGlobal: boolean;
  /** The greatest version given out so far, by any process and before restarts; else 0. */
  lastVersion(): Promise<number>;
  /** Why it cannot do all of its work, now or for good; undefined while it can. */
  trouble(): Error | undefined;
}
