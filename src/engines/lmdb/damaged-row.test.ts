import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { StoreDamagedError } from '../../kv/errors.js';
import type { Candidate, Decision, RangeOptions } from '../../kv/store.js';
import { dataFile } from './directory/file-kinds.js';
import { openLmdbStore } from './store.js';
import { verifiedMs } from './verified-rows.js';

const everything = { start: Buffer.from('k') };
/** From values that share a buffer with others to values whose checksum takes several steps. */
const lengths = [10, 3_000, 20_000, 200_000];

function keyOf(length: number): Buffer {
  return Buffer.from(`key of ${length}`);
}

function valueOf(length: number): Buffer {
  return Buffer.alloc(length, `value of ${length}, `);
}

async function setUp(t: TestContext) {
  const { directory, remove } = await temporaryLocation();
  const clock = manualClock();
  const store = await openLmdbStore({ directory, clock });
  t.after(async () => {
    await store.close();
    await remove();
  });
  const puts = lengths.map((length) => ({ key: keyOf(length), value: valueOf(length) }));
  await store.commit({ checks: [], puts, deletes: [] });
  return { store, clock, path: join(directory, dataFile) };
}

/** Changes the last byte of a value in the data file that the store has mapped. */
async function damage(path: string, length: number): Promise<void> {
  const at = readFileSync(path).indexOf(valueOf(length));
  assert.ok(at > 0, 'the value is in the file');
  const file = await open(path, 'r+');
  await file.write(Buffer.from('?'), 0, 1, at + length - 1);
  await file.close();
}

function options(decision?: Decision): RangeOptions {
  const all = { limit: Infinity, bytesMax: Infinity };
  return decision === undefined ? all : { ...all, filter: () => decision };
}

void describe('a row that is damaged while the store is open', () => {
  for (const length of lengths) {
    const named = (error: unknown) =>
      error instanceof StoreDamagedError && error.message.includes(keyOf(length).toString('hex'));

    it(`of ${length} bytes fails every read that returns it`, async (t) => {
      const { store, path } = await setUp(t);
      await damage(path, length);
      await assert.rejects(store.get(keyOf(length)), named);
      await assert.rejects(store.getMany([keyOf(length)]), named);
      await assert.rejects(store.range(everything, options()), named);
      await assert.rejects(store.range(everything, options('take')), named);
    });

    it(`of ${length} bytes fails a range that it guards`, async (t) => {
      const { store, path } = await setUp(t);
      const version = (await store.get(keyOf(length)))?.version ?? 0;
      const guarded = { ...options('skip'), guard: { key: keyOf(length), version } };
      await store.range({ start: Buffer.from('z') }, guarded);
      await damage(path, length);
      await assert.rejects(store.range({ start: Buffer.from('z') }, guarded), named);
    });

    it(`of ${length} bytes fails a range that passes over it`, async (t) => {
      const { store, path } = await setUp(t);
      await damage(path, length);
      await assert.rejects(store.range(everything, options('skip')), named);
    });

    it(`of ${length} bytes fails one that uses it, before it is handed over`, async (t) => {
      const { store, path } = await setUp(t);
      await store.range(everything, options('skip'));
      await damage(path, length);
      const used: number[] = [];
      const use = ({ valueLength }: Candidate) => void used.push(valueLength);
      await assert.rejects(store.range(everything, { ...options('use'), use }), named);
      assert.ok(!used.includes(length), 'only what is intact is handed over');
    });

    it(`of ${length} bytes fails one also when it was passed over before`, async (t) => {
      const { store, clock, path } = await setUp(t);
      assert.equal((await store.range(everything, options('skip'))).entries.length, 0);
      await damage(path, length);
      clock.advanceMicros(verifiedMs * 1_000);
      await assert.rejects(store.range(everything, options('skip')), named);
    });
  }
});

void describe('a range', () => {
  it('returns rows of any size, in order and whole', async (t) => {
    const { store } = await setUp(t);
    const puts = Array.from({ length: 300 }, (_, index) => ({
      key: Buffer.from(`m${'-'.repeat(index % 7)}${String(index).padStart(4, '0')}`),
      value: valueOf((index * 1_237) % 30_000),
    })).toSorted((left, right) => Buffer.compare(left.key, right.key));
    await store.commit({ checks: [], puts, deletes: [] });
    const { entries } = await store.range({ start: Buffer.from('m') }, options());
    assert.deepEqual(
      entries.map(({ key, value }) => [String(key), String(value)]),
      puts.map(({ key, value }) => [String(key), String(value)]),
    );
    assert.ok(new Set(entries.map(({ version }) => version)).size === 1);
  });
});
