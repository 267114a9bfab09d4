import type { Bytes } from '../base/bytes.js';

/**
 * The contract of every engine: one ordered, transactional space of byte keys.
 *
 * Order is unsigned byte order. A read sees every commit that resolved before the read began, from
 * any process. Keys are 1 to 4,026 bytes; values may be empty. Every key begins with a partition
 * prefix (`partition-prefix.ts`), or belongs to the store itself.
 *
 * Optional abilities are interfaces of their own: `member-store.ts`, `served-store.ts`,
 * `snapshots.ts`.
 */
export interface Store {
  get(key: Bytes): Promise<Entry | undefined>;
  /**
   * One result per key, in the order asked. Keys of one partition prefix are read from one
   * snapshot; each further prefix has its own.
   */
  getMany(keys: readonly Bytes[]): Promise<(Entry | undefined)[]>;
  /** One page of a range, from one snapshot. The snapshot ends with the call. */
  range(range: KeyRange, options: RangeOptions): Promise<RangePage>;
  /**
   * Applies all of a batch or nothing, isolated from every other commit. Resolves when the result
   * is durable (unless the store was opened in its relaxed mode). Checks are tried in order; the
   * first that fails decides the result. A batch touches keys of one partition prefix, checks
   * included, and keys of the store; a key occurs once among its puts, deletes and adds.
   *
   * When it rejects, nothing was applied, except with `CommitUnknownError`. `StoreBusyError`: retry
   * later.
   */
  commit(batch: CommitBatch): Promise<CommitResult>;
  /** Waits for commits under way; afterwards every call is refused. Idempotent. */
  close(): Promise<void>;
}

export interface Entry {
  readonly key: Bytes;
  readonly value: Bytes;
  readonly version: number;
}

/** `start` is included, `end` is not. An absent end is the end of the key space. */
export interface KeyRange {
  readonly start: Bytes;
  readonly end?: Bytes;
}

export interface RangeOptions {
  /** Entries in the page, at most. At least 1. */
  readonly limit: number;
  /** Key and value bytes in the page, at most; the first entry is returned whatever its size. */
  readonly bytesMax: number;
  /** From the end of the range to its start. */
  readonly reverse?: boolean;
  /**
   * Decides about each entry in place, so that only a taken entry is copied. Must not use the
   * store. When absent, every entry is taken.
   */
  readonly filter?: (candidate: Candidate) => Decision;
  /**
   * Gets each entry for which the filter answers `use`, in place and in order. Must not use the
   * store. What it got is void when the read fails.
   */
  readonly use?: (entry: Candidate) => void;
}

/**
 * `skip` leaves the entry out of the page. `use` does as well, and hands it to `use`. `stop` ends
 * the page before the entry.
 */
export type Decision = 'take' | 'skip' | 'use' | 'stop';

/** An entry in place. It and its bytes are only valid during the call. */
export interface Candidate {
  readonly key: Bytes;
  /** Begins with the value; bytes after `valueLength` are undefined. */
  readonly value: Bytes;
  readonly valueLength: number;
  readonly version: number;
}

export interface RangePage {
  readonly entries: readonly Entry[];
  /**
   * Entries are left that were neither taken nor passed over. A page may end before its limits
   * where a partition prefix ends, but at least one entry was taken or used; the rest follows it.
   */
  readonly more: boolean;
}

/** The state that a key must have for a commit to apply: its version, or only whether it exists. */
export interface Check {
  readonly key: Bytes;
  readonly version: number | 'absent' | 'present';
}

export interface Put {
  readonly key: Bytes;
  readonly value: Bytes;
  /**
   * The caller knows that the key is absent when the commit applies, because it has an id that was
   * never used before, or because of the checks. An engine may rely on it without a read.
   */
  readonly isNew?: boolean;
}

/**
 * An addition to a counter, without a read. Additions of concurrent commits all apply, in any
 * order, without conflicts. An absent key counts as 0. Afterwards the key holds the sum as
 * `encodeCounter` writes it. `delta` and the sum are safe integers of either sign; when the sum is
 * not, or the key holds no counter, the whole commit is rejected.
 */
export interface Add {
  readonly key: Bytes;
  readonly delta: number;
}

export interface CommitBatch {
  readonly checks: readonly Check[];
  readonly puts: readonly Put[];
  readonly deletes: readonly Bytes[];
  readonly adds?: readonly Add[];
  /**
   * The commit stores more, for a client that can be refused. A store may reject it with
   * `StoreFullError` to leave the last bytes of its disk to other commits.
   */
  readonly grows?: boolean;
}

/**
 * `version` is set by the store: microseconds since 1970 as a safe integer, at least the clock's,
 * and strictly greater than any version that a commit of the same partition prefix has had before,
 * across processes, restarts and clock steps. All puts and adds of a commit carry it. `failedCheck`
 * is an index into `checks`; `actual` is what was found there.
 */
export type CommitResult =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly failedCheck: number; readonly actual: number | 'absent' };

/** The longest key that every engine accepts, in bytes. */
export const keyBytesMax = 4026;
