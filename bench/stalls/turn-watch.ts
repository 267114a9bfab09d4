import { openSync, readSync } from 'node:fs';

const everyMs = 1;
const textBytesMax = 128;

/**
 * Watches the turns of this process' event loop: the longest processor time that its one thread has
 * taken between two of them. What else the machine does is not in it, so it is what another client
 * would have to wait for on an idle machine. Linux counts to about 4 ms.
 */
export class TurnWatch {
  readonly #file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  readonly #text = Buffer.alloc(textBytesMax);
  #before = this.#processorMs();
  #longestMs = 0;

  constructor() {
    // In a turn that takes longer than this it is due, so it sees each of those.
    setInterval(() => this.#look(), everyMs).unref();
  }

  /** Since it was asked last, in milliseconds. */
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
