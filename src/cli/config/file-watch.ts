import { fileStamp } from '../../base/file-stamp.js';
import type { Timer, Timers } from '../../base/async/timers.js';

/** A file and its stamp when it was looked at. */
export interface FileState {
  readonly file: string;
  readonly stamp: string;
}

export async function stateOf(file: string): Promise<FileState> {
  return { file, stamp: await fileStamp(file) };
}

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
  /** What the files were when a change was last reported, or when they were read. */
  #known: string | undefined;
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

  /** Looks at these files from now on, and reports none as long as it is as it was when read. */
  watch(read: readonly FileState[]): void {
    this.#files = read.map(({ file }) => file);
    this.#known = JSON.stringify(read);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.close();
  }

  #wait(): void {
    this.#timer = this.#timers.start(this.#everyMs, () => void this.#look(), undefined);
  }

  async #look(): Promise<void> {
    const files = this.#files;
    const state = JSON.stringify(await Promise.all(files.map(stateOf)));
    if (this.#isStopped) return;
    // Other files, if they have been read meanwhile.
    const isSettled = state === this.#seen && files === this.#files;
    this.#seen = state;
    if (isSettled && state !== this.#known) {
      this.#known = state;
      this.#changed();
    }
    this.#wait();
  }
}
