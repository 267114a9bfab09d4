import { constants } from 'node:fs';
import { copyFile, link, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../base/thrown.js';
import type { ExtentId } from '../content-store.js';
import { ExtentMissingError } from '../errors.js';
import { contentDirectory, contentFolder } from './content-directory.js';
import { DiskContentFiles } from './disk-files.js';
import {
  extentsFolder,
  fileOf,
  leafFolder,
  ownerFileOf,
  placeOf,
  sessionFolder,
} from './extent-place.js';
import { suspectAllFile } from './suspects.js';

/** A file that is not whole yet: no extent has such a name. */
const unfinishedEnding = '.new';

/**
 * Copies extents, which keep their ids, from a data directory into another one that no process
 * uses. A process that uses the first one must free no extents meanwhile. Extents that the target
 * has are left as they are, so a repeated copy continues one that was interrupted.
 */
export class ExtentCopies {
  readonly #from: string;
  readonly #to: string;
  readonly #files: DiskContentFiles;
  /** The first copy of each file that has several names. */
  readonly #copies = new Map<string, string>();
  readonly #folders = new Set<string>();
  /** Folders that files were added to. */
  readonly #unsynced = new Set<string>(['']);

  private constructor(from: string, to: string) {
    this.#from = join(from, contentFolder);
    this.#to = join(to, contentFolder);
    this.#files = new DiskContentFiles(this.#to);
  }

  /** Throws `ContentLocationError` when something else is where the content would be. */
  static async open(from: string, to: string): Promise<ExtentCopies> {
    await contentDirectory(to);
    return new ExtentCopies(from, to);
  }

  /** Durable when `end` has resolved. Rejects with `ExtentMissingError`. */
  async copy(id: ExtentId): Promise<void> {
    const place = placeOf(id);
    if (place === undefined) throw new ExtentMissingError(id);
    for (const folder of [extentsFolder, sessionFolder(place.session), leafFolder(place)]) {
      this.#unsynced.add(folder);
      if (this.#folders.has(folder)) continue;
      await this.#files.makeFolder(folder);
      this.#folders.add(folder);
    }
    try {
      // A link without its owner could not be swept.
      if (place.isLink) await this.#copyFile(ownerFileOf(place));
      await this.#copyFile(fileOf(place));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') throw new ExtentMissingError(id);
      throw error;
    }
  }

  /** Makes the names of the files so far durable. */
  async end(): Promise<void> {
    const folders = [...this.#unsynced];
    this.#unsynced.clear();
    for (const folder of folders) await this.#files.syncFolder(folder);
  }

  /**
   * Marks all extents, so that the next start of the target deletes those that nothing names.
   * Needed where the data changed during the copy. Durable when it resolves.
   */
  async suspectAll(): Promise<void> {
    if (!this.#files.isThere(suspectAllFile)) {
      await (await this.#files.create(suspectAllFile)).close();
    }
    await this.#files.syncFolder('');
  }

  async #copyFile(path: string): Promise<void> {
    if (this.#files.isThere(path)) return;
    const from = join(this.#from, path);
    const to = join(this.#to, path);
    const { dev, ino, nlink } = await stat(from);
    const file = `${dev}-${ino}`;
    const first = this.#copies.get(file);
    if (first !== undefined && (await isLinked(first, to))) return;
    const unfinished = `${to}${unfinishedEnding}`;
    await rm(unfinished, { force: true });
    await copyFile(from, unfinished, constants.COPYFILE_FICLONE);
    await syncFile(unfinished);
    await rename(unfinished, to);
    if (nlink > 1) this.#copies.set(file, to);
  }
}

/** False where a file cannot have another name. */
async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch {
    return false;
  }
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
