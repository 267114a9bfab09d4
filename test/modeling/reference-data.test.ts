import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { referenceDataOf } from '../../src/modeling/patterns/reference-data.js';

interface Department {
  readonly id: string;
  readonly name: string;
}

/** A source that counts its reads, and responds when told to. */
function source(initial: readonly Department[]) {
  let loads = 0;
  let failing = false;
  let items = initial;
  let gate: Promise<void> = Promise.resolve();
  return {
    get loads() {
      return loads;
    },
    write: (changed: readonly Department[]) => (items = changed),
    fail: (isFailing: boolean) => (failing = isFailing),
    /** Loads wait until the returned function is called. */
    hold: (): (() => void) => {
      let release: () => void = () => undefined;
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    load: async (): Promise<Iterable<Department>> => {
      loads += 1;
      const read = items;
      await gate;
      if (failing) throw new Error('no answer');
      return read;
    },
  };
}

const sales: Department = { id: 'S', name: 'Sales' };
const marketing: Department = { id: 'M', name: 'Marketing' };
const keyOf = ({ id }: Department) => id;

describe('reference data', () => {
  it('is loaded once for all uses, at the same time or within the time to live', async () => {
    const clock = manualClock();
    const from = source([sales, marketing]);
    const departments = referenceDataOf({ load: from.load, keyOf, ttlMs: 1000, clock });
    await Promise.all(Array.from({ length: 20 }, () => departments.get('S')));
    assert.deepEqual(await departments.all(), [sales, marketing]);
    clock.advanceMicros(1_000_000);
    assert.deepEqual(await departments.get('S'), sales);
    assert.equal(from.loads, 1);
  });

  it('is loaded again after the time to live', async () => {
    const clock = manualClock();
    const from = source([sales]);
    const departments = referenceDataOf({ load: from.load, keyOf, ttlMs: 1000, clock });
    assert.equal(await departments.get('M'), undefined);
    from.write([sales, marketing]);
    clock.advanceMicros(1_001_000);
    assert.deepEqual(await departments.get('M'), marketing);
    assert.equal(from.loads, 2);
  });

  it('counts its age from the beginning of the load', async () => {
    const clock = manualClock();
    const from = source([sales]);
    const departments = referenceDataOf({ load: from.load, keyOf, ttlMs: 1000, clock });
    const release = from.hold();
    const first = departments.all();
    clock.advanceMicros(1_500_000);
    release();
    await first;
    await departments.all();
    assert.equal(from.loads, 2);
  });

  it('is served old while loading fails, as long as allowed, and then throws the error', async () => {
    const clock = manualClock();
    const from = source([sales]);
    const options = { load: from.load, keyOf, ttlMs: 1000, staleMsMax: 60_000, clock };
    const departments = referenceDataOf(options);
    await departments.all();
    from.fail(true);
    clock.advanceMicros(59_000_000);
    assert.deepEqual(await departments.get('S'), sales);
    clock.advanceMicros(2_000_000);
    await assert.rejects(departments.get('S'), /no answer/);
    from.fail(false);
    assert.deepEqual(await departments.get('S'), sales);
  });

  it('throws the error of the first load to all who wait, and tries again after it', async () => {
    const from = source([sales]);
    const departments = referenceDataOf({ load: from.load, keyOf, ttlMs: 1000 });
    from.fail(true);
    const results = await Promise.allSettled([departments.all(), departments.get('S')]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    from.fail(false);
    assert.deepEqual(await departments.all(), [sales]);
    assert.equal(from.loads, 2);
  });

  it('shows after a refresh what was written before it, though a load was under way', async () => {
    const from = source([sales]);
    const departments = referenceDataOf({ load: from.load, keyOf, ttlMs: 1000 });
    const release = from.hold();
    const early = departments.all();
    from.write([marketing]);
    from.hold()();
    await departments.refresh();
    release();
    assert.deepEqual(await early, [sales]);
    assert.deepEqual(await departments.all(), [marketing]);
  });

  it('joins rows in their order, those without an item as well', async () => {
    const departments = referenceDataOf({ load: source([sales]).load, keyOf, ttlMs: 1000 });
    const rows = [
      { employee: 1, department: 'S' },
      { employee: 2, department: 'X' },
      { employee: 3, department: undefined },
    ];
    const joined: string[] = [];
    const named = departments.join(
      rows,
      ({ department }) => department,
      ({ employee }, found) => `${employee} ${found?.name ?? '-'}`,
    );
    for await (const row of named) joined.push(row);
    assert.deepEqual(joined, ['1 Sales', '2 -', '3 -']);
  });

  it('refuses a table that is too large, and items that are not told apart', async () => {
    const { load } = source([sales, marketing]);
    const tooLarge = referenceDataOf({ load, keyOf, ttlMs: 1, itemsMax: 1 });
    await assert.rejects(tooLarge.all(), /more than 1 items/);
    const same = referenceDataOf({ load, keyOf: () => 'same', ttlMs: 1 });
    await assert.rejects(same.all(), /two items .* have the key 'same'/);
    assert.throws(() => referenceDataOf({ load, keyOf, ttlMs: 0 }), { name: 'DefinitionError' });
  });
});
