import { asBuffer, type Bytes } from '../../base/bytes.js';
import { StoreBusyError } from '../../kv/errors.js';
import type { Work, PendingCommit } from '../../kv/pending-commits.js';
import type { GuardedBatch } from '../../kv/guards.js';
import type { CommitResult } from '../../kv/store.js';

/** What a connection does at once: commits that share a round trip, or one work for itself. */
export type Group =
  | { readonly kind: 'commits'; readonly works: readonly PendingWork[] }
  | { readonly kind: 'alone'; readonly works: readonly [PendingWork] };

export interface PendingWork extends PendingCommit {
  /** A commit behind which none is applied that saw an older guard. */
  readonly isFence: boolean;
}

const waitingMax = 65_536;
const groupCommitsMax = 64;
const groupKeysMax = 4_000;
const groupBytesMax = 1024 * 1024;
/** Works looked at for a group: those that share a key with one before them are passed over. */
const lookedAtMax = 1_024;

/** Works that wait for a connection. Those that share a key keep their order. */
export class WaitingWorks {
  #waiting: PendingWork[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(work: Work, bytes: number, isFence: boolean): Promise<CommitResult> {
    if (this.#waiting.length >= waitingMax) return Promise.reject(new StoreBusyError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, bytes, isFence, resolve, reject });
    });
  }

  takeAll(): readonly PendingWork[] {
    return this.#waiting.splice(0);
  }

  /** The next group; undefined when nothing waits. */
  take(): Group | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    if (!sharesRoundTrip(first)) {
      this.#waiting.shift();
      return { kind: 'alone', works: [first] };
    }
    const works: PendingWork[] = [];
    const left: PendingWork[] = [];
    const touched = new TouchedKeys();
    let bytes = 0;
    let looked = 0;
    for (const pending of this.#waiting) {
      looked += 1;
      const { work } = pending;
      // What cannot join is not overtaken.
      if (work.kind !== 'commit' || !sharesRoundTrip(pending)) {
        looked -= 1;
        break;
      }
      const isFree = touched.add(work.batch);
      if (isFree) {
        works.push(pending);
        bytes += pending.bytes;
      } else left.push(pending);
      const isFull =
        works.length >= groupCommitsMax || touched.size >= groupKeysMax || bytes >= groupBytesMax;
      if (isFull || looked >= lookedAtMax) break;
    }
    this.#waiting = [...left, ...this.#waiting.slice(looked)];
    return { kind: 'commits', works };
  }
}

function sharesRoundTrip({ work, isFence }: PendingWork): boolean {
  return work.kind === 'commit' && !isFence;
}

/** How a key is used by the commits of a group, and by those that were passed over. */
type Use = 'read' | 'added' | 'written';

class TouchedKeys {
  readonly #uses = new Map<string, Use>();

  get size(): number {
    return this.#uses.size;
  }

  /** Notes what a commit touches; whether it may be in one group with all that were noted. */
  add(batch: GuardedBatch): boolean {
    let isFree = true;
    for (const [name, use] of usesOf(batch)) {
      const before = this.#uses.get(name);
      if (before !== undefined && (before !== use || use === 'written')) isFree = false;
      this.#uses.set(name, before === undefined ? use : both(before, use));
    }
    return isFree;
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
