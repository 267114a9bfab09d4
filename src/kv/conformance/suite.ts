import type { Clock } from '../../base/clock.js';
import type { Store } from '../store.js';

/** A store under test, and what the engine offers to disturb it. */
export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and reopens the same data. Absent when the engine keeps no data. */
  readonly reopen?: () => Promise<Store>;
  /**
   * Opens the same data in a new process: beside this one, or alone after `store` was closed.
   * Absent when an engine supports a single process.
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
  /** Disconnects from the process, which keeps its store open; resolves when it has exited. */
  readonly disconnect: () => Promise<void>;
}

/** An engine under test. */
export interface ConformanceSuite {
  readonly name: string;
  /** Opens a new, empty store. */
  readonly open: (options: { readonly clock: Clock }) => Promise<OpenedStore>;
  /** The time limit of a call, when not 20 seconds. */
  readonly callMillisMax?: number;
  /**
   * How many sequences of operations it compares with a sorted array, where that is not 60. Fewer
   * are enough for a suite that repeats another one over the same engine in another mode.
   */
  readonly modelRuns?: number;
  /** How many times a fence must stop writers at work, where that is not 6. */
  readonly fenceRounds?: number;
  /**
   * Others commit beside the suite, such as movers of ranges, so that versions may run ahead of a
   * clock that stands still.
   */
  readonly hasOtherCommits?: boolean;
  /** The abilities of the engine; tests of others are not defined. */
  readonly capabilities: {
    readonly persistent: boolean;
    readonly processes: boolean;
    readonly groupsCommits: boolean;
    /**
     * Supports guards, `fence`, `ingest` and `sample`, so that it can be a member of a composed
     * store.
     */
    readonly member: boolean;
    /** Versions rise over all partitions, as `versionsGlobal` of a served store says. */
    readonly versionsGlobal: boolean;
  };
}
