import { fileStamp } from '../../app/file-stamp.js';
import type { Timer, Timers } from '../../base/timers.js';

/**
 * Notices that files have changed, by looking at them again and again: that works for files that
 * are written in place or replaced by another, behind links, and in folders of other machines. A
 * change is reported when the files have stayed the same for one interval, so that nobody reads
 * what is half written.
 */
export class FileWatch {
  readonly #timers: Timers;
  readonly #everyMs: number;
  readonly #changed: () => void;
  #files: readonly string[];
  #timer: Timer | undefined;
  /** What the files were when a change was last reported. */
  #reported: string | undefined;
  /** What they were when they were last looked at. */
  #seen: string | undefined;
  #isStopped = false;

  /** Reports a first change when it has looked at the files for the first time. */
  constructor(
    files: readonly string[],
    options: { readonly everyMs: number; readonly timers: Timers; readonly changed: () => void },
  ) {
    this.#files = files;
    this.#timers = options.timers;
    this.#everyMs = options.everyMs;
    this.#changed = options.changed;
    this.#wait();
  }

  /** Looks at these files from now on. */
  watch(files: readonly string[]): void {
    this.#files = files;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.close();
  }

  #wait(): void {
    this.#timer = this.#timers.start(this.#everyMs, () => void this.#look(), undefined);
  }

  async #look(): Promise<void> {
    const state = JSON.stringify(await Promise.all(this.#files.map(stateOf)));
    if (this.#isStopped) return;
    const isSettled = state === this.#seen;
    this.#seen = state;
    if (isSettled && state !== this.#reported) {
      this.#reported = state;
      this.#changed();
    }
    this.#wait();
  }
}

async function stateOf(file: string): Promise<readonly string[]> {
  return [file, await fileStamp(file)];
}
