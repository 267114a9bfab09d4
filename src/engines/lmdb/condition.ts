import { StoreFailedError, StoreWriteError } from '../../kv/errors.js';
import type { StoreEvents } from '../../kv/served-store.js';
import type { Environment } from './environment.js';
import type { Timers } from '../../base/async/timers.js';
import { FileWatch } from './file-watch.js';

/** A key that is never stored. */
const probeKey = Buffer.of(0);

export interface ConditionOptions {
  /** The files that must stay at their paths. */
  readonly files: readonly string[];
  readonly timers: Timers;
  readonly events: Partial<StoreEvents>;
}

/** The state of a store: whether it can write, and whether it has failed for good. */
export class StoreCondition {
  readonly #environment: Environment;
  readonly #watch: FileWatch;
  readonly #events: Partial<StoreEvents>;
  #failure: StoreFailedError | undefined;

  constructor(environment: Environment, { files, timers, events }: ConditionOptions) {
    this.#environment = environment;
    this.#events = events;
    this.#watch = new FileWatch(files, {
      timers,
      events: {
        lost: (error) => events.detached?.(error),
        found: () => events.restored?.(),
        shrunk: (reason) => this.#end(`${reason} Restore a backup of the data directory.`),
      },
    });
  }

  /** Stops watching the files. */
  close(): void {
    this.#watch.close();
  }

  /** The failure of the store; undefined while it works. */
  get failure(): StoreFailedError | undefined {
    return this.#failure;
  }

  get trouble(): Error | undefined {
    return this.#failure ?? this.#watch.trouble;
  }

  /** Why a commit is refused; undefined when it is not. Missing files are looked for again. */
  refusal(): Error | undefined {
    if (this.#failure !== undefined) return this.#failure;
    return this.#watch.trouble === undefined ? undefined : this.detachment();
  }

  /** Why a written commit is not acknowledged: its file is no longer at its path. */
  detachment(): Error | undefined {
    const lost = this.#watch.check();
    if (this.#failure !== undefined) return this.#failure;
    return lost && new StoreWriteError(`Nothing is written: ${lost.message}`, { cause: lost });
  }

  /** Marks the store as failed. The first reason is kept. */
  fail(reason: string, cause?: unknown): StoreFailedError {
    const advice = 'What was acknowledged is kept. End the process and start it again.';
    return this.#end(`${reason} ${advice}`, cause);
  }

  #end(reason: string, cause?: unknown): StoreFailedError {
    if (this.#failure !== undefined) return this.#failure;
    const error = new StoreFailedError(`The storage engine cannot go on: ${reason}`, { cause });
    this.#failure = error;
    this.#watch.close();
    this.#events.failed?.(error);
    return error;
  }

  /**
   * After a failed write: a read shows whether the environment still works; if not, the store has
   * failed. Another write would then wait for ever.
   */
  classify(cause: unknown): StoreFailedError | undefined {
    if (this.#failure !== undefined) return this.#failure;
    const { entries } = this.#environment;
    try {
      entries.get(probeKey);
    } catch {
      return this.fail('the disk failed in the middle of a commit.', cause);
    } finally {
      entries.endRead();
    }
    return undefined;
  }
}
