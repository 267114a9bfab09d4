import { decodeCounter, encodeCounter } from 'tabularium/kv';
import type { CommitBatch, CommitResult } from 'tabularium/kv';
import { nameOf, type Bytes } from './bytes.js';
import type { RowVersion } from './partition-rows.js';
import { placeOf } from './places.js';

export type Outcome =
  | { readonly kind: 'result'; readonly result: CommitResult }
  | { readonly kind: 'refused'; readonly error: unknown };

/** Decides commits of one prefix, one after the other, over the state that was read. */
export class Evaluation {
  readonly #read: ReadonlyMap<string, RowVersion>;
  /** Entries as the commits before left them. */
  readonly #planned = new Map<string, RowVersion>();
  #last: number;

  constructor(read: ReadonlyMap<string, RowVersion>, last: number) {
    this.#read = read;
    this.#last = last;
  }

  /** The version of the last commit that is to be applied. */
  get last(): number {
    return this.#last;
  }

  /** What has to be written, each entry once. */
  get writes(): readonly RowVersion[] {
    // What was absent and is absent again needs no row.
    return [...this.#planned.values()].filter(
      ({ row, isGone }) => !isGone || this.#read.get(nameOf(row))?.isGone === false,
    );
  }

  /** `versionMin`: the least version that the commit may have. */
  decide(batch: CommitBatch, versionMin: number): Outcome {
    for (const [index, { key, version }] of batch.checks.entries()) {
      const actual = this.#present(key)?.version ?? 'absent';
      const holds = version === 'present' ? actual !== 'absent' : actual === version;
      if (!holds) return { kind: 'result', result: { ok: false, failedCheck: index, actual } };
    }
    let sums: readonly { readonly key: Bytes; readonly value: Bytes }[];
    try {
      sums = (batch.adds ?? []).map(({ key, delta }) => ({
        key,
        value: addTo(this.#present(key)?.value, delta),
      }));
    } catch (error) {
      return { kind: 'refused', error };
    }
    const version = Math.max(versionMin, this.#last + 1);
    this.#last = version;
    for (const key of batch.deletes) this.#plan(key, version, undefined);
    for (const { key, value } of [...batch.puts, ...sums]) this.#plan(key, version, value);
    return { kind: 'result', result: { ok: true, version } };
  }

  #plan(key: Bytes, version: number, value: Bytes | undefined): void {
    const { row } = placeOf(key);
    this.#planned.set(nameOf(row), { row, version, value, isGone: value === undefined });
  }

  #present(key: Bytes): RowVersion | undefined {
    const name = nameOf(placeOf(key).row);
    const found = this.#planned.get(name) ?? this.#read.get(name);
    return found?.isGone === true ? undefined : found;
  }
}

function addTo(before: Bytes | undefined, delta: number): Bytes {
  return encodeCounter((before === undefined ? 0 : decodeCounter(before)) + delta);
}
