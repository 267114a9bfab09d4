import { deferred } from './deferred.js';

/** A run that has started or waits for the one before it. */
interface Run {
  /** Resolves when the run has ended: true when it was completed. */
  readonly ended: Promise<boolean>;
  hasEnded: boolean;
  next: Run | undefined;
}

/**
 * Runs work for each key one after the other. Calls that come while one runs share the next: one
 * of them runs it, the others wait for it. So every call is followed by a run that starts after
 * it, and many calls take few runs.
 */
export class SharedRuns {
  readonly #runs = new Map<string, Run>();

  /**
   * The result of the work when this call ran it; undefined when another call did, and at once when
   * this one is aborted while it waits. Throws what the work throws, in the call that ran it. When
   * that call was aborted, or its work failed, the others run it again.
   */
  async run<R>(
    key: string,
    signal: AbortSignal | undefined,
    work: () => Promise<R>,
  ): Promise<R | undefined> {
    for (;;) {
      const running = this.#runs.get(key);
      if (running === undefined || running.next === undefined) {
        return this.#lead(key, running, signal, work);
      }
      if (await unlessAborted(running.next.ended, signal)) return undefined;
      if (signal?.aborted === true) return undefined;
    }
  }

  async #lead<R>(
    key: string,
    before: Run | undefined,
    signal: AbortSignal | undefined,
    work: () => Promise<R>,
  ): Promise<R | undefined> {
    const { promise: ended, resolve: end } = deferred<boolean>();
    const run: Run = { ended, hasEnded: false, next: undefined };
    if (before !== undefined) {
      before.next = run;
      if (!(await unlessAborted(before.ended.then(isOver), signal))) {
        // One of the calls that wait for this run takes its place.
        before.next = undefined;
        if (before.hasEnded) this.#runs.delete(key);
        end(false);
        return undefined;
      }
    }
    this.#runs.set(key, run);
    let isWhole = false;
    try {
      const result = await work();
      isWhole = signal?.aborted !== true;
      return result;
    } finally {
      // The next run, if there is one, takes this place when it starts.
      if (run.next === undefined) this.#runs.delete(key);
      run.hasEnded = true;
      end(isWhole);
    }
  }
}

const isOver = (): boolean => true;

/** As the promise, which never rejects; false as soon as the signal is aborted before. */
function unlessAborted(
  promise: Promise<boolean>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (signal === undefined) return promise;
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const leave = (): void => resolve(false);
    signal.addEventListener('abort', leave, { once: true });
    const stay = (value: boolean): void => {
      signal.removeEventListener('abort', leave);
      resolve(value);
    };
    void promise.then(stay);
  });
}
