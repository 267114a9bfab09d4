import { invariant } from '../../base/invariant.js';
import {
  sweepSliceExtents,
  type IsReferenced,
  type SweepOptions,
  type SweepStep,
} from '../content-store.js';
import type { Retentions } from '../retentions.js';
import { unreferenced, type Suspect } from '../unreferenced.js';
import type { ContentFiles } from './content-files.js';
import { ownerOf } from './extent-owner.js';
import { idOf, type ExtentPlace } from './extent-place.js';
import { placesOf, type ExtentRemoval } from './extent-removal.js';
import type { SuspectSlice, Suspects } from './suspects.js';

export interface SweepParts {
  readonly files: ContentFiles;
  readonly suspects: Suspects;
  readonly retentions: Retentions;
  readonly removal: ExtentRemoval;
}

interface OrphansOfSlice {
  readonly orphans: readonly ExtentPlace[];
  /** Extents without files. An earlier step may have removed these without making it durable. */
  readonly absent: readonly ExtentPlace[];
}

/** Deletes suspects that are not referenced, step by step. */
export class Sweep {
  readonly #parts: SweepParts;
  #pass: AsyncGenerator<SuspectSlice, void, void> | undefined;
  /** The suspects that the pass found last, until they are settled. */
  #slice: SuspectSlice | undefined;
  #isRunning = false;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  async step({ isReferenced, extentsMax }: SweepOptions): Promise<SweepStep> {
    invariant(!this.#isRunning, 'one step of a sweep at a time');
    this.#isRunning = true;
    try {
      return await this.#run(isReferenced, extentsMax);
    } finally {
      this.#isRunning = false;
    }
  }

  async #run(isReferenced: IsReferenced, extentsMax: number): Promise<SweepStep> {
    const { retentions, suspects } = this.#parts;
    let looked = 0;
    let deleted = 0;
    while (!retentions.isHeld) {
      if (looked > 0 && looked + sweepSliceExtents > extentsMax) {
        return { looked, deleted, more: true };
      }
      this.#slice ??= await this.#next();
      const slice = this.#slice;
      if (slice === undefined) return { looked, deleted, more: suspects.areDue };
      const { orphans, absent } = await this.#orphansIn(slice.places, isReferenced);
      if (retentions.isHeld) break;
      // The session may have been held while the slice waited for the end of a retention.
      if (slice.isHeld?.() !== true) {
        await this.#parts.removal.remove([...orphans, ...absent]);
        slice.settle();
        deleted += orphans.length;
      }
      this.#slice = undefined;
      looked += slice.places.length;
    }
    return { looked, deleted, more: false };
  }

  async #next(): Promise<SuspectSlice | undefined> {
    this.#pass ??= this.#parts.suspects.pass();
    try {
      const { value, done } = await this.#pass.next();
      if (done !== true) return value;
      this.#pass = undefined;
      return undefined;
    } catch (error) {
      // A generator cannot continue after it has thrown.
      this.#pass = undefined;
      throw error;
    }
  }

  async #orphansIn(
    places: readonly ExtentPlace[],
    isReferenced: IsReferenced,
  ): Promise<OrphansOfSlice> {
    const orphans: ExtentPlace[] = [];
    const absent: ExtentPlace[] = [];
    const suspects: Suspect[] = [];
    await Promise.all(
      places.map(async (place) => {
        const found = await ownerOf(this.#parts.files, place);
        switch (found.kind) {
          case 'known':
            suspects.push({ id: idOf(place), owner: found.owner });
            break;
          case 'unwritten':
            orphans.push(place);
            break;
          case 'absent':
            absent.push(place);
            break;
          case 'damaged':
            // Without its owner, references to it cannot be looked up. A scrub reports it.
            break;
        }
      }),
    );
    orphans.push(...placesOf(await unreferenced(suspects, isReferenced)));
    return { orphans, absent };
  }
}
