import { within } from '../../../base/async/deadline.js';
import { sleep } from '../../../base/async/sleep.js';
import type { Timers } from '../../../base/async/timers.js';
import type { Clock } from '../../../base/clock.js';
import { invariant } from '../../../base/invariant.js';
import { messageOf } from '../../../base/thrown.js';
import type { ContentStore } from '../../../content/content-store.js';
import { CommitUnknownError, GuardError, StoreUnavailableError } from '../../../kv/errors.js';
import type { Guard } from '../../../kv/guards.js';
import type { Entry, Store } from '../../../kv/store.js';
import { extentsOfBlobs, rangeOfBlobs } from '../../../services/blobs/stored-blobs.js';
import { copyStateEntry, copyStateKey, guardOfCopy, isCopied } from '../../moves/copy-state.js';
import { bytesOf, pagesOf } from '../entries.js';
import { beginCopy } from '../copy-begin.js';
import { MigrationError } from '../migration-error.js';
import { moveNoteKey, moveNotePut } from '../../moves/move-note.js';
import { MovedError } from '../../moves/moved-error.js';
import {
  contentDirectoryOf,
  shownLocation,
  type DataLocation,
  type MigrationStore,
} from '../data-location.js';
import { ExtentReplica } from './extent-replica.js';
import { stillDiffering } from '../../../kv/differences.js';
import type { SizedKey } from '../../../kv/sized-keys.js';
import { comparedCopies } from '../../moves/differences.js';
import type { WatchedStore } from '../../moves/watched-store.js';

/** The phases of a migration of served data, in order. */
export type OnlinePhase =
  | 'reading the source'
  | 'copying'
  | 'catching up'
  | 'comparing'
  | 'switching'
  | 'asking the target again';

/** How long requests waited, and what was copied. */
export interface OnlineMigrated {
  readonly pauseMs: number;
}

/** The migration was cancelled. The source serves as before. */
export class MigrationCancelledError extends Error {
  override readonly name = 'MigrationCancelledError';
}

export interface OnlineMigrationParts {
  readonly source: WatchedStore;
  readonly content: Pick<ContentStore, 'retain'>;
  readonly from: DataLocation;
  readonly to: DataLocation;
  readonly target: MigrationStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly listener: OnlineListener;
  /** Cancels the migration when aborted, unless it has gone too far. */
  readonly signal: AbortSignal;
}

export interface OnlineListener {
  /** A phase begins that processes `bytes` bytes; undefined when the number is not known. */
  begin(phase: OnlinePhase, bytes?: number): void;
  progress(bytes: number): void;
  /** Something failed and is tried again, or is skipped. */
  trouble(error: unknown): void;
}

/** With more noted keys than this, copying stops until they are copied. */
const notesMax = 5_000;
/** Noted keys that may be left when writes are paused: few, so that the pause is short. */
const notesFew = 100;
/** Keys that are copied at once. */
const broughtKeys = 200;
/** Rounds after which the migration fails when the target has not caught up. */
const roundsMax = 1_000;
/** Pauses after which the migration fails when none was long enough. */
const pausesMax = 20;
/** About how long writes may wait for the end, in milliseconds. */
const pauseMillisMax = 5_000;
/** The time between two attempts to reach a target that does not answer, in milliseconds. */
const askAgainMs = 250;

/**
 * Moves all data of a store to another location while they are served. Keys that are written
 * meanwhile are noted and copied again. In the end writes pause until no noted key is left, and
 * then the target takes over. Until then the source is complete, and no server accepts the target.
 * Between the note in the source and the answer of the target neither is served, so no acknowledged
 * write is lost and no outdated data are read.
 */
export class OnlineMigration {
  readonly #parts: OnlineMigrationParts;
  readonly #shown: string;
  /** The store itself, which can be read while the watched store holds requests back. */
  readonly #source: Store & Pick<WatchedStore['inner'], 'lastVersion'>;
  /** Demands that the target is still the unfinished copy of this migration. */
  #ofCopy: Guard | undefined;

  constructor(parts: OnlineMigrationParts) {
    this.#parts = parts;
    this.#shown = shownLocation(parts.to);
    this.#source = parts.source.inner;
  }

  /**
   * Throws `MigrationError`, `MigrationCancelledError`, and the errors of stores. The source serves
   * then, unless it is unknown whether the target has taken over.
   */
  async run(): Promise<OnlineMigrated> {
    const { source, content, from, to, listener } = this.#parts;
    if (source.isRestoring) {
      throw new MigrationError('The data are just being set back: try again in a moment.');
    }
    // Keeps the extents that copied entries name until they are copied.
    const release = content.retain();
    source.note();
    try {
      await this.#begin();
      const locations = { from: contentDirectoryOf(from), to: contentDirectoryOf(to) };
      const brought = await ExtentReplica.open(locations, (bytes) => listener.progress(bytes));
      await this.#copy(brought);
      await this.#catchUp(brought);
      return await this.#end(brought, await this.#compare(brought));
    } finally {
      source.endNotes();
      release();
    }
  }

  async #begin(): Promise<void> {
    const { from, to, target } = this.#parts;
    const lastVersion = await this.#source.lastVersion();
    const state = await beginCopy(target, { from, to, lastVersion, isOnline: true });
    if (state.isOnline !== true) {
      // An offline copy noted no keys, so the target may differ anywhere: the state must say so.
      const entry = copyStateEntry({ ...state, lastVersion, isOnline: true });
      await target.ingest({ entries: [entry], deletes: [], floor: lastVersion });
    }
    this.#ofCopy = await guardOfCopy(target);
  }

  async #copy(brought: ExtentReplica): Promise<void> {
    const { target, listener } = this.#parts;
    listener.begin('reading the source');
    const total = await this.#size(brought);
    listener.begin('copying', total);
    for await (const { entries, puts, deletes } of comparedCopies(this.#source, target)) {
      // Extents come first, so that every entry of the target names existing ones.
      await brought.bring(entries);
      if (puts.length + deletes.length > 0) {
        await target.ingest({ entries: puts, deletes, floor: 0 });
      }
      listener.progress(bytesOf(entries));
      await this.#keepUp(brought);
    }
  }

  /** Bytes of entries and of content, about. */
  async #size(brought: ExtentReplica): Promise<number> {
    const { listener } = this.#parts;
    let bytes = 0;
    const note = async (more: number): Promise<void> => {
      bytes += more;
      listener.progress(more);
      await this.#keepUp(brought);
    };
    const everything = { start: Buffer.alloc(0) };
    for await (const page of pagesOf(this.#source, everything)) await note(bytesOf(page));
    const extents = extentsOfBlobs(entriesOfBlobs(this.#source));
    for await (const extent of extents) await note(extent.bytes);
    return bytes;
  }

  /** To be called between the steps of a long phase: copies noted keys when there are many. */
  async #keepUp(brought: ExtentReplica): Promise<void> {
    this.#assertWanted();
    if (this.#parts.source.notedKeys >= notesMax) await this.#bring(brought);
  }

  /** Copies the keys that were noted so far. Returns how many there were. */
  async #bring(brought: ExtentReplica): Promise<number> {
    const { source, target } = this.#parts;
    const keys = source.takeNotes().filter((key) => isCopied({ key }));
    for (let at = 0; at < keys.length; at += broughtKeys) {
      const some = keys.slice(at, at + broughtKeys);
      const found = await this.#source.getMany(some);
      const entries = found.filter((entry): entry is Entry => entry !== undefined);
      await brought.bring(entries);
      const deletes = some.filter((_, index) => found[index] === undefined);
      await target.ingest({ entries, deletes, floor: 0 });
    }
    return keys.length;
  }

  async #catchUp(brought: ExtentReplica): Promise<void> {
    this.#parts.listener.begin('catching up');
    for (let rounds = 0; ; rounds += 1) {
      this.#assertWanted();
      if ((await this.#bring(brought)) < notesFew) break;
      if (rounds === roundsMax) throw tooFast(this.#shown);
    }
    // Done before writes pause, because it takes time.
    await brought.end();
  }

  /** The keys that were not written meanwhile and in which source and target still differ. */
  async #compare(brought: ExtentReplica): Promise<readonly SizedKey[]> {
    const { target, listener } = this.#parts;
    listener.begin('comparing');
    const suspects: SizedKey[] = [];
    for await (const { entries, differing } of comparedCopies(this.#source, target)) {
      suspects.push(...differing);
      listener.progress(bytesOf(entries));
      await this.#keepUp(brought);
    }
    await this.#catchUp(brought);
    // Extents of blobs that were deleted meanwhile may have been copied.
    await brought.suspectAll();
    return stillDiffering(this.#source, target, suspects);
  }

  /**
   * Pauses writes and lets the target take over. `suspects`: keys that must not differ once writes
   * have stopped.
   */
  async #end(brought: ExtentReplica, suspects: readonly SizedKey[]): Promise<OnlineMigrated> {
    const { source, listener, clock } = this.#parts;
    for (let pauses = 0; pauses < pausesMax; pauses += 1) {
      this.#assertWanted();
      listener.begin('switching');
      const beganMs = clock.monotonicMs();
      try {
        if (await this.#isCaughtUp(brought, beganMs)) {
          await this.#switch(brought, suspects);
          return { pauseMs: clock.monotonicMs() - beganMs };
        }
      } finally {
        if (!source.isShut) source.open();
      }
      await this.#catchUp(brought);
    }
    throw tooFast(this.#shown);
  }

  /** Pauses writes and copies the noted keys. False when that takes too long. */
  async #isCaughtUp(brought: ExtentReplica, beganMs: number): Promise<boolean> {
    const { source, timers, clock } = this.#parts;
    const late = () => new StoreUnavailableError('A commit of the source does not end.');
    await within(source.fence(), { limitMs: pauseMillisMax, timers, late });
    while ((await this.#bring(brought)) > 0) {
      if (clock.monotonicMs() - beganMs > pauseMillisMax) return false;
    }
    return true;
  }

  async #switch(brought: ExtentReplica, suspects: readonly SizedKey[]): Promise<void> {
    const { source, target, from, listener } = this.#parts;
    const differing = await stillDiffering(this.#source, target, suspects);
    if (differing.length > 0) {
      throw new MigrationError(
        `${this.#shown} is not what ${shownLocation(from)} is: ${differing.length} keys differ that ` +
          'must not. Nothing has moved. Did somebody else write to the target? Begin again with an ' +
          'empty one.',
      );
    }
    await brought.end();
    this.#assertWanted();
    // From here on no server accepts the source, wherever a process dies.
    const note = moveNotePut({ to: this.#shown, isOver: false });
    const noted = await this.#source.commit({ checks: [], puts: [note], deletes: [] });
    source.shut();
    await this.#activate(noted.ok ? noted.version : await this.#source.lastVersion());
    const over = moveNotePut({ to: this.#shown, isOver: true });
    await this.#source
      .commit({ checks: [], puts: [over], deletes: [] })
      .catch((error: unknown) => listener.trouble(error));
    source.leave(new MovedError(this.#shown));
  }

  /**
   * The commit that makes the target take over. When it was not applied and never will be, the
   * source is opened again. When that is unknown, the source stays closed.
   */
  async #activate(floor: number): Promise<void> {
    const { source, target, timers, listener, signal } = this.#parts;
    const guard = this.#ofCopy;
    invariant(guard !== undefined, 'the copy was begun');
    for (let isUnknown = false; ;) {
      try {
        // Guarded, so that a late write does nothing after the data were taken back.
        await target.ingest({ entries: [], deletes: [copyStateKey], floor, guard });
        return;
      } catch (error) {
        // An earlier attempt was applied after all.
        if (isUnknown && error instanceof GuardError && error.actual === 'absent') return;
        isUnknown ||= error instanceof CommitUnknownError;
        if (!isUnknown) {
          // When the note cannot be removed, only the next start has to ask what to do: the data
          // are here.
          await this.#source
            .commit({ checks: [], puts: [], deletes: [moveNoteKey] })
            .catch((failure: unknown) => listener.trouble(failure));
          source.open();
          throw error;
        }
        // The commit may have been applied, or may still be. Repeating it is harmless.
        listener.begin('asking the target again');
        listener.trouble(error);
        if (signal.aborted) throw unknownEnd(this.#shown, error);
        await sleep(timers, askAgainMs, signal);
      }
    }
  }

  #assertWanted(): void {
    if (!this.#parts.signal.aborted) return;
    throw new MigrationCancelledError(
      `The migration was called off: the server has its data as before. The unfinished copy in ` +
        `${this.#shown} goes on when it is begun again; remove it when it is not wanted.`,
    );
  }
}

function tooFast(target: string): MigrationError {
  return new MigrationError(
    `${target} takes writes more slowly than clients make them, so the copy does not come to an ` +
      'end. Nothing has moved. Try again when there is less to do; what was copied stays.',
  );
}

function unknownEnd(target: string, cause: unknown): MigrationError {
  return new MigrationError(
    `Nobody knows whether ${target} has taken over (${messageOf(cause)}). No server serves the data ` +
      'before that is known: tabularium migrate --from this directory --to that location.',
    { cause },
  );
}

async function* entriesOfBlobs(store: Store): AsyncGenerator<Entry, void, void> {
  for await (const page of pagesOf(store, rangeOfBlobs)) yield* page;
}
