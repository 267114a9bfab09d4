import type { Bytes } from '../base/bytes.js';
import type { ContentProblem } from './errors.js';

/**
 * Where the bytes of blobs rest, beside the ordered key space. Bytes are stored first, as an
 * _extent_; then a commit of the key space names it. An extent that no commit names any more is
 * freed.
 *
 * Two rules of callers keep both in step over a crash:
 *
 * - An extent waits for its commit from `put` or `link` on. It is confirmed when a commit that
 *   names it was acknowledged, and freed when none was applied and none will be. When the outcome
 *   is unknown it is neither. After an orderly close the sweep checks only extents that still wait
 *   for a commit; after a crash, all extents of the session.
 * - The commit that stops naming extents also stores a note of their ids. They are freed, and then
 *   the note is removed. If the process dies between, the next one finds the note and frees them
 *   again. The sweep does not look for them.
 *
 * A _session_ is one opening by one process. Several processes may have one at the same time.
 */
export interface ContentStore {
  /**
   * Stores all bytes of the source as a new extent. It is durable when this resolves; when it
   * rejects nothing remains. Pieces are used until the next one is requested, no longer. `owner`:
   * 0 to `ownerBytesMax` bytes that tell `IsReferenced` where the key space would name the extent.
   * Rejects with what the source throws, `ContentWriteError` or `ContentSessionLostError`. The
   * caller bounds the source: more than `extentBytesMax` bytes are an `InvariantError`.
   */
  put(source: AsyncIterable<Buffer>, owner: Bytes): Promise<Extent>;
  /**
   * Opens an extent to read the bytes from `start` to before `end`, 0 <= start <= end <= its
   * bytes (an `InvariantError` otherwise). Once this has resolved, freeing the extent does not
   * disturb the reader. The caller must close it. Rejects with `ExtentMissingError`, or
   * `ContentDamagedError` when not even its length can be trusted.
   */
  read(id: ExtentId, start: number, end: number): Promise<ExtentReader>;
  /**
   * Tells that a commit which names these extents was acknowledged: they wait for it no longer.
   * Takes effect at once, and does nothing for extents that do not wait in this session.
   */
  confirm(ids: readonly ExtentId[]): void;
  /**
   * Deletes extents, durably when it resolves. Ids of missing extents are ignored. While something
   * is retained, extents stay; see `retain`. Rejects with `ContentWriteError`; those that waited
   * for their commits still do then.
   */
  free(ids: readonly ExtentId[]): Promise<void>;
  /**
   * A new extent with the bytes of another one, which are not stored again where that is possible.
   * Each is freed by itself. Durable when it resolves; nothing remains when it rejects, with
   * `ExtentMissingError`, `ContentDamagedError`, `ContentWriteError` or
   * `ContentSessionLostError`.
   */
  link(id: ExtentId, owner: Bytes): Promise<Extent>;
  /**
   * Until the returned function is called, no extent is deleted: older states of the key space, to
   * which it may be set back, name them. Extents that are freed meanwhile are left to the sweep,
   * which asks whether they are named again. Takes effect at once. The function is idempotent.
   */
  retain(): () => void;
  /**
   * Makes suspects of all present extents but those of sessions of other living processes. To be
   * called before the key space is set back. Extents of this session that wait for their commits,
   * which may still be applied, are left to its end. Durable when it resolves: a crash leaves them
   * suspects. Rejects with `ContentWriteError`.
   */
  suspectAll(): Promise<void>;
  /**
   * One bounded step of the sweep: looks at suspects, asks which of them the key space names, and
   * deletes the others. Suspects are extents of sessions that died (were not closed), those that
   * waited for their commits when one was closed, those freed while something was retained, and
   * those of `suspectAll`; never extents of another living process. Does nothing while something is
   * retained. The next call goes on where this one ended, also after a rejection. At most one step
   * at a time.
   */
  sweepOrphans(options: SweepOptions): Promise<SweepStep>;
  /**
   * Reads all extents and verifies their checksums, one bounded step a time, as fast as it is
   * iterated. Extents that are stored or freed meanwhile may be left out, and those of another
   * living process while they have no end.
   */
  scrub(): AsyncIterable<ScrubStep>;
  /**
   * Ends the session. Only its extents that wait for their commits become suspects; all do when too
   * many wait to be noted. So no commit of this session may be applied any more. Later calls are
   * refused with `ContentClosedError`. Waits for those under way, and where bytes outlive the
   * process also until what they store was confirmed or freed, at most for `contentCloseMs`: until
   * then `free` serves extents that wait. What is left then is left to the sweep, and a `put` or
   * `link` that ends later rejects. To end the session takes at most as long again. Open readers
   * may go on. Idempotent.
   */
  close(): Promise<void>;
}

/** 1 to `extentIdLengthMax` characters of `0-9 A-Z a-z . _ -`. Never used again. */
export type ExtentId = string;

/** An immutable sequence of bytes. */
export interface Extent {
  readonly id: ExtentId;
  readonly bytes: number;
}

export interface ExtentReader {
  /** The length of the whole extent. */
  readonly bytes: number;
  /**
   * The bytes of the range, in order, verified. Iterated at most once. A piece has 1 to
   * `contentPieceBytesMax` bytes and is valid until the next one is requested, which may be read
   * ahead into other memory. Throws `ContentDamagedError` before any byte of a damaged block.
   */
  readonly pieces: AsyncIterable<Buffer>;
  /** Idempotent. A piece that is requested afterwards ends the iteration. */
  close(): void;
}

/**
 * Which of these extents the key space names. All have the same owner. The answer must contain each
 * one that is named throughout the call, even when another key names it at the end than at the
 * beginning.
 */
export type IsReferenced = (
  owner: Bytes,
  ids: readonly ExtentId[],
) => Promise<ReadonlySet<ExtentId>>;

export interface SweepOptions {
  readonly isReferenced: IsReferenced;
  /** The approximate number of suspects to check; at least `sweepSliceExtents`. */
  readonly extentsMax: number;
}

export interface SweepStep {
  /** The number of suspects that were checked. */
  readonly looked: number;
  readonly deleted: number;
  /** Whether more suspects are to be checked. */
  readonly more: boolean;
}

export interface ScrubStep {
  /** Extents and bytes of them that were verified in this step. */
  readonly extents: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedExtent[];
}

export interface DamagedExtent {
  readonly id: ExtentId;
  /** Undefined when it cannot be read. */
  readonly owner: Bytes | undefined;
  /** Where the first damaged block begins; 0 when no byte can be trusted. */
  readonly offset: number;
  /**
   * `unfinished`: it has no end and is a suspect, so it was perhaps never written whole. The sweep
   * deletes it unless it is named.
   */
  readonly problem: ContentProblem | 'unfinished';
}

export const extentIdLengthMax = 40;
export const ownerBytesMax = 4096;
/** 16 GiB, whose checksums take 1 MiB. */
export const extentBytesMax = 16 * 1024 * 1024 * 1024;
/** The longest piece of a reader. */
export const contentPieceBytesMax = 256 * 1024;
/** How long a close waits for calls under way, and again for the end of the session. */
export const contentCloseMs = 5_000;
/** The number of suspects that one question of the sweep is about. */
export const sweepSliceExtents = 64;
