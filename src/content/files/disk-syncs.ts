import { Gate } from '../../base/async/gate.js';
import { codeOf } from '../../base/thrown.js';
import type { ContentFiles } from './content-files.js';

/**
 * Syncs under way at a time. Each blocks one of the four threads of Node.js; one is left for reads
 * and other work of the process.
 */
const syncsAtOnceMax = 3;

/** Runs a few syncs at a time. Waiting syncs of the same folder are merged. */
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

  /** Makes the current names in a folder durable. Ignores a folder that was removed. */
  folder(path: string): Promise<void> {
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined) return waiting;
    // Begins later, when the sync is in the map: it removes itself from there.
    const syncing = Promise.resolve().then(() => this.#gate.run(() => this.#syncNow(path)));
    this.#waiting.set(path, syncing);
    return syncing;
  }

  async #syncNow(path: string): Promise<void> {
    // This sync may miss names that are added from now on, so later callers need another one.
    this.#waiting.delete(path);
    try {
      await this.#files.syncFolder(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
