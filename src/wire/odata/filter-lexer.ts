import { parseDateTime } from '../../model/edm/date-time.js';
import { parseGuid } from '../../model/edm/guid.js';
import { isInt32, parseDouble, parseHex, parseInt64 } from '../edm/literal.js';
import { isPropertyName } from '../../model/edm/property-name.js';
import type { EdmValue } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { closingQuote, unquoted } from './quoted-text.js';

/** One token of a `$filter`, with the offset at which it starts. */
export type Token =
  | { readonly kind: 'open' | 'close' | 'end'; readonly at: number }
  /** A keyword or a property's name. `call`: an opening parenthesis follows directly. */
  | { readonly kind: 'word'; readonly at: number; readonly text: string; readonly call: boolean }
  | { readonly kind: 'literal'; readonly at: number; readonly value: EdmValue };

/** Cuts the text of a filter into tokens, on demand and in one pass. */
export class FilterLexer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The error for an unexpected token, at the end of the text read so far. */
  error(): StorageError {
    return this.#errorAt(this.#at);
  }

  #errorAt(position: number): StorageError {
    return new StorageError('InvalidInput', {
      message: `Syntax error at position ${position} in '${this.#text}'.`,
    });
  }

  next(): Token {
    const text = this.#text;
    let at = this.#at;
    while (at < text.length && isSpace(text.charCodeAt(at))) at++;
    this.#at = at;
    if (at >= text.length) return { kind: 'end', at };
    const code = text.charCodeAt(at);
    if (code === 0x28 || code === 0x29) {
      this.#at = at + 1;
      return { kind: code === 0x28 ? 'open' : 'close', at };
    }
    if (code === 0x27) return this.#literal(at, { type: 'Edm.String', value: this.#quoted(at) });
    if (isWordStart(code)) return this.#word(at);
    return this.#number(at);
  }

  #literal(at: number, value: EdmValue | undefined): Token {
    if (value === undefined) throw this.#errorAt(at);
    return { kind: 'literal', at, value };
  }

  /** The text between the quote at an offset and the one that closes it. */
  #quoted(open: number): string {
    const close = closingQuote(this.#text, open);
    if (close < 0) throw this.#errorAt(this.#text.length);
    this.#at = close + 1;
    return unquoted(this.#text, open, close);
  }

  #word(at: number): Token {
    const text = this.#text;
    let end = at + 1;
    while (end < text.length && isWordPart(text.charCodeAt(end))) end++;
    const word = text.slice(at, end);
    const after = text.charCodeAt(end);
    if (after === 0x27) return this.#literal(at, typedValue(word, this.#quoted(end)));
    if (!isPropertyName(word)) throw this.#errorAt(at);
    this.#at = end;
    if (word === 'NaN' || word === 'INF' || word === 'Infinity') {
      return { kind: 'literal', at, value: { type: 'Edm.Double', value: doubleNamed(word) } };
    }
    return { kind: 'word', at, text: word, call: after === 0x28 };
  }

  #number(at: number): Token {
    const text = this.#text;
    const start = isSign(text.charCodeAt(at)) ? at + 1 : at;
    if (
      text.charCodeAt(at) === 0x2d &&
      (text.startsWith('INF', start) || infinityAt(text, start))
    ) {
      this.#at = start + (text.startsWith('INF', start) ? 3 : 8);
      this.#expectBoundary();
      return { kind: 'literal', at, value: { type: 'Edm.Double', value: -Infinity } };
    }
    const whole = digitsEnd(text, start);
    if (whole === start) throw this.#errorAt(at);
    let end = whole;
    if (text.charCodeAt(end) === 0x2e) {
      end = digitsEnd(text, whole + 1);
      if (end === whole + 1) throw this.#errorAt(end);
    }
    end = exponentEnd(text, end);
    const suffix = text.charCodeAt(end) | 0x20;
    const suffixed = suffix === 0x6c || suffix === 0x64 || suffix === 0x66;
    this.#at = suffixed ? end + 1 : end;
    this.#expectBoundary();
    const digits = text.slice(at, end);
    if (suffix === 0x6c) return this.#literal(at, end > whole ? undefined : int64Value(digits));
    return this.#literal(at, end > whole || suffixed ? doubleValue(digits) : integerValue(digits));
  }

  /** Refuses a number that runs into a word. */
  #expectBoundary(): void {
    const code = this.#text.charCodeAt(this.#at);
    if (isWordPart(code) || code === 0x2e || code === 0x27) throw this.#errorAt(this.#at);
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

function isSign(code: number): boolean {
  return code === 0x2b || code === 0x2d;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Characters outside ASCII are checked with the whole word. */
function isWordStart(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || code === 0x5f || code >= 0x80;
}

function isWordPart(code: number): boolean {
  return isWordStart(code) || isDigit(code);
}

function infinityAt(text: string, at: number): boolean {
  return text.startsWith('Infinity', at);
}

function doubleNamed(word: 'NaN' | 'INF' | 'Infinity'): number {
  return word === 'NaN' ? NaN : Infinity;
}

function digitsEnd(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
}

/** The end of an exponent that begins at an offset; the offset itself when there is none. */
function exponentEnd(text: string, at: number): number {
  if ((text.charCodeAt(at) | 0x20) !== 0x65) return at;
  const start = isSign(text.charCodeAt(at + 1)) ? at + 2 : at + 1;
  const end = digitsEnd(text, start);
  return end === start ? at : end;
}

function doubleValue(digits: string): EdmValue | undefined {
  const value = parseDouble(digits);
  return value === undefined ? undefined : { type: 'Edm.Double', value };
}

function int64Value(digits: string): EdmValue | undefined {
  const value = parseInt64(digits);
  return value === undefined ? undefined : { type: 'Edm.Int64', value };
}

/** A whole number without suffix: Int32 where it fits, else Int64. */
function integerValue(digits: string): EdmValue | undefined {
  const value = digits.length <= 11 ? Number(digits) : NaN;
  return isInt32(value) ? { type: 'Edm.Int32', value: value | 0 } : int64Value(digits);
}

/** The value of a literal such as `guid'…'`; undefined when its type or content is not valid. */
function typedValue(prefix: string, content: string): EdmValue | undefined {
  switch (prefix.toLowerCase()) {
    case 'datetime': {
      const value = parseDateTime(content);
      return value === undefined ? undefined : { type: 'Edm.DateTime', value };
    }
    case 'guid': {
      const value = parseGuid(content);
      return value === undefined ? undefined : { type: 'Edm.Guid', value };
    }
    case 'x':
    case 'binary': {
      const value = parseHex(content);
      return value === undefined ? undefined : { type: 'Edm.Binary', value };
    }
    default:
      return undefined;
  }
}
