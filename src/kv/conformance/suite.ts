import type { Clock } from '../../base/clock.js';
import type { Store } from '../store.js';

/** A store under test, and the ways to disturb it that the engine has. */
export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens the same data again. Absent when the engine forgets its data. */
  readonly reopen?: () => Promise<Store>;
  /**
   * Opens the same data in a new process: as a further one beside this, or as the only one after
   * `store` was closed. Absent when one process is all that the engine serves.
   */
  readonly spawn?: (role: 'beside' | 'alone') => Promise<SpawnedStore>;
  /** Commits made, and the syncs that made them durable. Absent when the engine does not sync. */
  readonly stats?: () => { readonly commits: number; readonly syncs: number };
  /** Closes whatever is open and removes the data. */
  readonly dispose: () => Promise<void>;
}

export interface SpawnedStore {
  readonly store: Store;
  /** Ends the process at once, as the system would (SIGKILL). */
  readonly kill: () => Promise<void>;
  /** Leaves the process to itself, with its store open; resolves when it has ended. */
  readonly disconnect: () => Promise<void>;
}

/** An engine, as the suite sees it. */
export interface ConformanceSuite {
  readonly name: string;
  /** Opens a new, empty store. */
  readonly open: (options: { readonly clock: Clock }) => Promise<OpenedStore>;
  /** How long a call may take, where that is not 20 seconds. */
  readonly callMillisMax?: number;
  /** What the engine is able to do; tests of the rest are not defined. */
  readonly capabilities: {
    readonly persistent: boolean;
    readonly processes: boolean;
    readonly groupsCommits: boolean;
    /** Guards, `fence`, `ingest` and `sample`: it can be a member of a store made of stores. */
    readonly member: boolean;
    /** Versions rise over all partitions, as `versionsGlobal` of a served store says. */
    readonly versionsGlobal: boolean;
  };
}
