import type { ServerProcess } from '../server-process.js';

const everyMs = 5;

/** Environment that returns freed memory to the system at once, so that growth is visible. */
export const eagerRelease = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' };

/** Watches the private memory of a server until `peakMb` is asked for. */
export class MemoryWatch {
  readonly #server: ServerProcess;
  readonly #timer: NodeJS.Timeout;
  readonly #before: number;
  #peak: number;

  private constructor(server: ServerProcess) {
    this.#server = server;
    this.#before = this.#read();
    this.#peak = this.#before;
    this.#timer = setInterval(() => {
      this.#peak = Math.max(this.#peak, this.#read());
    }, everyMs);
  }

  /** Begins after the server has freed what it no longer needs. */
  static async begin(server: ServerProcess): Promise<MemoryWatch> {
    await server.ask('collect');
    return new MemoryWatch(server);
  }

  /** Ends the watch. Returns the largest growth since its start, in megabytes. */
  peakMb(): number {
    clearInterval(this.#timer);
    return Math.max(this.#peak, this.#read()) - this.#before;
  }

  #read(): number {
    return this.#server.usage().anonymousMb ?? 0;
  }
}
