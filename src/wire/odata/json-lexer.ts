import { malformedInput } from '../edm/literal.js';

/** Nesting of arrays and objects in a value that is skipped, at most. */
const skipDepthMax = 32;

/**
 * Reads JSON text from left to right, once. Numbers are returned as text, because `3` and `3.0` are
 * different values here. Every method throws the `InvalidInput` of a malformed body.
 */
export class JsonLexer {
  readonly #text: string;
  #at = 0;
  #stringStart = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The offset after the last token and any white space. */
  get offset(): number {
    return this.#at;
  }

  /** The offset of the opening quote of the last string. */
  get stringStart(): number {
    return this.#stringStart;
  }

  /** The code of the next character behind white space, not consumed; -1 at the end. */
  peek(): number {
    const text = this.#text;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      code = text.charCodeAt(++at);
    }
    this.#at = at;
    return at < text.length ? code : -1;
  }

  /** Consumes the next character that is not white space when it is the given one. */
  accept(code: number): boolean {
    if (this.peek() !== code) return false;
    this.#at++;
    return true;
  }

  expect(code: number): void {
    if (!this.accept(code)) throw malformedInput();
  }

  expectEnd(): void {
    if (this.peek() !== -1) throw malformedInput();
  }

  /** A string. Lone surrogates are kept; control characters are refused. */
  string(): string {
    this.expect(0x22);
    const text = this.#text;
    const start = this.#at;
    this.#stringStart = start - 1;
    const end = specialFrom(text, start);
    const code = text.charCodeAt(end);
    if (code === 0x5c) return this.#escapedString(start, end);
    if (code !== 0x22) throw malformedInput();
    this.#at = end + 1;
    return text.slice(start, end);
  }

  /** A string whose first backslash is at `firstEscape` and whose content begins at `start`. */
  #escapedString(start: number, firstEscape: number): string {
    const text = this.#text;
    let at = firstEscape;
    for (let code = 0x5c; code !== 0x22; code = text.charCodeAt(at)) {
      if (at >= text.length) throw malformedInput();
      at += code === 0x5c ? 2 : 1;
    }
    this.#at = at + 1;
    return unescaped(text.slice(start - 1, at + 1));
  }

  /** The text of a number. */
  number(): string {
    const text = this.#text;
    const start = this.#at;
    let at = text.charCodeAt(start) === 0x2d ? start + 1 : start;
    at = text.charCodeAt(at) === 0x30 ? at + 1 : this.#digits(at);
    if (text.charCodeAt(at) === 0x2e) at = this.#digits(at + 1);
    if ((text.charCodeAt(at) | 0x20) === 0x65) {
      const sign = text.charCodeAt(at + 1);
      at = this.#digits(sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
    }
    this.#at = at;
    return text.slice(start, at);
  }

  /** The end of one or more digits. */
  #digits(start: number): number {
    let at = start;
    for (;;) {
      const digit = this.#text.charCodeAt(at) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      at++;
    }
    if (at === start) throw malformedInput();
    return at;
  }

  word(word: 'true' | 'false' | 'null'): void {
    if (!this.#text.startsWith(word, this.#at)) throw malformedInput();
    this.#at += word.length;
  }

  /** Steps over any value. */
  skipValue(): void {
    const closers: number[] = [];
    do {
      const code = this.peek();
      if (code === 0x7b || code === 0x5b) {
        this.#at++;
        closers.push(code === 0x7b ? 0x7d : 0x5d);
        if (closers.length > skipDepthMax) throw malformedInput();
        if (!this.#closeEmpty(closers)) {
          if (code === 0x7b) this.#skipMemberName();
          continue;
        }
      } else {
        this.#skipScalar(code);
      }
      this.#skipSeparators(closers);
    } while (closers.length > 0);
  }

  #closeEmpty(closers: number[]): boolean {
    if (!this.accept(closers.at(-1) ?? 0)) return false;
    closers.pop();
    return true;
  }

  #skipMemberName(): void {
    this.string();
    this.expect(0x3a);
  }

  /** After a value: a comma leads to the next one; closing brackets end open arrays and objects. */
  #skipSeparators(closers: number[]): void {
    while (closers.length > 0) {
      const closer = closers.at(-1) ?? 0;
      if (this.accept(0x2c)) {
        if (closer === 0x7d) this.#skipMemberName();
        return;
      }
      this.expect(closer);
      closers.pop();
    }
  }

  #skipScalar(code: number): void {
    if (code === 0x22) this.string();
    else if (code === 0x74) this.word('true');
    else if (code === 0x66) this.word('false');
    else if (code === 0x6e) this.word('null');
    else this.number();
  }
}

/** Up to this many characters, a loop is faster than a regular expression. */
const shortLength = 16;

/** The end of the plain part of a string: a quote, a backslash, a forbidden control character. */
// oxlint-disable-next-line no-control-regex -- JSON forbids exactly these characters
const special = /["\\\u0000-\u001f]/g;

/** The offset of the first special character from an offset on; the text's length without one. */
function specialFrom(text: string, start: number): number {
  const shortEnd = Math.min(start + shortLength, text.length);
  for (let at = start; at < shortEnd; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x5c || code < 0x20) return at;
  }
  special.lastIndex = shortEnd;
  return special.test(text) ? special.lastIndex - 1 : text.length;
}

/** The content of a JSON string, its quotes included. */
function unescaped(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    throw malformedInput();
  }
}
