import { join } from 'node:path';
import { asBuffer, type Bytes } from '../../base/bytes.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import { codeOf } from '../../base/thrown.js';
import { assertOwner, assertRange } from '../assert-call.js';
import { CallsInFlight, endsInTime } from '../calls-in-flight.js';
import type {
  ContentStore,
  Extent,
  ExtentId,
  ExtentReader,
  ScrubStep,
  SweepOptions,
  SweepStep,
} from '../content-store.js';
import {
  ContentClosedError,
  ContentSessionLostError,
  ContentWriteError,
  ExtentMissingError,
} from '../errors.js';
import { Retentions } from '../retentions.js';
import { contentDirectory, contentFolder, type ContentPlace } from './content-directory.js';
import type { ContentFiles, NewFile } from './content-files.js';
import { DiskContentFiles } from './disk-files.js';
import { DiskReserve } from './disk-reserve.js';
import { DiskSyncs } from './disk-syncs.js';
import { encodeHead, type ExtentHead } from './extent-format.js';
import {
  extentsFolder,
  fileOf,
  idOf,
  leafFolder,
  ownerFileOf,
  placeOf,
  sessionFolder,
  type ExtentPlace,
} from './extent-place.js';
import { openExtent, RangeReader } from './extent-reader.js';
import { ExtentRemoval, placesOf } from './extent-removal.js';
import { ExtentWriter } from './extent-writer.js';
import { LastExtents } from './last-extents.js';
import { LeafFolders } from './leaf-folders.js';
import { scrubExtents, type UnfinishedState } from './scrub.js';
import { notedOf, Sessions, sessionsFolder } from './sessions.js';
import { suspectAllFile, Suspects } from './suspects.js';
import { Sweep } from './sweep.js';
import { WaitingExtents } from './waiting-extents.js';
import { writeWholeFile } from './whole-file.js';
import { writing } from './write-error.js';

/** Extents up to this length are copied: a link needs a file for its owner, which is as large. */
const copiedBytes = 64 * 1024;
const saltBytes = 4;
/** Error codes of a file system without hard links, or without further ones for this file. */
const noLinks: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'EMLINK',
  'ENOSYS',
  'ENOTSUP',
  'EOPNOTSUPP',
  'EXDEV',
]);

export interface FileContentOptions {
  readonly clock: Pick<Clock, 'nowMicros'>;
  readonly randomness: Randomness;
  /** Limit the time of a close. */
  readonly timers?: Timers;
  /**
   * Called whenever a call is about to reject with `ContentSessionLostError`: another session must
   * be begun.
   */
  readonly onSessionLost?: () => void;
}

/**
 * What is known of the commits of a session when it ends. `known`: what the store has told of them
 * is certain. `unknown`: it is not, and the store applies none any more. `under-way`: it may still
 * apply some.
 */
export type CommitsAtEnd = 'known' | 'unknown' | 'under-way';

/** Content in files; see docs/internals/content-store.md. */
export interface FileContent extends ContentStore {
  /**
   * Rejects with `ContentWriteError` while the folder is missing or cannot be written, or has no
   * file of this session. With leases that is left to the next `put`.
   */
  checkPlace(): Promise<void>;
  /**
   * Keeps the sweeps of all processes from the extents of this session, also after its end. For
   * one whose acknowledged commits are lost, when a person is to decide what becomes of the bytes
   * that they had named. Durable when it resolves. Idempotent.
   */
  hold(): Promise<void>;
  /** How many extents of this session wait for their commits, or are left to the sweep. */
  readonly waiting: number;
  /**
   * Leaves the session like one that has died, when the key space has failed. Takes as long as
   * `close`.
   */
  abandon(): Promise<void>;
  /**
   * As `abandon`, when commits of the session may still be applied: it looks alive until this
   * process, and so these commits, have ended.
   */
  abandonWithProcess(): Promise<void>;
}

/**
 * Opens the content of a data directory, which is there, and begins a session. Takes as long
 * whatever is stored. Throws `ContentLocationError`, and what the system says when it cannot write
 * there.
 */
export async function openFileContent(
  options: FileContentOptions & { readonly directory: string },
): Promise<FileContent> {
  return openContentIn(await contentDirectory(options.directory), options);
}

/** As `openFileContent`, in any place. */
export async function openContentIn(
  { files, liveness }: ContentPlace,
  options: FileContentOptions,
): Promise<FileContent> {
  const { clock, randomness, timers = systemTimers, onSessionLost = () => undefined } = options;
  await files.makeFolder(sessionsFolder);
  await files.makeFolder(extentsFolder);
  await files.syncFolder('');
  const areAllSuspect = files.isThere(suspectAllFile);
  const sessions = await Sessions.begin({ files, liveness, clock, randomness });
  const parts = { files, sessions, randomness, timers, onSessionLost, areAllSuspect };
  return new OpenFileContent(parts);
}

/**
 * Verifies the content of a data directory that no process uses, without a session; see `scrub`.
 * Changes nothing. A directory without content has no extents.
 */
export function scrubDirectory(directory: string): AsyncIterable<ScrubStep> {
  const files = new DiskContentFiles(join(directory, contentFolder));
  const unfinishedStateOf = ({ session }: ExtentPlace): UnfinishedState =>
    notedOf(files, session) === 'ended' ? 'truncated' : 'left';
  return scrubExtents({ files, unfinishedStateOf });
}

interface Parts {
  readonly files: ContentFiles;
  readonly sessions: Sessions;
  readonly randomness: Randomness;
  readonly timers: Timers;
  readonly onSessionLost: () => void;
  readonly areAllSuspect: boolean;
}

class OpenFileContent implements FileContent {
  readonly #files: ContentFiles;
  readonly #sessions: Sessions;
  readonly #randomness: Randomness;
  readonly #timers: Timers;
  readonly #onSessionLost: () => void;
  readonly #calls = new CallsInFlight();
  readonly #retentions = new Retentions();
  readonly #syncs: DiskSyncs;
  readonly #reserve: DiskReserve;
  readonly #leaves: LeafFolders;
  readonly #removal: ExtentRemoval;
  readonly #suspects: Suspects;
  readonly #sweep: Sweep;
  #lastNumber = 0;
  /** The numbers of extents that are being written. */
  readonly #unfinished = new Set<number>();
  readonly #waiting = new WaitingExtents();
  /** Set when the session begins to end. */
  #last: LastExtents | undefined;
  /** Nothing that is stored from now on may be named. */
  #isOver = false;
  #ended: Promise<void> | undefined;

  constructor({ files, sessions, randomness, timers, onSessionLost, areAllSuspect }: Parts) {
    const retentions = this.#retentions;
    this.#files = files;
    this.#sessions = sessions;
    this.#randomness = randomness;
    this.#timers = timers;
    this.#onSessionLost = onSessionLost;
    this.#syncs = new DiskSyncs(files);
    this.#reserve = new DiskReserve(files);
    this.#leaves = new LeafFolders(files, this.#syncs);
    this.#removal = new ExtentRemoval(files, this.#syncs, (leaf) => leaf === this.#leaf);
    const syncs = this.#syncs;
    const isAwaited = (number: number) => this.#unfinished.has(number) || this.#waiting.has(number);
    this.#suspects = new Suspects({ files, syncs, sessions, retentions, areAllSuspect, isAwaited });
    const suspects = this.#suspects;
    this.#sweep = new Sweep({ files, suspects, retentions, removal: this.#removal });
  }

  put(source: AsyncIterable<Buffer>, owner: Bytes): Promise<Extent> {
    return this.#calls.run(() => this.#put(source, owner));
  }

  read(id: ExtentId, start: number, end: number): Promise<ExtentReader> {
    return this.#calls.run(() => this.#read(id, start, end));
  }

  get waiting(): number {
    return this.#waiting.count;
  }

  confirm(ids: readonly ExtentId[]): void {
    this.#endWait(placesOf(ids));
  }

  free(ids: readonly ExtentId[]): Promise<void> {
    const places = placesOf(ids);
    return this.#mayEndWait(places)
      ? this.#free(places)
      : this.#calls.run(() => this.#free(places));
  }

  link(id: ExtentId, owner: Bytes): Promise<Extent> {
    return this.#calls.run(async () => {
      assertOwner(owner);
      const bytes = await this.#lengthOf(id);
      const linked = bytes > copiedBytes ? await this.#link(id, owner) : undefined;
      if (linked !== undefined) return { id: linked, bytes };
      const reader = await this.#read(id, 0, bytes);
      try {
        return await this.#put(reader.pieces, owner);
      } finally {
        reader.close();
      }
    });
  }

  retain(): () => void {
    return this.#retentions.retain();
  }

  suspectAll(): Promise<void> {
    return this.#calls.run(() => writing(this.#suspects.suspectAll(this.#lastNumber + 1)));
  }

  sweepOrphans(options: SweepOptions): Promise<SweepStep> {
    return this.#calls.run(() => this.#sweep.step(options));
  }

  async checkPlace(): Promise<void> {
    for (const folder of [sessionsFolder, extentsFolder]) {
      await writing(this.#files.checkWritable(folder));
    }
    if (this.#sessions.kind === 'socket' && !this.#sessions.isInPlace()) throw sessionGone();
  }

  hold(): Promise<void> {
    return this.#sessions.hold();
  }

  async *scrub(): AsyncGenerator<ScrubStep, void, void> {
    const unfinishedStateOf = (place: ExtentPlace) => this.#unfinishedStateOf(place);
    const steps = scrubExtents({ files: this.#files, unfinishedStateOf });
    try {
      for (;;) {
        const { value, done } = await this.#calls.run(() => steps.next());
        if (done === true) return;
        yield value;
      }
    } finally {
      await steps.return();
    }
  }

  close(): Promise<void> {
    return (this.#ended ??= this.#close());
  }

  abandon(): Promise<void> {
    return (this.#ended ??= this.#finish().then(() => this.#leave()));
  }

  abandonWithProcess(): Promise<void> {
    return (this.#ended ??= this.#finish());
  }

  /** The folder of the last extent, where the next one is probably stored. */
  get #leaf(): string {
    return leafFolder({ session: this.#sessions.own, number: this.#lastNumber, isLink: false });
  }

  async #put(source: AsyncIterable<Buffer>, owner: Bytes): Promise<Extent> {
    assertOwner(owner);
    return this.#storing(false, async (place) => {
      const create = () => this.#files.create(fileOf(place));
      const file = await writing(this.#leaves.within(place, create));
      const salt = asBuffer(this.#randomness.bytes(saltBytes)).readUInt32LE();
      const head = { session: place.session, number: place.number, salt, owner };
      return { id: idOf(place), bytes: await this.#write(file, head, source) };
    });
  }

  async #write(file: NewFile, head: ExtentHead, source: AsyncIterable<Buffer>): Promise<number> {
    const writer = new ExtentWriter(file, head, () => this.#syncs.file(() => file.sync()));
    try {
      for await (const piece of source) {
        if (this.#isOver) throw new ContentClosedError();
        const asked = this.#reserve.take(piece.length);
        if (asked !== undefined) await writing(asked);
        await writing(writer.append(piece));
      }
      return await writing(writer.finish());
    } finally {
      await writer.settled();
      await writing(file.close());
    }
  }

  /** Links an extent. Undefined when the file system cannot link the file. */
  async #link(id: ExtentId, owner: Bytes): Promise<ExtentId | undefined> {
    const from = existing(id);
    try {
      return await this.#storing(true, async (place) => {
        const { session, number } = place;
        const head = encodeHead({ session, number, salt: 0, owner });
        const writeOwner = () => writeWholeFile(this.#files, ownerFileOf(place), head);
        await this.#leaves.within(place, writeOwner);
        // The owner comes first, because a link without one could not be swept.
        await this.#syncs.folder(leafFolder(place));
        await this.#files.link(fileOf(from), fileOf(place));
        return idOf(place);
      });
    } catch (error) {
      // The extent was freed meanwhile.
      if (!this.#files.isThere(fileOf(from))) throw new ExtentMissingError(id);
      if (noLinks.has(codeOf(error))) return undefined;
      return writing(Promise.reject(error));
    }
  }

  /** Stores a new extent. Its name is durable when this resolves, and removed when it rejects. */
  async #storing<Result>(
    isLink: boolean,
    store: (place: ExtentPlace) => Promise<Result>,
  ): Promise<Result> {
    // The note of the session names no number that is given out now.
    if (this.#isOver) throw new ContentClosedError();
    this.#lastNumber += 1;
    const place = { session: this.#sessions.own, number: this.#lastNumber, isLink };
    this.#unfinished.add(place.number);
    this.#last?.begin(place.number);
    try {
      const stored = await store(place);
      await writing(this.#syncs.folder(leafFolder(place)));
      if (!this.#sessions.isInPlace()) throw this.#takenForDead();
      if (this.#isOver) throw new ContentClosedError();
      this.#waiting.begin(place.number);
      return stored;
    } catch (error) {
      await this.#removeFailed(place);
      this.#last?.end(place.number);
      throw error;
    } finally {
      this.#unfinished.delete(place.number);
    }
  }

  /** A process whose session lives by a lease begins another one; a socket is lost for good. */
  #takenForDead(): Error {
    if (this.#sessions.kind === 'lease') {
      this.#onSessionLost();
      return new ContentSessionLostError();
    }
    return sessionGone();
  }

  async #removeFailed(place: ExtentPlace): Promise<void> {
    try {
      await this.#removal.remove([place]);
    } catch {
      // The caller throws the first error. The file waits for a commit that will not come, so that
      // the sweep of a later session finds it.
      this.#waiting.begin(place.number);
    }
  }

  async #free(places: readonly ExtentPlace[]): Promise<void> {
    const own = this.#ownOf(places);
    for (const number of own) this.#last?.begin(number);
    try {
      const isHeld = this.#retentions.isHeld && places.length > 0;
      if (isHeld) await writing(this.#suspects.defer(places.map(idOf)));
      else await writing(this.#removal.remove(places));
      this.#endWait(places);
    } finally {
      for (const number of own) this.#last?.end(number);
    }
  }

  #endWait(places: readonly ExtentPlace[]): void {
    for (const number of this.#ownOf(places)) {
      this.#waiting.end(number);
      this.#last?.end(number);
    }
  }

  /** The numbers of those that this session has stored. */
  #ownOf(places: readonly ExtentPlace[]): readonly number[] {
    return places.flatMap(({ session, number }) =>
      session === this.#sessions.own ? [number] : [],
    );
  }

  /** The session begins to end, and some of these wait still, which then needs no sweep. */
  #mayEndWait(places: readonly ExtentPlace[]): boolean {
    if (this.#last === undefined || this.#isOver) return false;
    return this.#ownOf(places).some((number) => this.#waiting.has(number));
  }

  async #read(id: ExtentId, start: number, end: number): Promise<ExtentReader> {
    const extent = await openExtent(this.#files, existing(id));
    try {
      assertRange(id, extent.bytes, start, end);
      return new RangeReader(extent, start, end);
    } catch (error) {
      await extent.close();
      throw error;
    }
  }

  async #lengthOf(id: ExtentId): Promise<number> {
    const extent = await openExtent(this.#files, existing(id));
    await extent.close();
    return extent.bytes;
  }

  #unfinishedStateOf({ session, number }: ExtentPlace): UnfinishedState {
    if (session === this.#sessions.own) {
      return this.#unfinished.has(number) ? 'being-written' : 'truncated';
    }
    const noted = notedOf(this.#files, session);
    switch (noted) {
      case 'open':
        return 'being-written';
      case 'left':
        return 'left';
      case 'ended':
        return 'truncated';
      default:
        return unreachable(noted);
    }
  }

  async #close(): Promise<void> {
    await this.#finish();
    // Puts in progress are rejected from now on, but may leave files; the sweep checks them.
    for (const number of this.#unfinished) this.#waiting.begin(number);
    // A stuck disk may prevent the note about waiting extents; without it all are suspects.
    if (!(await endsInTime(this.#timers, this.#end()))) await this.#leave();
  }

  /** Waits for what is under way, as long as a close may. */
  async #finish(): Promise<void> {
    const last = new LastExtents(this.#unfinished);
    this.#last = last;
    this.#calls.refuse();
    const ended = this.#calls.none().then(() => last.none());
    await endsInTime(this.#timers, ended);
    this.#isOver = true;
  }

  async #end(): Promise<void> {
    try {
      await this.#removal.removeFolders(this.#leaf, sessionFolder(this.#sessions.own));
    } finally {
      // Otherwise the session would look alive for as long as the process, and nothing be swept.
      await this.#sessions.end(this.#waiting);
    }
  }

  async #leave(): Promise<void> {
    await endsInTime(this.#timers, this.#sessions.abandon());
  }
}

function sessionGone(): ContentWriteError {
  const message =
    'The file of this session of the content is gone: the folder is another one, or another ' +
    'process has taken this one for dead. Put the folder back as it was, or restart the server.';
  return new ContentWriteError(message, { isFull: false });
}

function existing(id: ExtentId): ExtentPlace {
  const place = placeOf(id);
  if (place === undefined) throw new ExtentMissingError(id);
  return place;
}
