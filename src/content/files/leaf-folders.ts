import { codeOf } from '../../base/thrown.js';
import type { ContentFiles } from './content-files.js';
import type { DiskSyncs } from './disk-syncs.js';
import { extentsFolder, leafFolder, sessionFolder, type ExtentPlace } from './extent-place.js';

/** Another process may remove an empty folder before a file is in it, each time again. */
const attemptsMax = 16;

/** The folders of the extents of a session, which are made when they are needed. */
export class LeafFolders {
  readonly #files: ContentFiles;
  readonly #syncs: DiskSyncs;
  /** The last one that was made, or is being made: numbers only grow. */
  #made: { readonly path: string; readonly done: Promise<void> } | undefined;

  constructor(files: ContentFiles, syncs: DiskSyncs) {
    this.#files = files;
    this.#syncs = syncs;
  }

  /** Does work that makes a file of the extent, in its folder. */
  async within<Result>(place: ExtentPlace, work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#make(place);
      try {
        return await work();
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === attemptsMax) throw error;
        this.#made = undefined;
      }
    }
  }

  async #make(place: ExtentPlace): Promise<void> {
    const path = leafFolder(place);
    if (this.#made?.path === path) return this.#made.done;
    const done = this.#makeDurable(place, path);
    const made = { path, done };
    this.#made = made;
    try {
      await done;
    } catch (error) {
      if (this.#made === made) this.#made = undefined;
      throw error;
    }
  }

  async #makeDurable({ session }: ExtentPlace, path: string): Promise<void> {
    await this.#files.makeFolder(sessionFolder(session));
    await this.#files.makeFolder(path);
    await Promise.all([
      this.#syncs.folder(extentsFolder),
      this.#syncs.folder(sessionFolder(session)),
    ]);
  }
}
