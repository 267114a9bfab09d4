import type { ServiceName } from '../../model/services/services.js';
import { LogLines } from './log-lines.js';
import { logFolder, logName } from './log-name.js';
import { mergedMetadata, type LogMetadata, type LogSink } from './log-sink.js';

/** Lines for the log of one service of one account. */
export interface LogEntry {
  readonly account: string;
  readonly service: ServiceName;
  /** The beginning of the hour in which the requests ended, in microseconds since 1970. */
  readonly hourMicros: number;
  readonly metadata: LogMetadata;
  readonly count: number;
  /** In UTF-8, each with the line feed that ends it. Copied during the call. */
  readonly lines: Buffer;
}

/** Lines of one account, service, hour and version that no log has yet. */
interface Waiting {
  readonly account: string;
  readonly folder: string;
  /** Identifies the account, the service, the hour and the version. */
  readonly place: string;
  readonly lines: LogLines;
  metadata: LogMetadata;
}

/** Bytes of lines that wait, in all of a process. Further lines are dropped and counted. */
export const logWaitingBytesMax = 8 * 1024 * 1024;

/** Beyond it, lines go to the next log of their hour. */
const logBytesMax = 4 * 1024 * 1024;

/** Logs of an hour: their numbers have six digits. */
const logNumberMax = 999_999;

/**
 * Logs of other versions that one write passes over. Other processes may have begun them meanwhile.
 */
const passedMax = 1000;

/** Folders whose last number is remembered; when there are more, all are found again. */
const foldersMax = 1000;

/**
 * Writes lines to logs (blob-service §21.2). They wait in memory, within a bound, until `write` is
 * called. Logging is best effort: lines that a sink did not take are appended later, or dropped
 * when too many wait.
 */
export class LogWriter {
  readonly #services: { readonly logs: LogSink };
  #waiting = new Map<string, Waiting>();
  #bytes = 0;
  #dropped = 0;
  /** By account, folder and version: the number of the log that lines go to. */
  readonly #numbers = new Map<string, number>();

  /** `services`: its members are read at each use, because they may be replaced. */
  constructor(services: { readonly logs: LogSink }) {
    this.#services = services;
  }

  /** Bytes of the lines that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Lets lines wait for the next write. */
  add(entry: LogEntry): void {
    const { lines, count, metadata } = entry;
    if (this.#bytes + lines.length > logWaitingBytesMax) {
      this.#dropped += count;
      return;
    }
    const part = this.#partOf(entry);
    part.lines.add(lines, count);
    this.#bytes += lines.length;
    part.metadata = mergedMetadata(part.metadata, metadata);
  }

  /** Discards the lines that wait. */
  discard(): void {
    this.#take();
    this.#numbers.clear();
  }

  /** How many lines were dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /**
   * Appends the lines that wait. Lines whose append fails keep waiting, so they may be in a log
   * twice when the outcome is not known (blob-service §21.2). Throws the first error after all
   * appends were tried.
   */
  async write(): Promise<void> {
    const waiting = this.#take();
    const errors: unknown[] = [];
    for (const part of waiting.values()) {
      try {
        await this.#append(part);
      } catch (error) {
        errors.push(error);
        this.#putBack(part);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  /** To the first log with lines of the same version that is not known to be full. */
  async #append({ account, folder, place, lines, metadata }: Waiting): Promise<void> {
    const first = this.#numbers.get(place) ?? 0;
    const last = Math.min(first + passedMax, logNumberMax);
    for (let number = first; number <= last; number += 1) {
      const name = logName(folder, number);
      const appended = await this.#services.logs.append(account, name, lines.pieces(), metadata);
      if (appended.kind === 'other-version') continue;
      if (this.#numbers.size >= foldersMax) this.#numbers.clear();
      const isFull = appended.bytes >= logBytesMax && number < logNumberMax;
      this.#numbers.set(place, isFull ? number + 1 : number);
      return;
    }
    throw new Error(`No log of ${folder} up to ${last} has lines of version ${metadata.version}.`);
  }

  #take(): ReadonlyMap<string, Waiting> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#bytes = 0;
    return waiting;
  }

  #partOf({ account, service, hourMicros, metadata }: LogEntry): Waiting {
    const folder = logFolder(service, hourMicros);
    const place = `${account}/${folder}/${metadata.version}`;
    const part = this.#waiting.get(place) ?? {
      account,
      folder,
      place,
      lines: new LogLines(),
      metadata,
    };
    this.#waiting.set(place, part);
    return part;
  }

  #putBack(part: Waiting): void {
    const { lines, metadata, place } = part;
    if (this.#bytes + lines.bytes > logWaitingBytesMax) {
      this.#dropped += lines.count;
      return;
    }
    this.#bytes += lines.bytes;
    const present = this.#waiting.get(place);
    if (present === undefined) {
      this.#waiting.set(place, part);
      return;
    }
    present.lines.addAll(lines);
    present.metadata = mergedMetadata(present.metadata, metadata);
  }
}
