import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import {
  candidatesPerRead,
  filteredEntries,
  filteredPage,
  firstFiltered,
  type FilteredOptions,
} from './filtered-entries.js';
import { partitionPrefix } from './partition-prefix.js';
import type { Candidate, Store } from './store.js';
import { appendNumber, numberAt, prefixRange } from './tuple.js';

const prefix = partitionPrefix('table', 'account', 1, 'partition');
const range = prefixRange(prefix);
const keyOf = (number: number) => appendNumber(prefix, number);
const numberOf = (key: Uint8Array) => numberAt(key, prefix.length);
const count = 4 * candidatesPerRead + 3;

/** A store with a row for each number, and how many entries each read of it looked at. */
async function storeWithNumbers() {
  const store = await openMemoryStore({ clock: manualClock() });
  const value = Buffer.alloc(0);
  const puts = Array.from({ length: count }, (_, number) => ({ key: keyOf(number), value }));
  await store.commit({ checks: [], puts, deletes: [] });
  const looks: number[] = [];
  const counting: Pick<Store, 'range'> = {
    range(within, { filter, ...options }) {
      const read = looks.push(0) - 1;
      return store.range(within, {
        ...options,
        filter(candidate) {
          const decision = filter?.(candidate) ?? 'take';
          if (decision !== 'stop') looks[read] = (looks[read] ?? 0) + 1;
          return decision;
        },
      });
    },
  };
  return { store, counting, looks };
}

const taking =
  (isTaken: (number: number) => boolean) =>
  ({ key }: Candidate) =>
    isTaken(numberOf(key)) ? 'take' : 'skip';

/** The numbers that are found. `limit`: that of one read. */
async function found(
  store: Pick<Store, 'range'>,
  isTaken: (number: number) => boolean,
  { reverse = false, limit = 7 } = {},
): Promise<readonly number[]> {
  const numbers: number[] = [];
  const options = { filter: taking(isTaken), limit, bytesMax: 1_000, reverse };
  for await (const { key } of filteredEntries(store, range, options)) {
    numbers.push(numberOf(key));
  }
  return numbers;
}

const all = Array.from({ length: count }, (_, number) => number);

describe('the entries of a range that a filter takes', () => {
  for (const reverse of [false, true]) {
    const direction = reverse ? 'backwards' : 'forwards';

    it(`are all of them, in order, however many there are between two, ${direction}`, async () => {
      const { counting } = await storeWithNumbers();
      const rules: ((number: number) => boolean)[] = [
        (number) => number % 3_000 === 0,
        (number) => number % 1_024 === 0,
        (number) => number % 1_024 === 1_023,
        (number) => number > 4_000,
        (number) => number < 9,
        () => true,
        () => false,
      ];
      for (const isTaken of rules) {
        for (const limit of [100, 100_000]) {
          const numbers = await found(counting, isTaken, { reverse, limit });
          const expected = all.filter(isTaken);
          assert.deepEqual(numbers, reverse ? expected.toReversed() : expected);
        }
      }
    });

    it(`are read in parts, and each entry is looked at once, ${direction}`, async () => {
      const { counting, looks } = await storeWithNumbers();
      await found(counting, (number) => number % 3_000 === 1, { reverse });
      assert.ok(Math.max(...looks) <= candidatesPerRead);
      assert.equal(
        looks.reduce((sum, each) => sum + each, 0),
        count,
      );
    });
  }

  it('leave others a turn between two reads', async () => {
    const { counting } = await storeWithNumbers();
    let turns = 0;
    const turnsBefore: number[] = [];
    const observed: Pick<Store, 'range'> = {
      range(within, options) {
        turnsBefore.push(turns);
        setImmediate(() => (turns += 1));
        return counting.range(within, options);
      },
    };
    await firstFiltered(observed, range, { filter: () => 'skip' });
    assert.deepEqual(turnsBefore, [0, 1, 2, 3, 4]);
  });

  it('may be deleted while the next are read', async () => {
    const { store, counting } = await storeWithNumbers();
    const numbers: number[] = [];
    const options = { filter: taking((number) => number % 2_000 === 5), limit: 1, bytesMax: 0 };
    for await (const { key } of filteredEntries(counting, range, options)) {
      numbers.push(numberOf(key));
      await store.commit({ checks: [], puts: [], deletes: [key] });
    }
    assert.deepEqual(numbers, [5, 2_005, 4_005]);
  });

  it('end where the filter says so, though more of them follow', async () => {
    const { counting, looks } = await storeWithNumbers();
    const stopsAt = (end: number) => (candidate: Candidate) => {
      const number = numberOf(candidate.key);
      if (number === end) return 'stop';
      return number % 1_000 === 0 ? 'take' : 'skip';
    };
    const page = (filter: FilteredOptions['filter']) =>
      filteredPage(counting, range, { filter, limit: 9, bytesMax: 1_000 });
    const { entries, next } = await page(stopsAt(2_001));
    assert.deepEqual(
      entries.map(({ key }) => numberOf(key)),
      [0, 1_000, 2_000],
    );
    assert.equal(next, undefined);
    assert.equal(looks.length, 2);
    assert.deepEqual((await page(stopsAt(0))).entries, []);
  });

  it('begin with the first, or there is none', async () => {
    const { counting } = await storeWithNumbers();
    const filter = taking((number) => number > 3_000);
    const first = await firstFiltered(counting, range, { filter });
    assert.equal(first && numberOf(first.key), 3_001);
    const last = await firstFiltered(counting, range, { filter, reverse: true });
    assert.equal(last && numberOf(last.key), count - 1);
    const none = await firstFiltered(counting, range, { filter: () => 'skip' });
    assert.equal(none, undefined);
  });
});
