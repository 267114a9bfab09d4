import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Gate } from '../../base/async/gate.js';
import { endOf } from '../../base/async/thread-end.js';
import type { Timers } from '../../base/async/timers.js';
import type { HoldThreadData } from './hold-thread.js';
import { holdReply, holdRequest } from './hold-protocol.js';

/** An opening takes milliseconds. After this time commits go on, whatever becomes of it. */
const holdMsMax = 5_000;

export interface OpeningHoldsOptions {
  readonly directory: string;
  readonly sync: boolean;
  readonly timers: Timers;
  readonly startThread?: (workerData: HoldThreadData) => Worker;
}

/**
 * Keeps all processes from committing while another one opens the data file. LMDB takes no lock at
 * an opening: it reads which transaction is the last, and a moment later stores that for all
 * processes. A commit between the two would be forgotten, and its pages overwritten.
 */
export class OpeningHolds {
  readonly #options: OpeningHoldsOptions;
  readonly #gate = new Gate(1);

  constructor(options: OpeningHoldsOptions) {
    this.#options = options;
  }

  /** Serves a connection to the owner's socket; one that only looks for the owner just ends. */
  readonly serve = (connection: Socket): void => {
    connection.once('data', (bytes) => {
      if (bytes.toString() === holdRequest) void this.#gate.run(() => this.#hold(connection));
      else connection.destroy();
    });
  };

  /** Resolves when no hold is left; the connections must have been closed. */
  close(): Promise<void> {
    return this.#gate.run(() => Promise.resolve());
  }

  async #hold(connection: Socket): Promise<void> {
    if (connection.destroyed) return;
    const { directory, sync, timers } = this.#options;
    const released = new Int32Array(new SharedArrayBuffer(4));
    connection.once('close', () => {
      Atomics.store(released, 0, 1);
      Atomics.notify(released, 0);
    });
    const end = (): void => void connection.destroy();
    const thread = this.#started({ directory, sync, released });
    if (thread === undefined) return end();
    thread.on('message', () => connection.write(holdReply));
    // The other process asks again, and reports when that fails too.
    thread.on('error', end);
    const timer = timers.start(holdMsMax, end, undefined);
    await endOf(thread);
    timer.close();
    end();
  }
  /** Undefined when the system has no means for another thread. */
  #started(workerData: HoldThreadData): Worker | undefined {
    const { startThread = startHoldThread } = this.#options;
    try {
      return startThread(workerData);
    } catch {
      return undefined;
    }
  }
}

function startHoldThread(workerData: HoldThreadData): Worker {
  return new Worker(new URL('hold-thread.js', import.meta.url), { workerData });
}
