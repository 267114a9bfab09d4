import type { Randomness } from '../../../base/randomness.js';
import { InFlight } from '../../../base/async/in-flight.js';
import type { Timer, Timers } from '../../../base/async/timers.js';
import { LogBatch, type LogLine } from './log-batch.js';
import type { LogBlobs } from './log-blobs.js';
import { hourOf } from './log-blob-name.js';
import { metadataOf } from './log-metadata.js';
import { LogSequence } from './log-sequence.js';
import type { LineWriter } from './line-writer.js';

/** The bounds of the buffer. */
export interface LogBuffering {
  /**
   * A blob is written when its lines reach this size in bytes. 1 MiB when absent; 16 MiB at most.
   */
  readonly bytesMax?: number;
  /** A blob is written when its first line has waited this long. One minute when absent. */
  readonly ageMsMax?: number;
  /**
   * Called when a blob could not be written in time. Its records are kept, and written with the
   * next blob, `flush` or `close`.
   */
  readonly onError: (error: unknown) => void;
}

/** Full buffers that may wait for the service before writers have to wait. */
const waitingMax = 4;
const ageMsDefault = 60_000;
export const bufferBytesDefault = 1_048_576;
export const bufferBytesLimit = 16 * 1_048_576;

interface Parts {
  readonly blobs: LogBlobs;
  readonly source: string;
  readonly buffering: LogBuffering;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

/**
 * Buffers lines and writes each blob with one put. A line waits in the **open** batch until the
 * batch is full or old, gets a line of another hour, or is flushed. The batch is then **sealed**
 * and waits to be put. Sealed batches are put one after another; one that fails stays first and is
 * retried as the same batch, so that nothing is lost or written twice while the process lives.
 */
export class BufferedLogWriter implements LineWriter {
  readonly #parts: Parts;
  readonly #sequence: LogSequence;
  readonly #sealed: LogBatch[] = [];
  #open: LogBatch | undefined;
  #timer: Timer | undefined;
  #draining: Promise<void> | undefined;
  /** Writes that have not accepted their lines yet. */
  readonly #writes = new InFlight();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sequence = new LogSequence(parts.blobs, parts.source);
  }

  write(line: LogLine): Promise<void> {
    return this.#writes.during(() => this.#accept(line));
  }

  async flush(): Promise<void> {
    this.#seal();
    const last = this.#sealed.at(-1);
    await this.#drainWhile(() => last !== undefined && this.#sealed.includes(last));
  }

  async close(): Promise<void> {
    await this.#writes.none();
    await this.flush();
  }

  async #accept(line: LogLine): Promise<void> {
    // Waits before the line is accepted: when a write fails, its line is certainly not in the log.
    for (;;) {
      if (!this.#hasRoom(line) && this.#seal()) this.#drainBehind();
      if (this.#sealed.length <= waitingMax) break;
      await this.#drainWhile(() => this.#sealed.length > waitingMax);
    }
    this.#open ??= this.#begin(hourOf(line.ticks));
    this.#open.add(line);
  }

  #hasRoom({ bytes, ticks }: LogLine): boolean {
    const { bytesMax = bufferBytesDefault } = this.#parts.buffering;
    const open = this.#open;
    if (open === undefined) return true;
    return open.hour === hourOf(ticks) && open.byteLength + bytes.length <= bytesMax;
  }

  #begin(hour: bigint): LogBatch {
    const { timers, randomness, buffering } = this.#parts;
    const batch = new LogBatch(hour, randomness.uuid());
    const wait = buffering.ageMsMax ?? ageMsDefault;
    this.#timer = timers.start(wait, () => this.#expire(batch), undefined);
    return batch;
  }

  #expire(batch: LogBatch): void {
    if (this.#open !== batch) return;
    this.#seal();
    this.#drainBehind();
  }

  /** False when there is no open batch. */
  #seal(): boolean {
    if (this.#open === undefined) return false;
    this.#timer?.close();
    this.#sealed.push(this.#open);
    this.#open = undefined;
    return true;
  }

  #drainBehind(): void {
    this.#drainWhile(() => this.#sealed.length > 0).catch((error: unknown) =>
      this.#parts.buffering.onError(error),
    );
  }

  /** Puts sealed batches, the first one first. Concurrent callers share the put under way. */
  async #drainWhile(isLeft: () => boolean): Promise<void> {
    while (isLeft()) {
      // Begins later, so that a nested write during the put, such as one for a message that a
      // client logs, finds the promise here.
      this.#draining ??= Promise.resolve()
        .then(() => this.#putHead())
        .finally(() => {
          this.#draining = undefined;
        });
      await this.#draining;
    }
  }

  async #putHead(): Promise<void> {
    const [batch] = this.#sealed;
    if (batch === undefined) return;
    const { body, hour, id } = batch;
    const metadata = metadataOf(batch.span, id);
    await this.#sequence.claim(hour, id, (name) => this.#parts.blobs.put(name, body, metadata));
    this.#sealed.shift();
  }
}
