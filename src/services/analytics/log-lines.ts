/** Memory that lines are written into: the first of a log, and further ones. */
const firstBytes = 4 * 1024;
const furtherBytes = 64 * 1024;

/** Lines that wait for their log, as bytes: every garbage collection would move strings. */
export class LogLines {
  readonly #full: Buffer[] = [];
  #last = Buffer.alloc(0);
  #used = 0;
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a copy of some lines. */
  add(lines: Buffer, count: number): void {
    if (this.#last.length - this.#used < lines.length) {
      this.#end();
      const bytes = this.#full.length === 0 ? firstBytes : furtherBytes;
      this.#last = Buffer.allocUnsafeSlow(Math.max(bytes, lines.length));
    }
    this.#last.set(lines, this.#used);
    this.#used += lines.length;
    this.#bytes += lines.length;
    this.#count += count;
  }

  /** Adds the lines of another. */
  addAll(lines: LogLines): void {
    this.#end();
    this.#full.push(...lines.pieces());
    this.#count += lines.count;
    this.#bytes += lines.bytes;
  }

  /** All lines, each with its line feed. Lines that are added later do not change the result. */
  pieces(): readonly Buffer[] {
    return this.#used === 0 ? [...this.#full] : [...this.#full, this.#last.subarray(0, this.#used)];
  }

  #end(): void {
    if (this.#used > 0) this.#full.push(this.#last.subarray(0, this.#used));
    this.#last = Buffer.alloc(0);
    this.#used = 0;
  }
}
