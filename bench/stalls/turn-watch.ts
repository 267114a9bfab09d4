import { openSync, readSync } from 'node:fs';

const everyMs = 1;
const textBytesMax = 128;

/**
 * Measures the turns of the event loop of this process: the longest processor time of its main
 * thread between two turns. Other processes do not count, so this is the wait of another client on
 * an idle machine. Linux counts in steps of about 4 ms.
 */
export class TurnWatch {
  readonly #file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  readonly #text = Buffer.alloc(textBytesMax);
  #before = this.#processorMs();
  #longestMs = 0;

  constructor() {
    // A turn that takes longer than the interval is always followed by a look.
    setInterval(() => this.#look(), everyMs).unref();
  }

  /** The longest turn since the last call, in milliseconds. */
  longestMs(): number {
    this.#look();
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  #look(): void {
    const now = this.#processorMs();
    this.#longestMs = Math.max(this.#longestMs, now - this.#before);
    this.#before = now;
  }

  #processorMs(): number {
    const bytes = readSync(this.#file, this.#text, 0, textBytesMax, 0);
    return Number(this.#text.toString('latin1', 0, bytes).split(' ', 1)[0]) / 1e6;
  }
}
