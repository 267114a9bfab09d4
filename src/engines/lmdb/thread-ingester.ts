import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { within } from '../../base/async/deadline.js';
import { Gate } from '../../base/async/gate.js';
import type { Timers } from '../../base/async/timers.js';
import { messageOf } from '../../base/thrown.js';
import type { Ingestion } from '../../kv/ingestion.js';
import type { StoreCondition } from './condition.js';
import { stallMs, unknownOutcome, writeError } from './group-commit.js';
import { memoryOf, packIngestion } from './packed-ingestion.js';
import { writeInThread } from './write-transaction.js';
import type { ThreadReply, ThreadRequest, WriterThreadData } from './writer-thread.js';

export interface ThreadIngesterOptions extends WriterThreadData {
  readonly condition: StoreCondition;
  readonly timers: Timers;
}

/**
 * Writes ingestions in a separate thread, one transaction after the other, so that large ones do
 * not block the main thread.
 */
export class ThreadIngester {
  readonly #options: ThreadIngesterOptions;
  readonly #thread: Worker;
  /** One request is in the thread at a time. */
  readonly #gate = new Gate(1);
  #settle: ((reply: ThreadReply) => void) | undefined;
  #hasEnded = false;

  private constructor(options: ThreadIngesterOptions, thread: Worker) {
    this.#options = options;
    this.#thread = thread;
    thread.on('message', (reply: ThreadReply) => this.#settle?.(reply));
    thread.on('error', (error) => this.#fail(messageOf(error)));
    thread.on('exit', () => {
      this.#hasEnded = true;
      this.#fail('it has ended');
    });
    thread.unref();
  }

  static async open(options: ThreadIngesterOptions): Promise<ThreadIngester> {
    const { directory, sync, ownerRecord } = options;
    const workerData: WriterThreadData = { directory, sync, ownerRecord };
    const thread = new Worker(new URL('writer-thread.js', import.meta.url), { workerData });
    await once(thread, 'online');
    return new ThreadIngester(options, thread);
  }

  /** Applies all of it or nothing, durably, as `MemberStore.ingest` without a guard. */
  async ingest(ingestion: Ingestion): Promise<void> {
    const { condition, timers } = this.#options;
    const refusal = condition.refusal();
    if (refusal !== undefined) throw refusal;
    const late = () => condition.fail(`an ingestion did not end within ${stallMs / 1000} s.`);
    const work = writeInThread(() => this.#gate.run(() => this.#send(ingestion)));
    const reply = await within(work, { limitMs: stallMs, timers, late });
    if (reply.kind === 'taken-over') {
      throw condition.fail('another process took over its data directory.');
    }
    if (reply.kind === 'failed') {
      const refused = writeError(new Error(reply.reason));
      throw condition.classify(refused.cause) ?? refused;
    }
    const detachment = condition.detachment();
    if (detachment !== undefined) throw unknownOutcome(detachment.cause);
  }

  /** Resolves when the thread has ended; all accepted work has been written by then. */
  async close(): Promise<void> {
    await this.#gate.run(async () => {
      if (this.#hasEnded) return;
      this.#settle = () => undefined;
      this.#thread.removeAllListeners('exit');
      const ended = once(this.#thread, 'exit');
      this.#thread.ref();
      this.#thread.postMessage('close' satisfies ThreadRequest, []);
      await ended;
    });
  }

  async #send(ingestion: Ingestion): Promise<ThreadReply> {
    if (this.#hasEnded) return { kind: 'failed', reason: 'the thread that writes has ended' };
    // Keeps the process alive while it waits for an answer.
    this.#thread.ref();
    try {
      return await new Promise((resolve) => {
        this.#settle = resolve;
        const packed = packIngestion(ingestion);
        this.#thread.postMessage(packed satisfies ThreadRequest, memoryOf(packed));
      });
    } finally {
      this.#settle = undefined;
      this.#thread.unref();
    }
  }

  #fail(reason: string): void {
    this.#options.condition.fail(
      `the thread that writes to the data file cannot go on: ${reason}.`,
    );
    this.#settle?.({ kind: 'failed', reason });
  }
}
