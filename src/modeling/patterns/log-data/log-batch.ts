import type { Bytes } from '../../../base/bytes.js';
import type { LogSpan } from './log-metadata.js';

/** A record as a line, with its time. */
export interface LogLine {
  readonly bytes: Bytes;
  readonly ticks: bigint;
}

/** Lines of one hour that are written together. */
export class LogBatch {
  readonly hour: bigint;
  /** Unique; see `metadataOf`. */
  readonly id: string;
  readonly #lines: Bytes[] = [];
  #bytes = 0;
  #first: bigint | undefined;
  #last: bigint | undefined;

  constructor(hour: bigint, id: string) {
    this.hour = hour;
    this.id = id;
  }

  add({ bytes, ticks }: LogLine): void {
    this.#lines.push(bytes);
    this.#bytes += bytes.length;
    if (this.#first === undefined || ticks < this.#first) this.#first = ticks;
    if (this.#last === undefined || ticks > this.#last) this.#last = ticks;
  }

  get byteLength(): number {
    return this.#bytes;
  }

  get span(): Required<LogSpan> {
    const { hour } = this;
    return {
      first: this.#first ?? hour,
      last: this.#last ?? hour,
      records: this.#lines.length,
    };
  }

  get body(): Bytes {
    return Buffer.concat(this.#lines);
  }
}
