import type { StoreFailedError } from './errors.js';
import type { Store } from './store.js';

/** Events of a store beside the results of its calls. Handlers must not throw. */
export interface StoreEvents {
  /**
   * The store has failed. Called once. The process must exit without waiting for the engine, which
   * may be stuck in a call.
   */
  failed(error: StoreFailedError): void;
  /** The files of the store are no longer at their paths. Writes are refused until `restored`. */
  detached(error: Error): void;
  restored(): void;
  /** Progress of the check of the files before the store opens. */
  checking(done: number, total: number): void;
  /** Other users may have access to the files. The text is for people. */
  exposed(warning: string): void;
  /** Opening waits for another process that holds the lock. The text is for people. */
  waiting(message: string): void;
  /** Snapshots of processes that died could not be freed: the files may grow. */
  uncheckedReaders(error: unknown): void;
  /** The files could not be read into the cache of the system. */
  unread(error: unknown): void;
  /** The owner record could not be removed on close. The next start treats the owner as dead. */
  unreleased(error: unknown): void;
}

/** The space of the files of a store, in bytes. */
export interface StoreSpace {
  /** The unused bytes in its files, which writes use first. */
  readonly reusableBytes: number;
  /** The acknowledged bytes that are not in their final place yet. */
  readonly owedBytes: number;
}

/** A store that reports its state. */
export interface ServedStore extends Store {
  /** Versions increase over all partition prefixes, which is more than the contract promises. */
  readonly versionsGlobal: boolean;
  /** The greatest version given out so far by any process, including earlier runs; else 0. */
  lastVersion(): Promise<number>;
  /** Absent: the store has no files. */
  space?(): StoreSpace;
  /**
   * Why the store cannot do all of its work, for a while or for good; undefined when it can. Never
   * throws.
   */
  trouble(): Error | undefined;
  /**
   * Whether commits that it had acknowledged since it was opened were lost, also when it continues
   * without them. Absent: the store loses none. Never throws.
   */
  hasLost?(): boolean;
}
