import { startsWith } from '../../base/bytes.js';
import { MalformedBatchError } from './malformed.js';

/**
 * Lines that resemble a delimiter, over a whole body. JSON has no raw line break, so valid bodies
 * have none; the bound limits the native searches that a hostile body can cause.
 */
const falseDelimitersMax = 1000;

const hyphen = 0x2d;

/** One delimiter line; `at` is the end of the content before it. */
export interface Delimiter {
  /** Index of the line feed before the line, or 0 at the start of the body. */
  readonly at: number;
  /** First index after the line. */
  readonly next: number;
  readonly closing: boolean;
}

/**
 * Finds the delimiter lines of one boundary: `--boundary`, optional `--`, optional white space,
 * alone on a line.
 */
export class DelimiterScanner {
  readonly #body: Buffer;
  /** The beginning of a delimiter: a line feed, then `--boundary`. */
  readonly #needle: Buffer;
  readonly #end: number;
  #falseCount = 0;

  /** Reads the body up to `end`, exclusive. */
  constructor(body: Buffer, boundary: string, end: number) {
    this.#body = body;
    this.#needle = Buffer.from(`\n--${boundary}`, 'latin1');
    this.#end = end;
  }

  /** The first delimiter whose line starts at or after `from`, itself the start of a line. */
  next(from: number): Delimiter | undefined {
    if (from === 0 && startsWith(this.#body, this.#needle.subarray(1))) {
      const first = this.#read(0, this.#needle.length - 1);
      if (first) return first;
    }
    let at = this.#body.indexOf(this.#needle, Math.max(0, from - 1));
    while (at >= 0 && at < this.#end) {
      const found = this.#read(at, at + this.#needle.length);
      if (found) return found;
      at = this.#body.indexOf(this.#needle, at + 1);
    }
    return undefined;
  }

  /** Reads the text after the boundary; undefined when the line continues and is no delimiter. */
  #read(at: number, after: number): Delimiter | undefined {
    const body = this.#body;
    const closing = body[after] === hyphen && body[after + 1] === hyphen;
    let position = closing ? after + 2 : after;
    while (position < this.#end && isBlank(body[position] ?? 0)) position += 1;
    if (position >= this.#end) return { at, next: this.#end, closing };
    if (body[position] === 10) return { at, next: position + 1, closing };
    this.#falseCount += 1;
    if (this.#falseCount > falseDelimitersMax) throw new MalformedBatchError('false delimiters');
    return undefined;
  }
}

/** Space, tab, carriage return. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 13;
}
