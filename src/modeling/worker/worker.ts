import { requireCounts } from '../definition/count.js';
import { systemClock, type Clock } from '../../base/clock.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { backOffs } from '../table/back-offs.js';
import { DefinitionError } from '../table/errors.js';
import { backOff, type BackOff } from '../../base/async/back-off.js';
import { Deliverer, type QueueSource } from './deliverer.js';
import type { TextEncoding } from './envelope.js';
import type { MessageHandler } from './handler.js';
import { messagesPerRequestMax, visibilitySecondsMax, type ReceivedMessage } from './queue-port.js';
import { sleep } from '../../base/async/sleep.js';
import { Slots } from '../../base/async/slots.js';
import { isTransient, retryTransient } from '../table/transient.js';
import type { DeliveryEvent, WorkerEvent, WorkerObserver } from './worker-event.js';

/** The options of a worker. */
export interface WorkerOptions {
  /**
   * Served concurrently, with equal shares of the concurrency. Several workers may serve a queue.
   */
  readonly sources: readonly QueueSource[];
  readonly handlers: readonly MessageHandler[];
  /** Messages processed at a time. Default 8. */
  readonly concurrency?: number;
  /**
   * Seconds, 1 to 604,800, for which a message is hidden from others; renewed while its handler
   * runs. After a crash it comes again when they end. Default 60.
   */
  readonly visibilitySeconds?: number;
  /**
   * Deliveries that fail, or never end, before a message is poisoned. Default 5. Those to programs
   * that do not know its type or version do not count: such a message waits.
   */
  readonly dequeueMax?: number;
  /**
   * Transient failures, such as those of a busy service, that do not count towards `dequeueMax`;
   * further ones do. Default 100.
   */
  readonly transientMax?: number;
  /** How long a failed message is hidden. Default 1 to 300 seconds. */
  readonly failureBackOffSeconds?: BackOff;
  /** The wait before an empty queue is asked again. Default 100 to 10,000 ms. */
  readonly idleBackOffMs?: BackOff;
  /** How long `run`, once stopped, waits before it aborts the handlers' signals. Default 30,000. */
  readonly stopGraceMs?: number;
  /** How the worker sends texts; both encodings are read. Default `text`. */
  readonly encoding?: TextEncoding;
  /** Called for every event. What it throws stops the worker. */
  readonly observer?: WorkerObserver;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/** The number of deliveries by how they ended. */
export type DrainReport = Readonly<Record<DeliveryEvent['kind'], number>>;

/** How long handlers may run on after their signals were aborted. */
const abandonedMs = 1000;
const requestRetries = { attemptsMax: 5, backOffMs: backOffs.request };

/**
 * Processes the messages of one or several queues, many at a time.
 *
 * Sends one get for up to 32 messages, as many as can be started at once; one delete for each
 * finished message; one update for each failed one; one put and one delete for each poisoned one;
 * one update for each half of the visibility timeout that a handler takes. An empty queue is asked
 * again after a wait that doubles.
 *
 * Every message is handled at least once, in no particular order.
 */
export class QueueWorker {
  readonly #options: Required<WorkerOptions>;
  readonly #handlers: ReadonlyMap<string, MessageHandler>;

  /** Throws `DefinitionError` for invalid options. Sends nothing. */
  constructor(options: WorkerOptions) {
    this.#options = {
      concurrency: 8,
      visibilitySeconds: 60,
      dequeueMax: 5,
      transientMax: 100,
      failureBackOffSeconds: { first: 1, last: 300 },
      idleBackOffMs: backOffs.idle,
      stopGraceMs: 30_000,
      encoding: 'text',
      observer: () => undefined,
      clock: systemClock,
      timers: holdingTimers,
      randomness: systemRandomness,
      ...options,
    };
    checkOptions(this.#options);
    this.#handlers = new Map(options.handlers.map((handler) => [handler.type, handler]));
  }

  /**
   * Runs until the signal is aborted. Then it gets no more messages, waits for running handlers,
   * aborts the signals of those that run longer than `stopGraceMs`, makes their messages visible at
   * once when they reject, and resolves. When the service permanently refuses the worker's own
   * requests, for example because a queue does not exist, it stops in the same way and rejects.
   */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const run = new WorkerRun(this.#options, this.#handlers, signal);
    await run.end(Promise.all(this.#options.sources.map((source) => run.poll(source))));
  }

  /**
   * Runs until every queue is empty and no message is being processed, including those that
   * handlers put meanwhile. Does not wait for hidden messages: failed or delayed ones, and those of
   * other workers. Stops early, as `run` does, when the signal is aborted.
   */
  async drain({ signal }: { readonly signal?: AbortSignal } = {}): Promise<DrainReport> {
    const run = new WorkerRun(this.#options, this.#handlers, signal);
    await run.end(run.drain());
    return run.report;
  }
}

function checkOptions(options: Required<WorkerOptions>): void {
  const { sources, handlers, concurrency, visibilitySeconds, dequeueMax } = options;
  if (sources.length === 0) throw new DefinitionError('a worker needs at least one queue');
  for (const { queue, poison } of sources) {
    if (queue === poison)
      throw new DefinitionError(`'${queue.name}' cannot be its own poison queue`);
  }
  const types = handlers.map(({ type }) => type);
  const twice = types.find((type, index) => types.indexOf(type) !== index);
  if (twice !== undefined) throw new DefinitionError(`two handlers for '${twice}'`);
  requireCounts({ concurrency, dequeueMax }, { max: 10_000 });
  requireCounts({ visibilitySeconds }, { max: visibilitySecondsMax });
}

/** One call of `run` or `drain`. */
class WorkerRun {
  readonly #options: Required<WorkerOptions>;
  readonly #handlers: ReadonlyMap<string, MessageHandler>;
  readonly #slots: Slots;
  readonly #failure = new AbortController();
  readonly #abandon = new AbortController();
  readonly #stop: AbortSignal;
  readonly #counts = { handled: 0, failed: 0, poisoned: 0, released: 0, lost: 0 };

  constructor(
    options: Required<WorkerOptions>,
    handlers: ReadonlyMap<string, MessageHandler>,
    signal: AbortSignal | undefined,
  ) {
    this.#options = options;
    this.#handlers = handlers;
    this.#slots = new Slots(options.concurrency);
    this.#stop = AbortSignal.any([this.#failure.signal, ...(signal === undefined ? [] : [signal])]);
  }

  get report(): DrainReport {
    return { ...this.#counts };
  }

  /** Gets messages of one queue and starts processing them, until the run stops. */
  async poll(source: QueueSource): Promise<void> {
    const { timers, randomness, idleBackOffMs } = this.#options;
    const deliverer = this.#delivererOf(source);
    let misses = 0;
    while (!this.#stop.aborted) {
      let begun = 0;
      try {
        begun = await this.#beginSome(source, deliverer);
      } catch (error) {
        if (!isTransient(error)) return this.#fail(error);
        this.#observe({ kind: 'retried', queue: source.queue.name, error });
      }
      misses = begun > 0 ? 0 : misses + 1;
      if (misses > 0) {
        await sleep(timers, backOff(idleBackOffMs, misses, randomness), this.#stop);
      }
    }
  }

  async drain(): Promise<void> {
    let begun = 1;
    while (begun > 0 && !this.#stop.aborted) {
      const counts = this.#options.sources.map((source) => this.#drainOnce(source));
      begun = (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
      await Promise.race([this.#slots.idle(), this.#stopped()]);
    }
  }

  /** Waits for the work; after a stop, only for a bounded time. Throws what stopped it. */
  async end(work: Promise<unknown>): Promise<void> {
    const { timers, stopGraceMs } = this.#options;
    const finished = work.then(() => this.#slots.idle());
    await Promise.race([finished, this.#stopped()]);
    const waiting = new AbortController();
    let isFinished = false;
    const markFinished = () => (isFinished = true);
    void finished.then(markFinished, markFinished);
    await Promise.race([finished, sleep(timers, stopGraceMs, waiting.signal)]);
    if (!isFinished) {
      this.#abandon.abort(new Error('the worker stops'));
      await Promise.race([finished, sleep(timers, abandonedMs, waiting.signal)]);
    }
    waiting.abort();
    if (this.#failure.signal.aborted) throw this.#failure.signal.reason;
  }

  /** Gets messages until there are none. */
  async #drainOnce(source: QueueSource): Promise<number> {
    const { timers, randomness } = this.#options;
    const deliverer = this.#delivererOf(source);
    const onRetry = (error: unknown) =>
      this.#observe({ kind: 'retried', queue: source.queue.name, error });
    let total = 0;
    while (!this.#stop.aborted) {
      try {
        const retries = { ...requestRetries, timers, randomness, onRetry, signal: this.#stop };
        const begun = await retryTransient(retries, () => this.#beginSome(source, deliverer));
        if (begun === 0) break;
        total += begun;
      } catch (error) {
        this.#fail(error);
      }
    }
    return total;
  }

  /** One get, for as many messages as can be started at once. Returns the number started. */
  async #beginSome({ queue }: QueueSource, deliverer: Deliverer): Promise<number> {
    const { sources, concurrency, visibilitySeconds, clock } = this.#options;
    const share = Math.max(1, Math.floor(concurrency / sources.length));
    let taken = await this.#slots.take(Math.min(share, messagesPerRequestMax), this.#stop);
    try {
      if (this.#stop.aborted) return 0;
      const grantedAtMs = clock.monotonicMs();
      const { receivedMessageItems: messages } = await queue.receiveMessages({
        numberOfMessages: taken,
        visibilityTimeout: visibilitySeconds,
      });
      // Messages that arrive after the worker stopped waiting are left; they become visible again.
      if (this.#abandon.signal.aborted) return 0;
      for (const message of messages) {
        taken -= 1;
        void this.#deliver(deliverer, message, grantedAtMs);
      }
      return messages.length;
    } finally {
      this.#slots.give(taken);
    }
  }

  async #deliver(
    deliverer: Deliverer,
    message: ReceivedMessage,
    grantedAtMs: number,
  ): Promise<void> {
    try {
      const event = await deliverer.deliver(message, grantedAtMs);
      this.#counts[event.kind] += 1;
      this.#observe(event);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#slots.give(1);
    }
  }

  /** Called from timers, too, where nothing would catch what the observer throws. */
  readonly #observe = (event: WorkerEvent): void => {
    try {
      this.#options.observer(event);
    } catch (error) {
      this.#fail(error);
    }
  };

  #fail(error: unknown): void {
    this.#failure.abort(error);
  }

  #stopped(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stop.aborted) return resolve();
      this.#stop.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  #delivererOf(source: QueueSource): Deliverer {
    const options = this.#options;
    const observe = this.#observe;
    const abandon = this.#abandon.signal;
    return new Deliverer({
      ...options,
      source,
      handlers: this.#handlers,
      requestRetries,
      abandon,
      observe,
    });
  }
}

/** A worker of a queue. Throws `DefinitionError` for invalid options. Sends nothing. */
export function queueWorkerOf(options: WorkerOptions): QueueWorker {
  return new QueueWorker(options);
}
