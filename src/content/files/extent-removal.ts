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

  /** Removes the owner last: a link without one could not be swept later. */
  async #removeFiles(place: ExtentPlace): Promise<void> {
    await this.#files.remove(fileOf(place));
    if (place.isLink) await this.#files.remove(ownerFileOf(place));
  }
}

/** The places of ids, without those of impossible ids. */
export function placesOf(ids: readonly ExtentId[]): readonly ExtentPlace[] {
  return ids.flatMap((id) => placeOf(id) ?? []);
}
