import type { ExtentId } from '../content-store.js';
import type { ContentFiles } from './content-files.js';
import type { DiskSyncs } from './disk-syncs.js';
import {
  fileOf,
  leafFolder,
  ownerFileOf,
  placeOf,
  sessionFolder,
  type ExtentPlace,
} from './extent-place.js';

/** Files that are removed at once. */
const removedAtOnce = 8;

/** Removes extents durably. Absent ones count as removed, which an earlier call may have begun. */
export class ExtentRemoval {
  readonly #files: ContentFiles;
  readonly #syncs: DiskSyncs;
  readonly #isInUse: (leaf: string) => boolean;

  /** A folder that is in use stays, although it is empty. */
  constructor(files: ContentFiles, syncs: DiskSyncs, isInUse: (leaf: string) => boolean) {
    this.#files = files;
    this.#syncs = syncs;
    this.#isInUse = isInUse;
  }

  async remove(places: readonly ExtentPlace[]): Promise<void> {
    const folders = new Map<string, string>();
    for (let at = 0; at < places.length; at += removedAtOnce) {
      await Promise.all(
        places.slice(at, at + removedAtOnce).map(async (place) => {
          folders.set(leafFolder(place), sessionFolder(place.session));
          await this.#removeFiles(place);
        }),
      );
    }
    for (const [leaf, session] of folders) {
      await this.#syncs.folder(leaf);
      if (!this.#isInUse(leaf)) await this.removeFolders(leaf, session);
    }
  }

  /** Removes a folder of extents that is empty, and that of its session when it was the last. */
  async removeFolders(leaf: string, session: string): Promise<void> {
    if (await this.#files.removeFolder(leaf)) await this.#files.removeFolder(session);
  }

  /** The owner goes last: a link without one would not be looked at again. */
  async #removeFiles(place: ExtentPlace): Promise<void> {
    await this.#files.remove(fileOf(place));
    if (place.isLink) await this.#files.remove(ownerFileOf(place));
  }
}

/** Places of ids; an id that no extent has is left out. */
export function placesOf(ids: readonly ExtentId[]): readonly ExtentPlace[] {
  return ids.flatMap((id) => placeOf(id) ?? []);
}
