import { setTimeout as pause } from 'node:timers/promises';
import { StoreBusyError } from 'tabularium/kv';
import type { CommitBatch, CommitResult } from 'tabularium/kv';
import { nameOf, type Bytes } from './bytes.js';
import { Evaluation, type Outcome } from './evaluation.js';
import type { RowVersion } from './partition-rows.js';
import type { Partitions, PartitionState } from './partitions.js';
import { placeOf } from './places.js';

/** Commits that one change of a partition applies, and their bytes, at most. */
const groupCommitsMax = 512;
const groupBytesMax = 1 << 20;
/** Commits of a prefix that wait in a process, at most. */
const waitingMax = 65_536;
/** After so long without a change of its own, a group is refused, in milliseconds. */
const contendedMillisMax = 30_000;
const lostPauseMs = { first: 2, last: 250 } as const;

export interface Tools {
  readonly partitions: Partitions;
  readonly nowMicros: () => number;
  readonly monotonicMs: () => number;
  /** From 0 to before 1. */
  readonly chance: () => number;
  /** Notes that no greater version was given out; resolves when that is durable. */
  readonly noteVersion: (version: number) => Promise<void>;
  /** Takes what a change has superseded. */
  readonly superseded: (prefix: Bytes, row: Bytes, version: number) => void;
  /** Ends a commit of this prefix and of keys of the store. */
  readonly finish: (prefix: Bytes, state: PartitionState) => Promise<void>;
}

interface Waiting {
  readonly batch: CommitBatch;
  readonly versionMin: number;
  readonly bytes: number;
  readonly settle: (outcome: Outcome) => void;
}

type Task =
  | { readonly kind: 'commit'; readonly waiting: Waiting }
  | { readonly kind: 'alone'; readonly run: () => Promise<void> };

/**
 * Changes of one prefix by this process, one after the other. Commits that wait meanwhile are
 * applied by one change.
 */
export class PrefixWriter {
  readonly #prefix: Bytes;
  readonly #tools: Tools;
  readonly #onIdle: () => void;
  #tasks: Task[] = [];
  #isRunning = false;

  constructor(prefix: Bytes, tools: Tools, onIdle: () => void) {
    this.#prefix = prefix;
    this.#tools = tools;
    this.#onIdle = onIdle;
  }

  /** `versionMin`: the least version of the commit, beside the clock's. */
  commit(batch: CommitBatch, versionMin = 0): Promise<CommitResult> {
    if (this.#tasks.length >= waitingMax) return Promise.reject(new StoreBusyError());
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) => {
        if (outcome.kind === 'result') resolve(outcome.result);
        else reject(outcome.error);
      };
      this.#add({ kind: 'commit', waiting: { batch, versionMin, bytes: bytesOf(batch), settle } });
    });
  }

  /** Runs work while nothing else of this process changes the prefix. */
  alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#add({ kind: 'alone', run: () => work().then(resolve, reject) });
    });
  }

  /** Ends a commit that was left pending; while `alone`, or between others. */
  async settled(rows: readonly Bytes[], withValues: boolean): Promise<PartitionState> {
    const { partitions, finish } = this.#tools;
    for (;;) {
      const state = await partitions.read(this.#prefix, rows, withValues);
      if (state.head.pending === undefined) return state;
      await finish(this.#prefix, state);
    }
  }

  /**
   * Changes the prefix as `plan` says over its state, again when others have changed it meanwhile;
   * not at all when it says `isNone`. While `alone`, or between others.
   */
  async change<Plan extends { readonly last: number; readonly writes: readonly RowVersion[] }>(
    rows: readonly Bytes[],
    withValues: boolean,
    plan: (state: PartitionState) => Plan & { readonly pending?: Bytes; readonly isNone?: boolean },
  ): Promise<Plan> {
    const { partitions, monotonicMs, chance } = this.#tools;
    const until = monotonicMs() + contendedMillisMax;
    for (let lost = 0; ; lost += 1) {
      const state = await this.settled(rows, withValues);
      const planned = plan(state);
      if (planned.isNone === true) return planned;
      await this.#tools.noteVersion(planned.last);
      if (await partitions.change(this.#prefix, state.head.last, planned)) {
        this.noteSuperseded(state, planned.writes);
        return planned;
      }
      if (monotonicMs() > until) throw new StoreBusyError();
      const longest = Math.min(lostPauseMs.last, lostPauseMs.first * 2 ** lost);
      await pause(longest * chance());
    }
  }

  /** Versions of which no read that begins from now on has need. */
  noteSuperseded({ rows }: PartitionState, writes: readonly RowVersion[]): void {
    for (const { row, version, isGone } of writes) {
      const before = rows.get(nameOf(row));
      if (isGone) this.#tools.superseded(this.#prefix, row, version);
      else if (before !== undefined) this.#tools.superseded(this.#prefix, row, before.version);
    }
  }

  #add(task: Task): void {
    this.#tasks.push(task);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#tasks.length > 0) {
      const [first] = this.#tasks;
      if (first?.kind === 'alone') {
        this.#tasks.shift();
        await first.run();
      } else await this.#apply(this.#takeGroup());
    }
    this.#isRunning = false;
    this.#onIdle();
  }

  #takeGroup(): readonly Waiting[] {
    const group: Waiting[] = [];
    let bytes = 0;
    for (const task of this.#tasks) {
      if (task.kind !== 'commit' || group.length === groupCommitsMax) break;
      bytes += task.waiting.bytes;
      if (bytes > groupBytesMax && group.length > 0) break;
      group.push(task.waiting);
    }
    this.#tasks = this.#tasks.slice(group.length);
    return group;
  }

  async #apply(group: readonly Waiting[]): Promise<void> {
    const rows = rowsOf(group.map(({ batch }) => batch));
    const withValues = group.some(({ batch }) => (batch.adds ?? []).length > 0);
    try {
      const { outcomes } = await this.change(rows, withValues, (state) => this.#plan(group, state));
      for (const [index, { settle }] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome !== undefined) settle(outcome);
      }
    } catch (error) {
      for (const { settle } of group) settle({ kind: 'refused', error });
    }
  }

  #plan(group: readonly Waiting[], { head, rows }: PartitionState) {
    const evaluation = new Evaluation(rows, head.last ?? 0);
    const now = this.#tools.nowMicros();
    const outcomes = group.map(({ batch, versionMin }) =>
      evaluation.decide(batch, Math.max(now, versionMin)),
    );
    const isNone = evaluation.last === (head.last ?? 0);
    return { outcomes, last: evaluation.last, writes: evaluation.writes, isNone };
  }
}

/** The rows of all keys of some batches of one prefix, each once. */
export function rowsOf(batches: readonly CommitBatch[]): readonly Bytes[] {
  const rows = new Map<string, Bytes>();
  for (const batch of batches) {
    for (const key of keysOf(batch)) {
      const { row } = placeOf(key);
      rows.set(nameOf(row), row);
    }
  }
  return [...rows.values()];
}

/** All keys of a batch, those of its checks first. */
export function keysOf({ checks, puts, deletes, adds = [] }: CommitBatch): readonly Bytes[] {
  return [...[...checks, ...puts, ...adds].map(({ key }) => key), ...deletes];
}

function bytesOf(batch: CommitBatch): number {
  const values = batch.puts.reduce((sum, { value }) => sum + value.length, 0);
  return keysOf(batch).reduce((sum, key) => sum + key.length, values);
}
