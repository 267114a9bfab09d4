import type { MemberStore } from '../../../src/kv/member-store.js';
import type { MoveStep } from '../../../src/partition/rows.js';
import type { Point } from './points.js';

/** Ends this process with `kill -9` when work on a range has come to a moment. */
export class Killing {
  readonly #point: Point;
  #isReached: boolean;
  #hasPassed = false;

  constructor(point: Point) {
    this.#point = point;
    this.#isReached = point.kind !== 'move';
  }

  /** A step has begun. */
  readonly onStep = (step: MoveStep): void => {
    const point = this.#point;
    if (point.kind !== 'move') return;
    // A step without a write ends where the next begins.
    if (this.#isReached && step !== point.step) this.#hasPassed = true;
    if (this.#hasPassed) return void die();
    if (step !== point.step) return;
    if (point.moment === 'before') return void die();
    this.#isReached = true;
  };

  /** The store as the process that works on the range sees it. */
  wrap(store: MemberStore): MemberStore {
    return {
      get: (key, options) => store.get(key, options),
      getMany: (keys, options) => store.getMany(keys, options),
      range: (range, options) => store.range(range, options),
      sample: (range, cuts, options) => store.sample(range, cuts, options),
      commit: (batch) => this.#around(() => store.commit(batch), false),
      fence: (batch) => this.#around(() => store.fence(batch), true),
      ingest: (ingestion) => this.#around(() => store.ingest(ingestion), false),
      close: () => store.close(),
    };
  }

  /** Dies around the first write behind the step, or around the fence of a split or merge. */
  async #around<Result>(write: () => Promise<Result>, isFence: boolean): Promise<Result> {
    const isIt = this.#isReached && (this.#point.kind === 'move' || isFence);
    if (isIt && this.#point.moment === 'before') return die();
    const result = await write();
    if (isIt) return die();
    return result;
  }
}

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise<never>(() => undefined);
}
