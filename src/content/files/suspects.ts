import { codeOf } from '../../base/thrown.js';
import { sweepSliceExtents, type ExtentId } from '../content-store.js';
import type { Retentions } from '../retentions.js';
import type { ContentFiles } from './content-files.js';
import type { DiskSyncs } from './disk-syncs.js';
import { placesOf } from './extent-removal.js';
import { extentsIn } from './leaf-extents.js';
import {
  extentsFolder,
  isSession,
  leafOf,
  sessionFolder,
  type ExtentPlace,
} from './extent-place.js';
import type { Sessions } from './sessions.js';

/** While this file is there, the extents of all earlier sessions are suspects. */
export const suspectAllFile = 'suspect-all';

export interface SuspectsOptions {
  readonly files: ContentFiles;
  readonly syncs: DiskSyncs;
  readonly sessions: Sessions;
  readonly retentions: Retentions;
  /** Whether the file was there when this session began. */
  readonly areAllSuspect: boolean;
  /** Whether a commit may still name an extent of this session, by number. */
  readonly isAwaited: (number: number) => boolean;
}

/** A few suspects, all of one folder or all freed while something was retained. */
export interface SuspectSlice {
  readonly places: readonly ExtentPlace[];
  /** True when the session of the places is held by now: nothing of it may be deleted. */
  readonly isHeld?: () => boolean;
  /** Must be called when those that are not referenced have been deleted durably. */
  readonly settle: () => void;
}

/** A part of the extents of a session. */
interface Part {
  /** Whether there may be any in a folder. */
  readonly hasLeaf: (leaf: string) => boolean;
  readonly isIn: (number: number) => boolean;
}

const whole: Part = { hasLeaf: () => true, isIn: () => true };

function among(numbers: ReadonlySet<number>): Part {
  const leaves = new Set(Array.from(numbers, leafOf));
  return { hasLeaf: (leaf) => leaves.has(leaf), isIn: (number) => numbers.has(number) };
}

/** The extents that may not be referenced from the key space, found a few at a time. */
export class Suspects {
  readonly #files: ContentFiles;
  readonly #syncs: DiskSyncs;
  readonly #sessions: Sessions;
  readonly #retentions: Retentions;
  readonly #isAwaited: SuspectsOptions['isAwaited'];
  /** The file `suspectAllFile` is there: not only dead sessions have suspects. */
  #isNoted: boolean;
  /** Set while all extents are suspects; of this session only those below the number. */
  #all: { readonly ownBelow: number } | undefined;
  /** Some suspects can only be found by a later session, so the file has to stay. */
  #isLeftToLater = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: SuspectsOptions) {
    const { files, syncs, sessions, retentions, areAllSuspect, isAwaited } = options;
    this.#files = files;
    this.#syncs = syncs;
    this.#sessions = sessions;
    this.#retentions = retentions;
    this.#isAwaited = isAwaited;
    this.#isNoted = areAllSuspect;
    this.#all = areAllSuspect ? { ownBelow: 0 } : undefined;
  }

  /** Makes suspects of extents that were freed while extents are retained. */
  async defer(ids: readonly ExtentId[]): Promise<void> {
    // Before the file is written, so that it is not removed at once.
    if (!this.#retentions.defer(ids)) this.#isLeftToLater = true;
    await this.#note();
  }

  /**
   * Makes all extents suspects; of this session those with a smaller number that wait for no
   * commit, since the end of the session finds the others.
   */
  async suspectAll(ownBelow: number): Promise<void> {
    this.#all = { ownBelow };
    await this.#note();
  }

  /** True when there are suspects beside the extents of dead sessions. */
  get areDue(): boolean {
    return this.#all !== undefined || this.#retentions.released(1).length > 0;
  }

  /** One pass over all suspects of now. */
  async *pass(): AsyncGenerator<SuspectSlice, void, void> {
    yield* this.#released();
    const { left, live } = await this.#sessions.look();
    for (const session of left) {
      const waiting = await this.#sessions.waitingIn(session);
      if (waiting === undefined) yield* this.#ofSession(session);
      else yield* this.#ofSession(session, among(waiting));
      if (!this.#sessions.isHeld(session)) await this.#sessions.settle(session);
    }
    const all = this.#all;
    if (all !== undefined) {
      yield* this.#ofAll(all.ownBelow, live);
      if (this.#all === all) this.#all = undefined;
    }
    await this.#endNote();
  }

  async *#released(): AsyncGenerator<SuspectSlice, void, void> {
    for (;;) {
      const ids = this.#retentions.released(sweepSliceExtents);
      if (ids.length === 0) return;
      yield { places: placesOf(ids), settle: () => this.#retentions.settle(ids) };
    }
  }

  async *#ofAll(
    ownBelow: number,
    live: ReadonlySet<string>,
  ): AsyncGenerator<SuspectSlice, void, void> {
    const { own } = this.#sessions;
    // Sessions that have begun since the first look live as well: their extents are no suspects.
    const before = await this.#files.list(extentsFolder);
    const since = (await this.#sessions.look()).live;
    for (const session of before.filter(isSession)) {
      if (session === own) yield* this.#ofSession(own, this.#ofOwn(ownBelow));
      else if (live.has(session) || since.has(session)) this.#isLeftToLater = true;
      else yield* this.#ofSession(session);
    }
  }

  #ofOwn(below: number): Part {
    const isIn = (number: number): boolean => number < below && !this.#isAwaited(number);
    return { hasLeaf: () => true, isIn };
  }

  async *#ofSession(
    session: string,
    { hasLeaf, isIn }: Part = whole,
  ): AsyncGenerator<SuspectSlice, void, void> {
    const isOwn = session === this.#sessions.own;
    for (const leaf of await this.#files.list(sessionFolder(session))) {
      if (!hasLeaf(leaf)) continue;
      const path = `${sessionFolder(session)}/${leaf}`;
      const found = await extentsIn(this.#files, session, leaf);
      // A process that died may have deleted files of a dead session without making it durable.
      if (!isOwn) await this.#syncs.folder(path);
      const places = found.filter(({ number }) => isIn(number));
      for (let at = 0; at < places.length; at += sweepSliceExtents) {
        // Its process may have found only now that commits are lost.
        const isHeld = (): boolean => this.#sessions.isHeld(session);
        if (isHeld()) return;
        yield { places: places.slice(at, at + sweepSliceExtents), isHeld, settle: () => undefined };
      }
      if (!isOwn && places.length === 0) await this.#files.removeFolder(path);
    }
    if (!isOwn) await this.#files.removeFolder(sessionFolder(session));
  }

  async #note(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#isNoted) return;
      try {
        await (await this.#files.create(suspectAllFile)).close();
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
      await this.#files.syncFolder('');
      this.#isNoted = true;
    });
  }

  async #endNote(): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#isNoted || this.#isLeftToLater) return;
      if (this.#all !== undefined || this.#retentions.isBusy) return;
      this.#isNoted = false;
      await this.#files.remove(suspectAllFile);
    });
  }

  /** Runs changes of the file one at a time. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    await done;
  }
}
