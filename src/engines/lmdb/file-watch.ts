import { statSync } from 'node:fs';
import { codeOf, messageOf } from '../../base/thrown.js';
import type { Timer, Timers } from '../../base/async/timers.js';

/** How long it takes at most to notice that files of an idle store are gone. */
export const watchMs = 1_000;

interface FileState {
  /** Device and inode. The two number types never compare equal. */
  readonly device: number | bigint;
  readonly inode: number | bigint;
  readonly bytes: number;
}

interface WatchedFile extends Pick<FileState, 'device' | 'inode'> {
  readonly path: string;
  /** The greatest size seen: files of the engine only grow. */
  bytes: number;
}

/** Called once for each change of the files. */
export interface FileWatchEvents {
  lost(error: Error): void;
  found(): void;
  /**
   * A file became shorter, which its owner never does. Reading the missing part would crash the
   * process.
   */
  shrunk(reason: string): void;
}

/**
 * Detects that the paths of open files no longer lead to them: files were removed, replaced or
 * renamed, or their file system is gone. An open file works without its name, so nothing else would
 * report it. Also detects truncation.
 */
export class FileWatch {
  readonly #files: readonly WatchedFile[];
  readonly #timers: Timers;
  readonly #events: FileWatchEvents;
  #timer: Timer | undefined;
  #trouble: Error | undefined;

  /** Takes the current files as the expected ones. Throws when one is missing. */
  constructor(
    paths: readonly string[],
    options: { readonly timers: Timers; readonly events: FileWatchEvents },
  ) {
    this.#files = paths.map((path) => ({ path, ...stateOf(path) }));
    this.#timers = options.timers;
    this.#events = options.events;
    this.#schedule();
  }

  /** The result of the last check. */
  get trouble(): Error | undefined {
    return this.#trouble;
  }

  /** Checks the files now. Takes some microseconds. */
  check(): Error | undefined {
    const before = this.#trouble;
    this.#trouble = this.#look();
    if (before === undefined && this.#trouble !== undefined) this.#events.lost(this.#trouble);
    if (before !== undefined && this.#trouble === undefined) this.#events.found();
    return this.#trouble;
  }

  close(): void {
    this.#timer?.close();
    this.#timer = undefined;
  }

  #schedule(): void {
    this.#timer = this.#timers.start(watchMs, this.#due, undefined);
  }

  readonly #due = (): void => {
    this.check();
    if (this.#timer !== undefined) this.#schedule();
  };

  #look(): Error | undefined {
    for (const file of this.#files) {
      const { path } = file;
      try {
        const { device, inode, bytes } = stateOf(path);
        if (device === file.device && inode === file.inode) {
          this.#measure(file, bytes);
          continue;
        }
        return new Error(
          `The file ${path} was replaced by another one while it was in use. Stop the server, put ` +
            'the right file back, and start it again.',
        );
      } catch (error) {
        return new Error(
          `The file ${path} is gone or cannot be looked at (${codeOf(error) ?? messageOf(error)}). Put its directory ` +
            'back, or stop the server and restore a backup.',
          { cause: error },
        );
      }
    }
    return undefined;
  }

  #measure(file: WatchedFile, bytes: number): void {
    if (bytes < file.bytes) {
      this.#events.shrunk(
        `the file ${file.path} was cut from ${file.bytes} to ${bytes} bytes while it was in use.`,
      );
    }
    file.bytes = bytes;
  }
}

/** Plain numbers, because every group of commits calls this and bigint stats take much longer. */
function stateOf(path: string): FileState {
  const { dev, ino, size } = statSync(path);
  if (Number.isSafeInteger(dev) && Number.isSafeInteger(ino)) {
    return { device: dev, inode: ino, bytes: size };
  }
  const whole = statSync(path, { bigint: true });
  return { device: whole.dev, inode: whole.ino, bytes: size };
}
