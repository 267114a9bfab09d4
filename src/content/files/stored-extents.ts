import { join } from 'node:path';
import type { ExtentId } from '../content-store.js';
import { ContentDamagedError, ExtentMissingError, type ContentProblem } from '../errors.js';
import { contentFolder } from './content-directory.js';
import type { ContentFiles } from './content-files.js';
import { DiskContentFiles } from './disk-files.js';
import { ownerOf } from './extent-owner.js';
import { extentsFolder, fileOf, isSession, placeOf, sessionFolder } from './extent-place.js';
import { verifiedBytes } from './extent-reader.js';
import { extentsIn } from './leaf-extents.js';

/** The fault of an extent that is in use. */
export interface ExtentFault {
  /** `short`: it is whole, and has fewer bytes than are named. */
  readonly problem: ContentProblem | 'missing' | 'short';
  /** Where the first damaged block begins; 0 when no byte can be trusted. */
  readonly offset: number;
}

/** The extents in a data directory that no process uses. Changes nothing. */
export class StoredExtents {
  readonly #directory: string;
  readonly #files: ContentFiles;

  constructor(directory: string) {
    this.#directory = join(directory, contentFolder);
    this.#files = new DiskContentFiles(this.#directory);
  }

  /** How many there are. A directory without content has none. */
  async count(): Promise<number> {
    let count = 0;
    for (const session of (await this.#files.list(extentsFolder)).filter(isSession)) {
      for (const leaf of await this.#files.list(sessionFolder(session))) {
        count += (await extentsIn(this.#files, session, leaf)).length;
      }
    }
    return count;
  }

  /** The file of an extent. */
  fileOf(id: ExtentId): string {
    const place = placeOf(id);
    return join(this.#directory, place === undefined ? id : fileOf(place));
  }

  /**
   * Reads an extent and verifies its checksums. `bytes`: the length that it must have at least.
   * `read` is called with the bytes that are right.
   */
  async verify(
    id: ExtentId,
    bytes: number,
    read: (bytes: number) => void,
  ): Promise<ExtentFault | undefined> {
    const place = placeOf(id);
    if (place === undefined) return { problem: 'missing', offset: 0 };
    let found = 0;
    try {
      for await (const piece of verifiedBytes(this.#files, place)) {
        found += piece;
        read(piece);
      }
      if (found < bytes) return { problem: 'short', offset: found };
      const owner = await ownerOf(this.#files, place);
      return owner.kind === 'known' ? undefined : { problem: 'damaged', offset: 0 };
    } catch (error) {
      if (error instanceof ExtentMissingError) return { problem: 'missing', offset: 0 };
      if (!(error instanceof ContentDamagedError)) throw error;
      return { problem: error.problem, offset: error.offset };
    }
  }
}
