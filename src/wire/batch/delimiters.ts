import { MalformedBatchError } from './malformed.js';

/**
 * Lines that resemble a delimiter, over a whole body. JSON has no raw line break, so valid bodies
 * have none; the bound limits the native searches that a hostile body can cause.
 */
const falseDelimitersMax = 1000;

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
 * alone on a line. Indexes are byte offsets: the text is Latin-1.
 */
export class DelimiterScanner {
  readonly #text: string;
  readonly #needle: string;
  readonly #end: number;
  #falseCount = 0;

  /** Reads `text` up to `end`, exclusive. */
  constructor(text: string, boundary: string, end: number) {
    this.#text = text;
    this.#needle = `\n--${boundary}`;
    this.#end = end;
  }

  /** The first delimiter whose line starts at or after `from`, itself the start of a line. */
  next(from: number): Delimiter | undefined {
    if (from === 0 && this.#text.startsWith(this.#needle.slice(1))) {
      const first = this.#read(0, this.#needle.length - 1);
      if (first) return first;
    }
    let at = this.#text.indexOf(this.#needle, Math.max(0, from - 1));
    while (at >= 0 && at < this.#end) {
      const found = this.#read(at, at + this.#needle.length);
      if (found) return found;
      at = this.#text.indexOf(this.#needle, at + 1);
    }
    return undefined;
  }

  /** Reads the text after the boundary; undefined when the line continues and is no delimiter. */
  #read(at: number, after: number): Delimiter | undefined {
    const text = this.#text;
    const closing = text.startsWith('--', after);
    let position = closing ? after + 2 : after;
    while (position < this.#end && isBlank(text.charCodeAt(position))) position += 1;
    if (position >= this.#end) return { at, next: this.#end, closing };
    if (text.charCodeAt(position) === 10) return { at, next: position + 1, closing };
    this.#falseCount += 1;
    if (this.#falseCount > falseDelimitersMax) throw new MalformedBatchError('false delimiters');
    return undefined;
  }
}

/** Space, tab, carriage return. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 13;
}
