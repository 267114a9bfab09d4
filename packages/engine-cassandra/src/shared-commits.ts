import { setTimeout as pause } from 'node:timers/promises';
import {
  CommitUnknownError,
  StoreBusyError,
  decodeTuple,
  encodeTuple,
  storeKey,
} from 'tabularium/kv';
import type { Check, CommitBatch, CommitResult, Entry } from 'tabularium/kv';
import type { Bytes } from './bytes.js';
import { Evaluation } from './evaluation.js';
import type { RowVersion } from './partition-rows.js';
import type { Partitions, PartitionState } from './partitions.js';
import { rowsOf, type PrefixWriter } from './prefix-writer.js';

/** A commit, parted into what is of its prefix and what is of the store. */
export interface SharedBatch {
  readonly ofPrefix: CommitBatch;
  readonly ofStore: CommitBatch;
  /** All checks in the order of the commit. */
  readonly checks: readonly { readonly check: Check; readonly isOfStore: boolean }[];
}

/** The keys of the store, which are in a partition of their own. */
export interface StoreKeys {
  get(key: Bytes): Promise<Entry | undefined>;
  getMany(keys: readonly Bytes[]): Promise<readonly (Entry | undefined)[]>;
  commit(batch: CommitBatch, versionMin?: number): Promise<CommitResult>;
}

export interface SharedCommitsOptions {
  readonly partitions: Partitions;
  readonly storeKeys: StoreKeys;
  readonly monotonicMs: () => number;
  /** A text that no other commit has. */
  readonly uuid: () => string;
}

const open = Buffer.from('open');
const done = Buffer.from('done');
/** For so long another's commit may go on before it is ended, in milliseconds. */
const patienceMs = 2_000;
const lookPauseMs = 20;
const attemptsMax = 20;

/**
 * Commits of a prefix and of keys of the store: two partitions of the cluster, each of which
 * changes by itself. A record among the keys of the store decides: while it is `open`, anybody may
 * end the commit by deleting it; the change that writes the keys of the store makes it `done`. What
 * is of the prefix waits in its head from before until after that, and who finds it there ends it
 * as the record says.
 */
export class SharedCommits {
  readonly #options: SharedCommitsOptions;

  constructor(options: SharedCommitsOptions) {
    this.#options = options;
  }

  /** While the writer of the prefix is `alone`. */
  async commit(prefix: Bytes, writer: PrefixWriter, batch: SharedBatch): Promise<CommitResult> {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const result = await this.#attempt(prefix, writer, batch);
      if (result !== 'ended by another') return result;
    }
    throw new StoreBusyError();
  }

  /** Ends the commit that the head of a prefix has pending. */
  async finish(prefix: Bytes, { head }: PartitionState): Promise<void> {
    const { partitions, storeKeys, monotonicMs } = this.#options;
    if (head.pending === undefined) return;
    const { record, writes } = decodePending(head.pending);
    const until = monotonicMs() + patienceMs;
    for (;;) {
      const found = await storeKeys.get(record);
      if (found !== undefined && isDone(found)) {
        await partitions.change(prefix, head.last, applied(writes, found.version));
        return;
      }
      if (found === undefined) {
        await partitions.change(prefix, head.last, { last: (head.last ?? 0) + 1, writes: [] });
        return;
      }
      if (monotonicMs() >= until) {
        const checks = [{ key: record, version: found.version }];
        await storeKeys.commit({ checks, puts: [], deletes: [record] });
      } else await pause(lookPauseMs);
    }
  }

  async #attempt(
    prefix: Bytes,
    writer: PrefixWriter,
    batch: SharedBatch,
  ): Promise<CommitResult | 'ended by another'> {
    const { partitions, storeKeys, uuid } = this.#options;
    const record = storeKey('cassandra', uuid());
    const forget = () => storeKeys.commit({ checks: [], puts: [], deletes: [record] });
    const put = { checks: [], puts: [{ key: record, value: open }], deletes: [] };
    const opened = await storeKeys.commit(put);
    const { failed, last, prepared, before } = await this.#prepare(writer, batch, record).catch(
      async (error: unknown) => {
        await forget();
        throw error;
      },
    );
    const leave = async (): Promise<void> => {
      await forget();
      await partitions.change(prefix, last, { last: last + 1, writes: [] });
    };
    if (failed !== undefined) {
      // What is of the prefix stands still, so both are looked at at one moment.
      const result = await this.#firstFailed(batch, failed);
      await leave();
      return result;
    }
    const decided = await this.#decide(batch, { record, opened, last }).catch(
      async (error: unknown) => {
        if (!(error instanceof CommitUnknownError)) await leave();
        throw error;
      },
    );
    if (!decided.ok) {
      await leave();
      if (decided.failedCheck === 0) return 'ended by another';
      const place = placesOf(batch, true)[decided.failedCheck - 1];
      return { ...decided, failedCheck: place ?? 0 };
    }
    const change = applied(prepared, decided.version);
    try {
      const isEnded = await partitions.change(prefix, last, change);
      // By another, or not yet, when its answer was lost.
      if (!isEnded) await writer.settled([], false);
      writer.noteSuperseded(before, change.writes);
      await forget();
    } catch {
      // It is decided: whoever finds it in the head ends it.
    }
    return decided;
  }

  /** Writes the keys of the store, while the record is as it was. */
  #decide(
    { ofStore }: SharedBatch,
    { record, opened, last }: { record: Bytes; opened: CommitResult; last: number },
  ): Promise<CommitResult> {
    const asOpened: Check = { key: record, version: opened.ok ? opened.version : 'absent' };
    const checks = [asOpened, ...ofStore.checks];
    const puts = [...ofStore.puts, { key: record, value: done }];
    return this.#options.storeKeys.commit({ ...ofStore, checks, puts }, last + 1);
  }

  /** Lets what is of the prefix wait in its head; nothing else changes it from then on. */
  #prepare(writer: PrefixWriter, { ofPrefix }: SharedBatch, record: Bytes) {
    const withValues = (ofPrefix.adds ?? []).length > 0;
    return writer.change(rowsOf([ofPrefix]), withValues, (before) => {
      const evaluation = new Evaluation(before.rows, before.head.last ?? 0);
      const outcome = evaluation.decide(ofPrefix, 0);
      if (outcome.kind === 'refused') throw outcome.error;
      const failed = outcome.result.ok ? undefined : outcome.result;
      const { writes: prepared } = evaluation;
      const last = (before.head.last ?? 0) + 1;
      const pending = encodePending({ record, writes: prepared });
      return { failed, before, prepared, last, pending, writes: [] };
    });
  }

  /** The first check that failed, given the first one of the prefix that did. */
  async #firstFailed(
    batch: SharedBatch,
    failed: Extract<CommitResult, { ok: false }>,
  ): Promise<CommitResult> {
    const place = placesOf(batch, false)[failed.failedCheck] ?? 0;
    const earlier = placesOf(batch, true).filter((each) => each < place);
    const found = await this.#options.storeKeys.getMany(earlier.map((each) => keyAt(batch, each)));
    for (const [index, failedCheck] of earlier.entries()) {
      const actual = found[index]?.version ?? 'absent';
      const version = batch.checks[failedCheck]?.check.version;
      const holds = version === 'present' ? actual !== 'absent' : actual === version;
      if (!holds) return { ok: false, failedCheck, actual };
    }
    return { ...failed, failedCheck: place };
  }
}

/** Where the checks of one kind are among all. */
function placesOf({ checks }: SharedBatch, isOfStore: boolean): readonly number[] {
  return [...checks.keys()].filter((index) => checks[index]?.isOfStore === isOfStore);
}

function keyAt({ checks }: SharedBatch, index: number): Bytes {
  return checks[index]?.check.key ?? Buffer.alloc(0);
}

function isDone({ value }: Entry): boolean {
  return done.equals(value);
}

function applied(writes: readonly RowVersion[], version: number) {
  return { last: version, writes: writes.map((write) => ({ ...write, version })) };
}

interface Pending {
  readonly record: Bytes;
  readonly writes: readonly RowVersion[];
}

/** The key of the record, then rows and values in turn; 0 for what is gone. */
function encodePending({ record, writes }: Pending): Bytes {
  return encodeTuple([record, ...writes.flatMap(({ row, value = 0 }) => [row, value])]);
}

function decodePending(bytes: Bytes): Pending {
  const [record, ...rest] = decodeTuple(bytes);
  const writes: RowVersion[] = [];
  for (let at = 0; at < rest.length; at += 2) {
    const row = rest[at] as Bytes;
    const value = rest[at + 1] === 0 ? undefined : (rest[at + 1] as Bytes);
    writes.push({ row, version: 0, value, isGone: value === undefined });
  }
  return { record: record as Bytes, writes };
}
