import { Gate } from '../../base/async/gate.js';
import { codeOf } from '../../base/thrown.js';
import type { ContentFiles } from './content-files.js';

/**
 * Each sync keeps a thread of Node.js waiting, of four. One is left for reads and for the other
 * work of the process.
 */
const syncsAtOnceMax = 3;

/** Runs syncs, few at a time. Those of one folder that come together share one. */
export class DiskSyncs {
  readonly #files: Pick<ContentFiles, 'syncFolder'>;
  readonly #gate = new Gate(syncsAtOnceMax);
  readonly #waiting = new Map<string, Promise<void>>();

  constructor(files: Pick<ContentFiles, 'syncFolder'>) {
    this.#files = files;
  }

  file(sync: () => Promise<void>): Promise<void> {
    return this.#gate.run(sync);
  }

  /** The names that the folder has now are durable when this resolves, unless it is gone. */
  folder(path: string): Promise<void> {
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined) return waiting;
    // Not at once, so that it is known to wait before it begins.
    const syncing = Promise.resolve().then(() => this.#gate.run(() => this.#syncNow(path)));
    this.#waiting.set(path, syncing);
    return syncing;
  }

  async #syncNow(path: string): Promise<void> {
    // Who comes from now on has a name that this sync may miss.
    this.#waiting.delete(path);
    try {
      await this.#files.syncFolder(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
