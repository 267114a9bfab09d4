import type { Bytes } from '../../base/bytes.js';
import { pagesOf } from '../../kv/pages.js';
import { decodeTuple } from '../../kv/tuple.js';
import { loadRows } from '../keys.js';
import { decodeLoadRow } from '../load/load-rows.js';
import type { MeasuredRange } from '../load/range-meter.js';
import type { AnsweringHome } from '../reach.js';

const pageOptions = { limit: 256, bytesMax: 8 << 20 } as const;
/** The time, in milliseconds, after which rows that no process has renewed do not count. */
const countsForMs = 20_000;
/** The time, in milliseconds, after which rows that no process has renewed are removed. */
const removedAfterMs = 120_000;

/** What the loads ask of the home store. */
type LoadStore = Pick<AnsweringHome, 'range' | 'commit'>;

interface Publisher {
  version: number;
  /** When the version was first seen, by the clock of this process. */
  seenMs: number;
}

/**
 * The sums of the loads that all processes publish. Clocks of different machines are not compared.
 */
export class RangeLoads {
  readonly #home: LoadStore;
  readonly #publishers = new Map<string, Publisher>();

  constructor(home: LoadStore) {
    this.#home = home;
  }

  /** The current loads by range. Removes the rows of processes that have ended. */
  async read(nowMs: number): Promise<ReadonlyMap<number, MeasuredRange>> {
    const sums = new Map<number, MeasuredRange>();
    const present = new Set<string>();
    for await (const entries of pagesOf(this.#home, loadRows, pageOptions)) {
      for (const { key, value, version } of entries) {
        const name = String(decodeTuple(key).at(-1));
        present.add(name);
        const silentMs = this.#silentMs(name, version, nowMs);
        if (silentMs > removedAfterMs) await this.#remove(key, version);
        if (silentMs > countsForMs) continue;
        for (const range of decodeLoadRow(value))
          sums.set(range.id, sum(sums.get(range.id), range));
      }
    }
    for (const name of this.#publishers.keys()) {
      if (!present.has(name)) this.#publishers.delete(name);
    }
    return sums;
  }

  #silentMs(name: string, version: number, nowMs: number): number {
    const known = this.#publishers.get(name);
    if (known?.version === version) return nowMs - known.seenMs;
    this.#publishers.set(name, { version, seenMs: nowMs });
    return 0;
  }

  async #remove(key: Bytes, version: number): Promise<void> {
    // A publisher that publishes again meanwhile keeps its row: the check fails.
    await this.#home.commit({ checks: [{ key, version }], puts: [], deletes: [key] });
  }
}

function sum(left: MeasuredRange | undefined, right: MeasuredRange): MeasuredRange {
  if (left === undefined) return right;
  return {
    id: right.id,
    readsPerSecond: left.readsPerSecond + right.readsPerSecond,
    writesPerSecond: left.writesPerSecond + right.writesPerSecond,
    longCallsPerSecond: left.longCallsPerSecond + right.longCallsPerSecond,
    bytesReadPerSecond: left.bytesReadPerSecond + right.bytesReadPerSecond,
    bytesWrittenPerSecond: left.bytesWrittenPerSecond + right.bytesWrittenPerSecond,
    callMsPerSecond: left.callMsPerSecond + right.callMsPerSecond,
    accessed: inOrder(left.accessed, right.accessed),
  };
}

/** Merges two lists of the same time, each in the order of its calls. */
function inOrder(left: readonly Bytes[], right: readonly Bytes[]): readonly Bytes[] {
  const placed = [left, right].flatMap((keys) =>
    keys.map((key, index) => ({ key, place: (index + 0.5) / keys.length })),
  );
  return placed.toSorted((one, other) => one.place - other.place).map(({ key }) => key);
}
