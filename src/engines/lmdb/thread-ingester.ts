import { Worker } from 'node:worker_threads';
import { within } from '../../base/async/deadline.js';
import { Gate } from '../../base/async/gate.js';
import { endOf } from '../../base/async/thread-end.js';
import type { Timers } from '../../base/async/timers.js';
import { messageOf } from '../../base/thrown.js';
import { unknownOutcome } from '../../kv/errors.js';
import type { Ingestion } from '../../kv/ingestion.js';
import type { StoreCondition } from './condition.js';
import { stallMs, writeError } from './group-commit.js';
import { memoryOf, packIngestion } from './packed-ingestion.js';
import { writeInThread } from './write-transaction.js';
import type { ThreadReply, ThreadRequest, WriterThreadData } from './writer-thread.js';

export interface ThreadIngesterOptions extends WriterThreadData {
  readonly which: 'large' | 'all';
  readonly condition: StoreCondition;
  readonly timers: Timers;
  readonly startThread?: (workerData: WriterThreadData) => Worker;
}

/**
 * The entries and bytes up to which the main thread writes an ingestion as fast as it would hand it
 * over.
 */
const smallKeys = 16;
const smallBytes = 32 * 1024;

/**
 * Writes ingestions in a separate thread, one transaction after the other, so that large ones do
 * not block the main thread. The first one starts the thread, so that a store without ingestions
 * opens sooner.
 */
export class ThreadIngester {
  readonly #options: ThreadIngesterOptions;
  #thread: Worker | undefined;
  /** One request is in the thread at a time. */
  readonly #gate = new Gate(1);
  #settle: ((reply: ThreadReply) => void) | undefined;

  constructor(options: ThreadIngesterOptions) {
    this.#options = options;
  }

  /** Whether the thread takes this ingestion. */
  takes({ entries, deletes }: Ingestion): boolean {
    if (this.#options.which === 'all') return true;
    if (entries.length + deletes.length > smallKeys) return true;
    return entries.reduce((sum, { value }) => sum + value.length, 0) > smallBytes;
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
      const thread = this.#thread;
      if (thread === undefined) return;
      this.#settle = () => undefined;
      thread.removeAllListeners('exit');
      const ended = endOf(thread);
      thread.ref();
      thread.postMessage('close' satisfies ThreadRequest, []);
      await ended;
    });
  }

  async #send(ingestion: Ingestion): Promise<ThreadReply> {
    let thread: Worker;
    try {
      thread = this.#thread ??= this.#start();
    } catch (error) {
      // The system has no means for another thread; a later ingestion asks for it again.
      return { kind: 'failed', reason: `no thread can be started: ${messageOf(error)}` };
    }
    // Keeps the process alive while it waits for an answer.
    thread.ref();
    try {
      return await new Promise((resolve) => {
        this.#settle = resolve;
        const packed = packIngestion(ingestion);
        thread.postMessage(packed satisfies ThreadRequest, memoryOf(packed));
      });
    } finally {
      this.#settle = undefined;
      thread.unref();
    }
  }

  #start(): Worker {
    const { directory, sync, ownerRecord, startThread = startWriterThread } = this.#options;
    const thread = startThread({ directory, sync, ownerRecord });
    thread.on('message', (reply: ThreadReply) => this.#settle?.(reply));
    thread.on('error', (error) => this.#fail(messageOf(error)));
    thread.on('exit', () => {
      this.#thread = undefined;
      this.#fail('it has ended');
    });
    return thread;
  }

  #fail(reason: string): void {
    this.#options.condition.fail(
      `the thread that writes to the data file cannot go on: ${reason}.`,
    );
    this.#settle?.({ kind: 'failed', reason });
  }
}

function startWriterThread(workerData: WriterThreadData): Worker {
  return new Worker(new URL('writer-thread.js', import.meta.url), { workerData });
}
