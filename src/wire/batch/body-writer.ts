/** The memory that stays for the next body. */
const keptBytes = 128 * 1024;

/** Up to this length a loop is faster than a call into native code. */
const shortLength = 24;

/**
 * Builds one body after another, `begin` to `finish`, from headers, which are Latin-1 text, and
 * from bytes. Written texts and bytes are copied at once, so the caller may reuse them.
 */
export class BodyWriter {
  #buffer = Buffer.allocUnsafeSlow(keptBytes);
  #length = 0;

  begin(): void {
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafeSlow(keptBytes);
    this.#length = 0;
  }

  text(text: string): void {
    const { length } = text;
    this.#reserve(length);
    if (length > shortLength) this.#buffer.write(text, this.#length, 'latin1');
    else {
      for (let index = 0; index < length; index += 1) {
        this.#buffer[this.#length + index] = text.charCodeAt(index);
      }
    }
    this.#length += length;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** The body, in memory of its own. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
