import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { describe } from 'node:test';
import * as fc from 'fast-check';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { StoreDamagedError } from '../../kv/errors.js';
import type { Candidate, Decision, RangeOptions } from '../../kv/store.js';
import { dataFile } from './directory/file-kinds.js';
import { verifiedPagesMs } from './mapped/verified-pages.js';
import { openLmdbStore } from './store.js';

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

/**
 * Changes the last byte of a value in the data file that the store has mapped, wherever it is:
 * pages that were written anew are still there as they were.
 */
async function damage(path: string, length: number): Promise<void> {
  const [bytes, value] = [readFileSync(path), valueOf(length)];
  const file = await open(path, 'r+');
  let places = 0;
  for (let at = bytes.indexOf(value); at >= 0; at = bytes.indexOf(value, at + 1)) {
    await file.write(Buffer.from('?'), 0, 1, at + length - 1);
    places += 1;
  }
  await file.close();
  assert.ok(places > 0, 'the value is in the file');
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
      clock.advanceMicros(verifiedPagesMs * 1_000);
      await assert.rejects(store.range(everything, options('skip')), named);
    });

    it(`of ${length} bytes is not verified twice in a moment where it is passed over`, async (t) => {
      const { store, path } = await setUp(t);
      // Neither the first nor the last, as keys are in order.
      const taken = length === 20_000 ? 200_000 : 20_000;
      const filter = (row: Candidate): Decision => (row.valueLength === taken ? 'take' : 'skip');
      assert.equal((await store.range(everything, { ...options(), filter })).entries.length, 1);
      await damage(path, length);
      assert.equal((await store.range(everything, { ...options(), filter })).entries.length, 1);
    });
  }
});

void describe('ranges that share a page with a damaged row', () => {
  const rows = 8;
  const keyAt = (row: number) => Buffer.from(`r${String(row).padStart(2, '0')}`);
  const decisions: readonly Decision[] = ['skip', 'take', 'use'];

  it('fail where they have it and nowhere else, in whatever order they are read', async (t) => {
    const { store, path } = await setUp(t);
    const damaged = 3;
    const lengthOf = (row: number): number => (row === damaged ? 500 : row);
    const puts = Array.from({ length: rows }, (_, row) => ({
      key: keyAt(row),
      value: valueOf(lengthOf(row)),
    }));
    await store.commit({ checks: [], puts, deletes: [] });
    await damage(path, lengthOf(damaged));
    const row = fc.integer({ min: 0, max: rows - 1 });
    const choices = fc.array(fc.constantFrom(...decisions), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(row, row, choices, async (one, other, chosen) => {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        let at = 0;
        const filter = (): Decision => chosen[at++ % chosen.length] ?? 'skip';
        const found = store.range(
          { start: keyAt(first), end: keyAt(last + 1) },
          { ...options(), filter },
        );
        const hasDamaged = first <= damaged && damaged <= last;
        await (hasDamaged ? assert.rejects(found, StoreDamagedError) : found);
      }),
      { numRuns: 1_000 },
    );
  });
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
