import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { CommitBatch, Store } from '../../src/kv/index.js';
import { partitionRows } from '../dataset.js';
import { closedLoop } from './closed-loop.js';
import { FileBench } from './file-bench.js';
import { engineKinds } from './kinds.js';
import { parseOptions } from './options.js';
import { engineTable } from './report.js';
import { StoreBench } from './store-bench.js';
import { StoreWork } from './store-work.js';
import { openStore, storeEngines } from './stores.js';
import { costly } from '../../test/support/run-length.js';

const partitions = 3;
const plan = {
  rows: partitions * partitionRows,
  seconds: 0.02,
  warmupMs: 0,
  callers: 4,
  kinds: engineKinds,
};

async function filledStore(): Promise<{ readonly store: Store; readonly work: StoreWork }> {
  const store = await openStore(storeEngines.memory, '');
  const work = new StoreWork(plan.rows);
  for (const call of work.filling()) await call(store);
  return { store, work };
}

describe('the work for an engine', () => {
  it('finds what it filled the store with, whatever is asked', async () => {
    const { store, work } = await filledStore();
    for (const kind of engineKinds) {
      for (let call = 0; call < 300; call += 1) await work.next(kind)(store);
    }
    await store.close();
  });

  it('commits one new row a call, over all partitions', async () => {
    const batches: CommitBatch[] = [];
    const { store, work } = await filledStore();
    const watched: Store = Object.create(store) as Store;
    watched.commit = (batch) => {
      batches.push(batch);
      return store.commit(batch);
    };
    for (let call = 0; call < 200; call += 1) await work.next('commit')(watched);
    assert.ok(batches.every(({ checks, puts }) => checks.length === 1 && puts.length === 1));
    assert.ok(batches.every(({ puts }) => puts[0]?.value.length === 700));
    const keys = batches.map(({ puts }) => Buffer.from(puts[0]?.key ?? []).toString('latin1'));
    assert.equal(new Set(keys).size, batches.length);
    const seen = new Set(keys.map((key) => /p\d{6}/.exec(key)?.[0]));
    assert.equal(seen.size, partitions);
    await store.close();
  });

  it('fails where the store answers wrongly', async () => {
    const { store, work } = await filledStore();
    const empty = await openStore(storeEngines.memory, '');
    await assert.rejects(work.next('get')(empty), /was not found/);
    await assert.rejects(work.next('range')(empty), /0 rows were found, not 100/);
    await assert.rejects(work.next('scan')(empty), /0 rows were found, not 10/);
    const again = new StoreWork(plan.rows);
    await work.next('commit')(store);
    await assert.rejects(again.next('commit')(store), /not there was found/);
    await Promise.all([store.close(), empty.close()]);
  });
});

describe('a closed loop', () => {
  it('counts what all callers did, each one call after the other', async () => {
    let calls = 0;
    let underWay = 0;
    let most = 0;
    const call = async (): Promise<number> => {
      calls += 1;
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return 2;
    };
    const start = performance.now();
    const result = await closedLoop(call, { callers: 5, durationMs: 20 });
    const seconds = (performance.now() - start) / 1000;
    assert.equal(most, 5);
    assert.ok(result.opsPerSecond >= (2 * calls) / seconds, `${result.opsPerSecond} of ${calls}`);
    assert.ok(result.p50Ms <= result.p99Ms && result.cpuMicros > 0);
  });

  it('has the end of what was begun in its time', async () => {
    const settleMs = 60;
    const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, settleMs));
    const wait = (): Promise<number> => new Promise((resolve) => setImmediate(resolve, 1));
    let calls = 0;
    const call = (): Promise<number> => {
      calls += 1;
      return wait();
    };
    const { opsPerSecond } = await closedLoop(call, { callers: 1, durationMs: 5, settle });
    assert.ok(opsPerSecond < calls / (settleMs / 1000));
  });
});

describe('the benchmark of engines', () => {
  it(
    'opens an engine again with its rows, draining it inside or outside of the clock',
    costly(),
    async () => {
      for (const name of ['lmdb', 'journal-drained'] as const) {
        const directory = mkdtempSync(join(tmpdir(), 'tabularium-bench-engine-'));
        try {
          const bench = await StoreBench.open(storeEngines[name], directory, plan);
          await bench.fill(name);
          for (const kind of ['commit', 'get'] as const) {
            const { opsPerSecond } = await bench.measure(kind);
            assert.ok(opsPerSecond > 0);
          }
          await bench.close();
        } finally {
          rmSync(directory, { recursive: true, force: true });
        }
      }
    },
  );

  it('writes groups of rows to a bare file', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'tabularium-bench-engine-'));
    try {
      const bench = await FileBench.open(directory, plan);
      const { opsPerSecond } = await bench.measure('commit');
      assert.ok(opsPerSecond > 0);
      await bench.close();
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('has a row for each engine under each kind, in order', () => {
    const one = { opsPerSecond: 1234.4, cpuMicros: 50, p50Ms: 0.5, p99Ms: 2 };
    const table = engineTable(
      [
        { engine: 'lmdb', kind: 'get', ...one },
        { engine: 'lmdb', kind: 'commit', ...one },
        { engine: 'http', kind: 'commit', ...one, cpuMicros: undefined },
      ],
      { kinds: ['commit', 'get'], callers: 32 },
    );
    assert.deepEqual(table.split('\n').slice(2), [
      '| commit of a row, 32 writers | lmdb | 1,234 | 50 | 0.5 | 2 |',
      '| commit of a row, 32 writers | http | 1,234 | – | 0.5 | 2 |',
      '| get, 32 readers | lmdb | 1,234 | 50 | 0.5 | 2 |',
    ]);
  });

  it('takes engines and kinds by name, and rows by whole partitions', () => {
    const options = parseOptions(['--engines', 'journal,lmdb', '--kinds', 'get']);
    assert.deepEqual([options?.engines, options?.kinds], [['lmdb', 'journal'], ['get']]);
    assert.throws(
      () => parseOptions(['--engines', 'rocks']),
      /does not know 'rocks'; it knows memory/,
    );
    assert.throws(() => parseOptions(['--rows', '10']), /a multiple of 1000/);
  });
});
