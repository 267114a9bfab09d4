import { fileStamp } from '../../base/file-stamp.js';
import type { Timer, Timers } from '../../base/async/timers.js';

/** A file and its stamp when it was checked. */
export interface FileState {
  readonly file: string;
  readonly stamp: string;
}

export async function stateOf(file: string): Promise<FileState> {
  return { file, stamp: await fileStamp(file) };
}

/**
 * Detects changes of files by polling, which works for files that are written in place or replaced,
 * behind links, and on network file systems. A change is reported once the files have been stable
 * for one interval, so that no partial file is read.
 */
export class FileWatch {
  readonly #timers: Timers;
  readonly #everyMs: number;
  readonly #changed: () => void;
  #files: readonly string[];
  #timer: Timer | undefined;
  /** The state when a change was last reported, or when the files were read. */
  #known: string | undefined;
  /** The state at the last check. */
  #seen: string | undefined;
  #isStopped = false;

  /** Can report a change after its first check. */
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

  /** Watches these files from now on; reports only changes since they were read. */
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
    // The set of files may have changed meanwhile.
    const isSettled = state === this.#seen && files === this.#files;
    this.#seen = state;
    if (isSettled && state !== this.#known) {
      this.#known = state;
      this.#changed();
    }
    this.#wait();
  }
}
