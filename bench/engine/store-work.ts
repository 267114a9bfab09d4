import type { Bytes } from '../../src/base/bytes.js';
import { unreachable } from '../../src/base/invariant.js';
import { encodeTuple, keyAfter, type CommitBatch, type Store } from '../../src/kv/index.js';
import { partitionRows } from '../dataset.js';
import { rangeRows, valueBytes, type EngineKind } from './kinds.js';

/** A call to the store that is done when it resolves. Throws when the answer is a wrong one. */
export type Work = (store: Store) => Promise<void>;

/** One row in this many matches a scan. */
const matchInterval = 100;
const pageBytesMax = 4 * 1024 * 1024;
/** Near 2^32 divided by the golden ratio: consecutive numbers become distant from each other. */
const scatterFactor = 2654435761;

function scatter(index: number, bound: number): number {
  return (Math.imul(index + 1, scatterFactor) >>> 8) % bound;
}

function rowKeyOf(partition: number, row: string): Bytes {
  const name = `p${String(partition).padStart(6, '0')}`;
  return encodeTuple(['bench', 'account', 1, name, row]);
}

function storedKey(partition: number, row: number): Bytes {
  return rowKeyOf(partition, `r${String(row).padStart(10, '0')}`);
}

/** A value whose first byte tells scans whether it matches. */
function valueOf(number: number): Bytes {
  const value = Buffer.alloc(valueBytes, 'stored by the benchmark of engines ');
  value[0] = number % matchInterval;
  return value;
}

function rowPut(key: Bytes, number: number): CommitBatch {
  const checks = [{ key, version: 'absent' }] as const;
  return { checks, puts: [{ key, value: valueOf(number) }], deletes: [] };
}

/** The calls of a run. The rows that it commits are new, and scattered among the existing ones. */
export class StoreWork {
  readonly #partitions: number;
  #commits = 0;
  #reads = 0;

  constructor(rows: number) {
    this.#partitions = rows / partitionRows;
  }

  /** One call for each partition: fills the store. */
  *filling(): Generator<Work, void, void> {
    for (let partition = 0; partition < this.#partitions; partition += 1) {
      const puts = Array.from({ length: partitionRows }, (_, row) => ({
        key: storedKey(partition, row),
        value: valueOf(row),
      }));
      yield async (store) => expectCommit(await store.commit({ checks: [], puts, deletes: [] }));
    }
  }

  next(kind: EngineKind): Work {
    switch (kind) {
      case 'commit-one':
      case 'commit':
        return this.#commit();
      case 'get':
        return this.#get();
      case 'range':
        return this.#range();
      case 'scan':
        return this.#scan();
      default:
        return unreachable(kind);
    }
  }

  #commit(): Work {
    const number = this.#commits;
    this.#commits += 1;
    const row = String(Math.imul(number, scatterFactor) >>> 0).padStart(10, '0');
    const batch = rowPut(rowKeyOf(scatter(number, this.#partitions), `i${row}`), number);
    return async (store) => expectCommit(await store.commit(batch));
  }

  #get(): Work {
    const key = storedKey(...this.#place(partitionRows));
    return async (store) => {
      const entry = await store.get(key);
      if (entry?.value.length !== valueBytes) throw new Error('A row that is there was not found.');
    };
  }

  #range(): Work {
    const [partition, row] = this.#place(partitionRows - rangeRows);
    const range = { start: storedKey(partition, row), end: storedKey(partition, row + rangeRows) };
    return async (store) => {
      const page = await store.range(range, { limit: rangeRows, bytesMax: pageBytesMax });
      expectRows(page.entries.length, rangeRows);
    };
  }

  #scan(): Work {
    const [partition] = this.#place(1);
    const match = this.#reads % matchInterval;
    const last = storedKey(partition, partitionRows - 1);
    const range = { start: storedKey(partition, 0), end: keyAfter(last) };
    return async (store) => {
      const { entries } = await store.range(range, {
        limit: partitionRows,
        bytesMax: pageBytesMax,
        filter: ({ value }) => (value[0] === match ? 'take' : 'skip'),
      });
      expectRows(entries.length, partitionRows / matchInterval);
    };
  }

  #place(rowBound: number): readonly [partition: number, row: number] {
    const number = this.#reads;
    this.#reads += 1;
    return [scatter(number, this.#partitions), scatter(number * 7, rowBound)];
  }
}

function expectCommit({ ok }: { readonly ok: boolean }): void {
  if (!ok) throw new Error('A row that was not there was found.');
}

function expectRows(found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} rows were found, not ${expected}.`);
}
