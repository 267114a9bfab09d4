import { systemClock, type Clock } from '../../../base/clock.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { systemTimers, type Timers } from '../../../base/async/timers.js';
import { Instant } from '../../rows/instant.js';
import { DefinitionError, ModelError, ValueError } from '../../rows/model-error.js';
import { ticksOfMicros } from '../../rows/ticks.js';
import {
  BufferedLogWriter,
  bufferBytesDefault,
  bufferBytesLimit,
  type LogBuffering,
} from './buffered-log-writer.js';
import { ImmediateLogWriter } from './immediate-log-writer.js';
import type { LineWriter } from './line-writer.js';
import type { LogBlobs } from './log-blobs.js';
import { checkSource } from './log-blob-name.js';
import { checkLogFormat, formatRecord, type LogFormat, type LogRecord } from './log-lines.js';

/** A record to log; `time` is now when absent. */
export type LogEntry<Column extends string> = Omit<LogRecord<Column>, 'time'> & {
  readonly time?: Instant;
};

/** The options of a log writer. */
export interface LogWriterOptions<Column extends string> {
  readonly blobs: LogBlobs;
  /** The first segments of blob names, such as `queue`. */
  readonly source: string;
  readonly format: LogFormat<Column>;
  /**
   * `immediate`: a record is stored when `write` resolves. Buffered: `write` only accepts the
   * record; this takes far fewer requests, and a crash loses what was not flushed.
   */
  readonly mode: 'immediate' | LogBuffering;
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/**
 * Log records in blobs instead of rows: no partition gets hot, and a month of records is deleted by
 * its prefix. Blobs are named `source/2014/07/31/1800/000001.log` by the hour (UTC) of their
 * records, and their metadata has the times of the first and last one. Several writers may share a
 * source.
 *
 * Immediate writers send one append for each `write`, fewer when writes overlap; for each hour and
 * each 64 MiB a list, a create and, when the blob is completed, an update of metadata. Buffered
 * writers send one put for each blob, and a list in each new hour. A name that another writer took
 * costs two more requests.
 *
 * An error of `write` in immediate mode leaves open whether the record was stored, as with any
 * request without a response. A crash loses no record whose `write` (immediate) or `flush`
 * (buffered) had resolved; the blob of an immediate writer then lacks its last time.
 */
export class LogWriter<Column extends string> implements AsyncDisposable {
  readonly #format: LogFormat<Column>;
  readonly #lines: LineWriter;
  readonly #clock: Clock;
  readonly #lineBytesMax: number;
  #isClosed = false;

  /** Throws `ValueError` or `DefinitionError` for invalid options. Sends nothing. */
  constructor(options: LogWriterOptions<Column>) {
    const { blobs, source, format, mode, clock = systemClock } = options;
    const { timers = systemTimers, randomness = systemRandomness } = options;
    checkSource(source);
    checkLogFormat(format);
    this.#format = format;
    this.#clock = clock;
    if (mode === 'immediate') {
      this.#lineBytesMax = bufferBytesDefault;
      this.#lines = new ImmediateLogWriter({ blobs, source, randomness });
    } else {
      checkBuffering(mode);
      this.#lineBytesMax = mode.bytesMax ?? bufferBytesDefault;
      const parts = { blobs, source, buffering: mode, timers, randomness };
      this.#lines = new BufferedLogWriter(parts);
    }
  }

  /**
   * Immediate: one append; resolves when the record is stored. Buffered: usually no request; waits
   * for the service, and throws its errors, only when more than four full blobs wait. Throws
   * `ValueError` for a record that does not fit into a line; then nothing is written.
   */
  async write(entry: LogEntry<Column>): Promise<void> {
    if (this.#isClosed) throw new ModelError('the log writer is closed');
    const time = entry.time ?? Instant.ofTicks(ticksOfMicros(this.#clock.nowMicros()));
    const record = { ...entry, time } as LogRecord<Column>;
    const bytes = Buffer.from(formatRecord(this.#format, record));
    if (bytes.length > this.#lineBytesMax) {
      throw new ValueError(
        `a record of ${bytes.length} bytes is longer than ${this.#lineBytesMax}`,
      );
    }
    await this.#lines.write({ bytes, ticks: time.ticks });
  }

  /**
   * Resolves when every record that was accepted before the call is stored, whatever is written
   * meanwhile; throws when one could not be. A buffered writer keeps it, an immediate one does not.
   */
  flush(): Promise<void> {
    return this.#lines.flush();
  }

  /**
   * Accepts no more records, waits for writes that still wait for the service, flushes, and
   * completes the metadata of the blob.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lines.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function checkBuffering({ bytesMax, ageMsMax }: LogBuffering): void {
  const bytes = bytesMax ?? bufferBytesDefault;
  if (!Number.isInteger(bytes) || bytes < 1024 || bytes > bufferBytesLimit) {
    throw new DefinitionError(`bytesMax of ${bytes}: give 1024 to ${bufferBytesLimit}`);
  }
  if (ageMsMax !== undefined && !(ageMsMax > 0 && ageMsMax <= 86_400_000)) {
    throw new DefinitionError(`ageMsMax of ${ageMsMax}: give milliseconds up to a day`);
  }
}

/** A writer of log records. Sends nothing. */
export function logWriterOf<Column extends string>(
  options: LogWriterOptions<Column>,
): LogWriter<Column> {
  return new LogWriter(options);
}
