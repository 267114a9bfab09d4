import type { ServerProcess } from '../server-process.js';

const everyMs = 5;

/** Watches the private memory of a server until `peakMb` is asked for. */
export class MemoryWatch {
  readonly #server: ServerProcess;
  readonly #timer: NodeJS.Timeout;
  readonly #before: number;
  #peak: number;

  constructor(server: ServerProcess) {
    this.#server = server;
    this.#before = this.#read();
    this.#peak = this.#before;
    this.#timer = setInterval(() => {
      this.#peak = Math.max(this.#peak, this.#read());
    }, everyMs);
  }

  /** How many megabytes more than at the start it has had at most. Ends the watch. */
  peakMb(): number {
    clearInterval(this.#timer);
    return Math.max(this.#peak, this.#read()) - this.#before;
  }

  #read(): number {
    return this.#server.usage().privateMb ?? 0;
  }
}
