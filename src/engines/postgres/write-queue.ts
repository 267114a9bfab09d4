import { asBuffer, type Bytes } from '../../base/bytes.js';
import { StoreBusyError } from '../../kv/errors.js';
import type { Work, PendingCommit } from '../../kv/pending-commits.js';
import type { GuardedBatch } from '../../kv/guards.js';
import type { CommitResult } from '../../kv/store.js';
import { slotsOf } from './slots.js';

/** What a connection carries out at once: commits that share a round trip, or one other work. */
export type Group =
  | { readonly kind: 'commits'; readonly works: readonly PendingWork[] }
  | { readonly kind: 'alone'; readonly works: readonly [PendingWork] };

export interface PendingWork extends PendingCommit {
  /** Empty for an ingestion, which locks all. */
  readonly slots: readonly number[];
  readonly uses: Uses;
  /** A fence: no commit that saw an older guard is applied after it. */
  readonly isFence: boolean;
}

const waitingMax = 65_536;
const groupCommitsMax = 64;
const groupKeysMax = 4_000;
const groupBytesMax = 1024 * 1024;
/** The number of works that are considered for one group. */
const lookedAtMax = 1_024;

/**
 * The works that wait for a connection. Works that share a key keep their order, also with respect
 * to groups under way, because a group whose connection is lost may be sent again. Prefers works
 * whose slots no group under way has locked, because the others would only wait for locks in the
 * database.
 */
export class WriteQueue {
  #waiting: PendingWork[] = [];
  /** The number of groups under way that have locked a slot. */
  readonly #held = new Map<number, number>();
  /** The keys of each group under way. */
  readonly #underWay = new Map<Group, TouchedKeys>();

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(work: Work, bytes: number, isFence: boolean): Promise<CommitResult> {
    if (this.#waiting.length >= waitingMax) return Promise.reject(new StoreBusyError());
    return new Promise((resolve, reject) => {
      const isCommit = work.kind === 'commit';
      const slots = isCommit ? slotsOf(work.batch) : [];
      const uses: Uses = isCommit ? usesOf(work.batch) : [];
      this.#waiting.push({ work, bytes, isFence, slots, uses, resolve, reject });
    });
  }

  takeAll(): readonly PendingWork[] {
    return this.#waiting.splice(0);
  }

  /**
   * Takes the next group, which is under way until `release`; undefined when nothing waits, or when
   * all waiting works must follow a group under way.
   */
  take(): Group | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    if (!sharesRoundTrip(first)) {
      if (!this.#isFree(first.uses)) return undefined;
      this.#waiting.shift();
      return this.#begin({ kind: 'alone', works: [first] });
    }
    const beside = this.#held.size > 0 ? this.#takeCommits(this.#held) : [];
    const works = beside.length > 0 ? beside : this.#takeCommits(new Map());
    return works.length === 0 ? undefined : this.#begin({ kind: 'commits', works });
  }

  /** Ends a group that was taken. */
  release(group: Group): void {
    this.#underWay.delete(group);
    if (group.kind === 'commits') for (const { slots } of group.works) this.#count(slots, -1);
  }

  #begin(group: Group): Group {
    const touched = new TouchedKeys();
    for (const { uses } of group.works) touched.add(uses);
    this.#underWay.set(group, touched);
    if (group.kind === 'commits') for (const { slots } of group.works) this.#count(slots, 1);
    return group;
  }

  /** Whether a work shares no key with the groups under way. */
  #isFree(uses: Uses): boolean {
    for (const touched of this.#underWay.values()) if (!touched.isFree(uses)) return false;
    return true;
  }

  /** Takes commits that may share a round trip and that need none of the held slots. */
  #takeCommits(held: ReadonlyMap<number, number>): readonly PendingWork[] {
    const works: PendingWork[] = [];
    const left: PendingWork[] = [];
    const touched = new TouchedKeys();
    /**
     * Slots that a skipped commit needs. Later commits must not take them, or it might wait for
     * ever.
     */
    const awaited = new Set<number>();
    let bytes = 0;
    let looked = 0;
    for (const pending of this.#waiting) {
      // Works that cannot share a round trip are never overtaken.
      if (!sharesRoundTrip(pending)) break;
      looked += 1;
      const { slots } = pending;
      const isHeld = slots.some((slot) => held.has(slot) || awaited.has(slot));
      if (isHeld) for (const slot of slots) awaited.add(slot);
      const isFree = touched.add(pending.uses) && !isHeld && this.#isFree(pending.uses);
      if (isFree) {
        works.push(pending);
        bytes += pending.bytes;
      } else left.push(pending);
      const isFull =
        works.length >= groupCommitsMax || touched.size >= groupKeysMax || bytes >= groupBytesMax;
      if (isFull || looked >= lookedAtMax) break;
    }
    if (works.length > 0) this.#waiting = [...left, ...this.#waiting.slice(looked)];
    return works;
  }

  #count(slots: readonly number[], by: 1 | -1): void {
    for (const slot of slots) {
      const count = (this.#held.get(slot) ?? 0) + by;
      if (count > 0) this.#held.set(slot, count);
      else this.#held.delete(slot);
    }
  }
}

function sharesRoundTrip({ work, isFence }: PendingWork): boolean {
  return work.kind === 'commit' && !isFence;
}

/** How the commits of a group, and skipped ones, use a key. */
type Use = 'read' | 'added' | 'written';

/** The uses of keys, by name. */
type Uses = Iterable<readonly [name: string, use: Use]>;

class TouchedKeys {
  readonly #uses = new Map<string, Use>();

  get size(): number {
    return this.#uses.size;
  }

  /** Adds the keys of a commit. Returns whether it may be in one group with all commits before. */
  add(touched: Uses): boolean {
    const isFree = this.isFree(touched);
    for (const [name, use] of touched) {
      const before = this.#uses.get(name);
      this.#uses.set(name, before === undefined ? use : both(before, use));
    }
    return isFree;
  }

  /** Whether a commit may be in one group with all that were added, in any order. */
  isFree(touched: Uses): boolean {
    for (const [name, use] of touched) {
      const before = this.#uses.get(name);
      if (before !== undefined && (before !== use || use === 'written')) return false;
    }
    return true;
  }
}

/** A commit may check what it writes. */
function usesOf(batch: GuardedBatch): ReadonlyMap<string, Use> {
  const uses = new Map<string, Use>();
  const touch = (key: Bytes, use: Use): void => {
    const name = asBuffer(key).toString('latin1');
    const before = uses.get(name);
    uses.set(name, before === undefined ? use : both(before, use));
  };
  if (batch.guard !== undefined) touch(batch.guard.key, 'read');
  for (const { key } of batch.checks) touch(key, 'read');
  for (const { key } of batch.puts) touch(key, 'written');
  for (const key of batch.deletes) touch(key, 'written');
  for (const { key } of batch.adds ?? []) touch(key, 'added');
  return uses;
}

function both(left: Use, right: Use): Use {
  return left === right ? left : 'written';
}
