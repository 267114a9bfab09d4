import type { ExtentId } from '../content-store.js';
import type { ContentFiles } from './content-files.js';
import type { DiskSyncs } from './disk-syncs.js';
import {
  extentsFolder,
  fileOf,
  leafFolder,
  ownerFileOf,
  placeOf,
  sessionFolder,
  type ExtentPlace,
} from './extent-place.js';

/** Files that are removed at the same time. */
const removedAtOnce = 8;

/** Removes extents durably. Absent ones count as removed, which an earlier call may have begun. */
export class ExtentRemoval {
  readonly #files: ContentFiles;
  readonly #syncs: DiskSyncs;
  readonly #isInUse: (leaf: string) => boolean;

  /** `isInUse`: whether an empty folder has to stay. */
  constructor(files: ContentFiles, syncs: DiskSyncs, isInUse: (leaf: string) => boolean) {
    this.#files = files;
    this.#syncs = syncs;
    this.#isInUse = isInUse;
  }

  async remove(places: readonly ExtentPlace[]): Promise<void> {
    await this.#removeFiles(places, fileOf);
    // A link without its owner could not be swept later, so the link must be gone durably before.
    await this.#removeFiles(
      places.filter(({ isLink }) => isLink),
      ownerFileOf,
    );
    const folders = new Map(places.map((place) => [leafFolder(place), place.session]));
    for (const [leaf, session] of folders) {
      if (!this.#isInUse(leaf)) await this.removeFolders(leaf, sessionFolder(session));
    }
  }

  /** Removes a folder of extents that is empty, and that of its session when it was the last. */
  async removeFolders(leaf: string, session: string): Promise<void> {
    if (await this.#files.removeFolder(leaf)) await this.#files.removeFolder(session);
  }

  /** Removes one file of each place, durably. */
  async #removeFiles(
    places: readonly ExtentPlace[],
    pathOf: (place: ExtentPlace) => string,
  ): Promise<void> {
    for (let at = 0; at < places.length; at += removedAtOnce) {
      const some = places.slice(at, at + removedAtOnce);
      const removed = await Promise.all(some.map((place) => this.#files.remove(pathOf(place))));
      // Where the whole folder is away, its extents would count as removed and come back with it.
      if (removed.includes(false)) await this.#files.checkWritable(extentsFolder);
    }
    for (const leaf of new Set(places.map(leafFolder))) await this.#syncs.folder(leaf);
  }
}

/** The places of ids, without those of impossible ids. */
export function placesOf(ids: readonly ExtentId[]): readonly ExtentPlace[] {
  return ids.flatMap((id) => placeOf(id) ?? []);
}
