import type { Store } from '../../src/kv/index.js';
import { partitionRows } from '../dataset.js';
import { progress } from '../progress.js';
import { closedLoop, type LoopOptions, type LoopResult } from './closed-loop.js';
import { callersOf, type EngineKind, type EnginePlan } from './kinds.js';
import { StoreWork } from './store-work.js';
import { openStore, type StoreEngine } from './stores.js';

/** Rows between two lines of progress. */
const progressRows = 100_000;
/** Commits under way while the store is filled. */
const fillersMax = 4;

/**
 * A store of an engine. Between measurements it is closed and opened again, unless it would lose
 * its rows.
 */
export class StoreBench {
  readonly #engine: StoreEngine;
  readonly #directory: string;
  readonly #plan: EnginePlan;
  readonly #work: StoreWork;
  #store: Store;

  private constructor(engine: StoreEngine, directory: string, plan: EnginePlan, store: Store) {
    this.#engine = engine;
    this.#directory = directory;
    this.#plan = plan;
    this.#work = new StoreWork(plan.rows);
    this.#store = store;
  }

  static async open(engine: StoreEngine, directory: string, plan: EnginePlan): Promise<StoreBench> {
    return new StoreBench(engine, directory, plan, await openStore(engine, directory));
  }

  async fill(name: string): Promise<void> {
    const calls = this.#work.filling();
    let filled = 0;
    const fill = async (): Promise<void> => {
      for (const call of calls) {
        await call(this.#store);
        filled += partitionRows;
        if (filled % progressRows === 0) progress(`${name}: ${filled} of ${this.#plan.rows} rows`);
      }
    };
    await Promise.all(Array.from({ length: fillersMax }, fill));
    await this.#reopen();
  }

  async measure(kind: EngineKind): Promise<LoopResult> {
    const callers = callersOf(kind, this.#plan.callers);
    const call = async (): Promise<number> => {
      await this.#work.next(kind)(this.#store);
      return 1;
    };
    await closedLoop(call, { callers, durationMs: this.#plan.warmupMs });
    await this.#reopen();
    const options: LoopOptions = { callers, durationMs: this.#plan.seconds * 1000 };
    const result = this.#engine.isDrained
      ? await closedLoop(call, { ...options, settle: () => this.#store.close() })
      : await closedLoop(call, options);
    await this.#reopen();
    return result;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  /** Ends all background work of earlier commits. */
  async #reopen(): Promise<void> {
    if (this.#engine.storage === 'memory') return;
    await this.#store.close();
    this.#store = await openStore(this.#engine, this.#directory);
  }
}
