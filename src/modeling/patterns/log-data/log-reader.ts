import { DecodeError } from '../../rows/model-error.js';
import { Instant } from '../../rows/instant.js';
import type { FoundBlob, LogBlobs } from './log-blobs.js';
import { checkSource, hourOf, logPrefixes, parseLogBlobName } from './log-blob-name.js';
import { checkLogFormat, parseRecord, type LogFormat, type LogRecord } from './log-lines.js';
import { spanOf } from './log-metadata.js';

/** From `from` (included) to `to` (excluded). */
export interface LogTime {
  readonly from: Instant;
  readonly to: Instant;
}

/** A log blob that was found. */
export interface FoundLog {
  readonly name: string;
  readonly bytes: number;
  /** The times of the earliest and latest record. `last` is absent while a writer still appends. */
  readonly first: Instant;
  readonly last?: Instant;
  readonly records?: number;
}

/** The options of a log reader. */
export interface LogReaderOptions<Column extends string> {
  readonly blobs: LogBlobs;
  readonly source: string;
  readonly format: LogFormat<Column>;
}

/** Finds and reads the logs of a source. */
export class LogReader<Column extends string> {
  readonly #blobs: LogBlobs;
  readonly #source: string;
  readonly #format: LogFormat<Column>;

  constructor({ blobs, source, format }: LogReaderOptions<Column>) {
    checkSource(source);
    checkLogFormat(format);
    this.#blobs = blobs;
    this.#source = source;
    this.#format = format;
  }

  /**
   * The blobs that may have records of a time, in the order of names. Lists one prefix for each
   * whole month, whole day or hour of the time, with one request per 5,000 blobs of each.
   */
  async *find({ from, to }: LogTime): AsyncGenerator<FoundLog> {
    for (const prefix of logPrefixes(this.#source, from.ticks, to.ticks)) {
      let cursor: string | undefined;
      do {
        const page = await this.#blobs.list(prefix, cursor);
        for (const blob of page.blobs) {
          const found = foundLog(blob);
          if (found !== undefined && touches(found, from, to)) yield found;
        }
        ({ cursor } = page);
      } while (cursor !== undefined);
    }
  }

  /**
   * The records of a time, blob by blob, each in the order in which it was written: by hour, and
   * within an hour by the writes of one writer. Lists as `find` does, and reads each blob with one
   * request. Throws `DecodeError` for a blob in another format.
   */
  async *read(time: LogTime): AsyncGenerator<LogRecord<Column>> {
    const { from, to } = time;
    for await (const { name } of this.find(time)) {
      for (const record of parseBlob(this.#format, name, await this.#blobs.read(name))) {
        const { ticks } = record.time;
        if (ticks >= from.ticks && ticks < to.ticks) yield record;
      }
    }
  }
}

function foundLog({ name, bytes, metadata }: FoundBlob): FoundLog | undefined {
  const parsed = parseLogBlobName(name);
  const span = spanOf(metadata);
  if (parsed === undefined || span === undefined) return undefined;
  const { first, last, records } = span;
  return {
    name,
    bytes,
    first: Instant.ofTicks(first),
    ...(last === undefined ? {} : { last: Instant.ofTicks(last) }),
    ...(records === undefined ? {} : { records }),
  };
}

function touches({ first, last }: FoundLog, from: Instant, to: Instant): boolean {
  // While a blob is still open, later records of the same hour may be earlier than its first one:
  // only the hour is certain.
  const earliest = last === undefined ? hourOf(first.ticks) : first.ticks;
  return earliest < to.ticks && (last === undefined || last.ticks >= from.ticks);
}

function* parseBlob<Column extends string>(
  format: LogFormat<Column>,
  name: string,
  body: Uint8Array,
): Generator<LogRecord<Column>> {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new DecodeError(`${name} ends within a line`);
  for (const line of lines) yield parseRecord(format, line);
}

/** A reader of log records. Sends nothing. */
export function logReaderOf<Column extends string>(
  options: LogReaderOptions<Column>,
): LogReader<Column> {
  return new LogReader(options);
}
