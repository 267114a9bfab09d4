const quote = 0x22;
const backslash = 0x5c;

/** Strings of at most this many bytes are read byte by byte. */
const shortBytes = 16;

/**
 * Finds strings in bytes of valid UTF-8 that stand there just as bags spell them: without escapes.
 * The buffer is a whole number of words at the beginning of its memory.
 */
export class PlainStrings {
  readonly #bytes: Buffer;
  /** The same memory. */
  readonly #words: Int32Array;
  #units = 0;
  #isAscii = true;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  }

  /** The UTF-16 code units of the string that was found last. */
  get units(): number {
    return this.#units;
  }

  /**
   * The offset of the quote that closes the string whose content begins at `start`; -1 when a
   * backslash, a control character or the end of the bytes comes first.
   */
  end(start: number): number {
    const bytes = this.#bytes;
    const shortEnd = start + shortBytes;
    let at = start;
    let seen = 0;
    for (let byte = bytes[at] ?? 0; byte !== quote; byte = bytes[at] ?? 0) {
      if (byte < 0x20 || byte === backslash) return -1;
      seen |= byte;
      at += 1;
      if (at >= shortEnd && at % 4 === 0) at = this.#plainWordsEnd(at / 4) * 4;
    }
    this.#isAscii = seen < 0x80;
    this.#units = this.#isAscii ? at - start : unitsOf(bytes, start, at);
    return at;
  }

  /** The string that was found last, from the offset of its content to that of its quote. */
  text(start: number, end: number): string {
    return this.#isAscii
      ? this.#bytes.toString('latin1', start, end)
      : this.#bytes.toString('utf8', start, end);
  }

  /** The first word that holds a quote, a backslash, a control or a non-ASCII character. */
  #plainWordsEnd(start: number): number {
    const words = this.#words;
    for (let index = start; ; index += 1) {
      const word = words[index] ?? 0;
      const quotes = word ^ 0x22222222;
      const backslashes = word ^ 0x5c5c5c5c;
      // The high bit of a byte in each term tells that it has found one there, or in a lower byte.
      const found =
        ((word - 0x20202020) & ~word) |
        ((quotes - 0x01010101) & ~quotes) |
        ((backslashes - 0x01010101) & ~backslashes) |
        word;
      if ((found & 0x80808080) !== 0) return index;
    }
  }
}

/** The UTF-16 code units of valid UTF-8. */
function unitsOf(bytes: Buffer, start: number, end: number): number {
  let units = end - start;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    // Only the first byte of a character counts; a character of four bytes has two units.
    if (byte >= 0x80 && byte < 0xc0) units -= 1;
    else if (byte >= 0xf0) units += 1;
  }
  return units;
}
