import type { OperationClass } from '../../model/analytics/operation-name.js';
import type { ServiceName } from '../../model/services/services.js';
import { logFolder, logName } from './log-name.js';
import { mergedMetadata, type LogMetadata, type LogSink } from './log-sink.js';

/** A line for the log of one service of one account. */
export interface LogEntry {
  readonly account: string;
  readonly service: ServiceName;
  readonly type: OperationClass;
  /** Microseconds since 1970. The log is that of the hour in which the request ended. */
  readonly startMicros: number;
  readonly endMicros: number;
  readonly version: string;
  /** With the line feed that ends it. */
  readonly line: string;
}

/** Lines of one account, service and hour that no log has yet. */
interface Waiting {
  readonly account: string;
  readonly folder: string;
  readonly lines: string[];
  metadata: LogMetadata;
}

/** Characters of lines that wait, in all of a process. Further lines are dropped and counted. */
export const logCharactersMax = 8 * 1024 * 1024;

/** Beyond it, lines go to the next log of their hour. */
const logBytesMax = 4 * 1024 * 1024;

/** Logs of an hour: their numbers have six digits. */
const logNumberMax = 999_999;

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
  #characters = 0;
  #dropped = 0;
  /** By account and folder: the number of the log that lines go to. */
  readonly #numbers = new Map<string, number>();

  /** `services`: the current ones, which are asked for at each use. */
  constructor(services: { readonly logs: LogSink }) {
    this.#services = services;
  }

  /** Characters of the lines that wait. */
  get characters(): number {
    return this.#characters;
  }

  /** Lets a line wait for the next write. */
  add({ account, service, type, startMicros, endMicros, version, line }: LogEntry): void {
    if (this.#characters + line.length > logCharactersMax) {
      this.#dropped += 1;
      return;
    }
    const metadata = { types: [type], startMicros, endMicros: startMicros, version };
    this.#put({ account, folder: logFolder(service, endMicros), lines: [line], metadata });
  }

  /** Forgets what waits. */
  discard(): void {
    this.#waiting.clear();
    this.#numbers.clear();
    this.#characters = 0;
  }

  /** How many lines were dropped since it was asked last. */
  takeDropped(): number {
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }

  /**
   * Appends what waits. What fails waits on, so its lines may be in a log twice when the outcome is
   * not known (blob-service §21.2); the first error is thrown when all was tried.
   */
  async write(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#characters = 0;
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

  async #append({ account, folder, lines, metadata }: Waiting): Promise<void> {
    const place = `${account}/${folder}`;
    const number = this.#numbers.get(place) ?? 0;
    const { bytes } = await this.#services.logs.append(
      account,
      logName(folder, number),
      lines,
      metadata,
    );
    if (this.#numbers.size >= foldersMax) this.#numbers.clear();
    const isFull = bytes >= logBytesMax && number < logNumberMax;
    this.#numbers.set(place, isFull ? number + 1 : number);
  }

  #put(part: Waiting): void {
    const name = `${part.account}/${part.folder}`;
    const present = this.#waiting.get(name);
    for (const line of part.lines) this.#characters += line.length;
    if (present === undefined) this.#waiting.set(name, part);
    else {
      for (const line of part.lines) present.lines.push(line);
      present.metadata = mergedMetadata(present.metadata, part.metadata);
    }
  }

  #putBack(part: Waiting): void {
    const characters = part.lines.reduce((sum, line) => sum + line.length, 0);
    if (this.#characters + characters > logCharactersMax) this.#dropped += part.lines.length;
    else this.#put(part);
  }
}
