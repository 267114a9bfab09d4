import type { Bytes } from '../base/bytes.js';
import { counterBytes } from './counter.js';
import { StoreBusyError } from './errors.js';
import type { GuardedBatch } from './guards.js';
import type { Ingestion } from './ingestion.js';
import type { CommitResult } from './store.js';

/** An item of a write queue: a commit of the contract, or entries that keep their versions. */
export type Work =
  | { readonly kind: 'commit'; readonly batch: GuardedBatch }
  | { readonly kind: 'ingest'; readonly ingestion: Ingestion };

/** The number of settled commits, and of groups that wrote them, each with one sync at most. */
export interface CommitStats {
  readonly commits: number;
  readonly syncs: number;
}

/** Work that waits for its group. */
export interface PendingCommit {
  readonly work: Work;
  /** The approximate number of bytes that it writes. */
  readonly bytes: number;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Waiting commits, at most. More mean that the disk no longer accepts writes. */
const waitingCommitsMax = 65_536;
/** The maximum size of a group, which is evaluated on the main thread. */
const groupCommitsMax = 512;

/** The write queue of an engine with group commit: first in, first out. */
export class PendingCommits {
  readonly #groupBytesMax: number;
  readonly #waiting: PendingCommit[] = [];

  /** `groupBytesMax`: exceeded only by a group of one commit. */
  constructor(groupBytesMax: number) {
    this.#groupBytesMax = groupBytesMax;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * Settles when the taker of the work settles it. Rejects with `StoreBusyError` when too many
   * wait.
   */
  add(work: Work, bytes: number): Promise<CommitResult> {
    if (this.#waiting.length >= waitingCommitsMax) return Promise.reject(new StoreBusyError());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, bytes, resolve, reject });
    });
  }

  /** The next group; empty when nothing waits. */
  take(): readonly PendingCommit[] {
    let count = 0;
    let bytes = 0;
    for (const pending of this.#waiting) {
      bytes += pending.bytes;
      if (count > 0 && (count >= groupCommitsMax || bytes > this.#groupBytesMax)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  takeAll(): readonly PendingCommit[] {
    return this.#waiting.splice(0);
  }
}

/** About the bytes that a work item writes. */
export function writtenBytes(work: Work): number {
  if (work.kind === 'ingest') return bytesIn(work.ingestion.entries, work.ingestion.deletes);
  const { puts, deletes, adds = [] } = work.batch;
  let bytes = bytesIn(puts, deletes);
  for (const { key } of adds) bytes += key.length + counterBytes;
  return bytes;
}

function bytesIn(
  puts: readonly { readonly key: Bytes; readonly value: Bytes }[],
  deletes: readonly Bytes[],
): number {
  let bytes = 0;
  for (const { key, value } of puts) bytes += key.length + value.length;
  for (const key of deletes) bytes += key.length;
  return bytes;
}
