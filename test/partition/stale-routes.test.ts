import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { Bytes } from '../../src/base/bytes.js';
import { StoreFullError, StoreUnavailableError } from '../../src/kv/errors.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString, prefixRange } from '../../src/kv/tuple.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { PartitionCounters } from '../../src/partition/counters.js';
import type { BeginResult } from '../../src/partition/operations/operations.js';
import { Members } from '../../src/partition/members.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { byLength } from '../support/run-length.js';
import { admitted, leaving, membersOf, operationsOver } from './composed-stores.js';

const prefixes = ['a', 'b', 'c', 'd'].map((name) => partitionPrefix('tables', 'account', 1, name));
const keys = prefixes.map((prefix) => appendString(prefix, 'row'));
const storesCount = 3;

/** What is done between the next page of a store and its answer. */
interface Between {
  done: (() => Promise<void>) | undefined;
}

function interrupted(store: MemberStore, between: Between): MemberStore {
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      if (name !== 'range') return found.bind(target);
      return async (...given: unknown[]) => {
        const page: unknown = await Reflect.apply(found, target, given);
        const { done } = between;
        between.done = undefined;
        await done?.();
        return page;
      };
    },
  });
}

async function world() {
  const clock = manualClock();
  const between: Between = { done: undefined };
  const stores: ReturnType<typeof leaving>[] = [];
  for (let count = 0; count < storesCount; count += 1) {
    stores.push(leaving(interrupted(await openMemoryStore({ clock }), between)));
  }
  const members = await admitted(membersOf(stores.map(({ store }) => store)));
  const away = (name: string) => {
    const found = stores[members.names.indexOf(name)];
    assert.ok(found !== undefined);
    found.state.isAway = true;
  };
  const operations = operationsOver(members, clock);
  const catalogue = new Catalogue(members.home);
  const frontEnd = async () => {
    const counters = new PartitionCounters();
    const given = { members, clock, timers: systemTimers, randomness: systemRandomness };
    return { counters, store: await openPartitionedStore({ ...given, counters }) };
  };
  const writer = (await frontEnd()).store;
  let written = 0;
  /** Writes all rows through a front end that knows the map; returns the value. */
  const write = async () => {
    written += 1;
    const value = Buffer.from(`${written}`);
    for (const key of keys) {
      const { ok } = await writer.commit({ checks: [], puts: [{ key, value }], deletes: [] });
      assert.ok(ok);
    }
    return value;
  };
  const done = async (begun: BeginResult) => {
    if (begun.ok) await operations.carryOut(begun.operation);
    return begun.ok;
  };
  const rangeOf = async (at: number) => (await catalogue.map()).at(keys[at] ?? Buffer.alloc(0));
  return { operations, catalogue, frontEnd, write, done, rangeOf, away, between };
}

type World = Awaited<ReturnType<typeof world>>;

const [key = Buffer.alloc(0)] = keys;

/** A front end that knows the range, and sleeps while it moves away and back. */
async function overslept({ operations, frontEnd, write, done, rangeOf }: World) {
  await write();
  const sleeper = await frontEnd();
  const seen = await sleeper.store.get(key);
  assert.equal(sleeper.counters.guardRefusals, 0);
  for (const target of ['s1', 's0']) {
    assert.ok(await done(await operations.beginMove((await rangeOf(0)).id, target)));
    await write();
  }
  assert.ok(seen !== undefined);
  return { ...sleeper, seen };
}

interface Change {
  readonly kind: 'move' | 'split' | 'merge';
  readonly at: number;
  readonly to: number;
}

const change = fc.record({
  kind: fc.constantFrom<Change['kind']>('move', 'move', 'split', 'merge'),
  at: fc.nat(keys.length - 1),
  to: fc.nat(storesCount - 1),
});

/** False when it is refused, as a split at the beginning of a range. */
async function changed({ operations, catalogue, done, rangeOf }: World, { kind, at, to }: Change) {
  const range = await rangeOf(at);
  if (kind === 'move') return done(await operations.beginMove(range.id, `s${to}`));
  if (kind === 'split') {
    return done(await operations.beginSplit(range.id, prefixes[at] ?? Buffer.alloc(0)));
  }
  const { ranges } = await catalogue.map();
  const next = ranges[ranges.findIndex(({ id }) => id === range.id) + 1];
  return next !== undefined && done(await operations.beginMerge(range.id, next.id));
}

void describe('a front end with an old map', () => {
  void it('is refused once when it reads after two moves, there and back', async () => {
    const { store, counters } = await overslept(await world());
    assert.equal(String((await store.get(key))?.value), '3');
    assert.equal(counters.guardRefusals, 1);
    await store.get(key);
    assert.equal(counters.guardRefusals, 1, 'it knows the range again');
  });

  void it('is refused once when it commits after two moves, there and back', async () => {
    const { store, counters, seen } = await overslept(await world());
    const put = { key, value: Buffer.from('stale') };
    const checks = [{ key, version: seen.version }];
    const result = await store.commit({ checks, puts: [put], deletes: [] });
    assert.equal(counters.guardRefusals, 1);
    assert.equal(result.ok, false, 'what it has seen was replaced meanwhile');
    assert.equal(String((await store.get(key))?.value), '3');
  });

  /** Front ends that know the range in `s1`, and one that has not asked for it; `s1` leaves. */
  async function left(whereTo: string | undefined, gone: readonly string[] = ['s1']) {
    const given = await world();
    const { operations, frontEnd, write, done, rangeOf, away } = given;
    assert.ok(await done(await operations.beginMove((await rangeOf(0)).id, 's1')));
    await write();
    const [knowing, unaware] = [await frontEnd(), await frontEnd()];
    await knowing.store.get(key);
    if (whereTo !== undefined) {
      assert.ok(await done(await operations.beginMove((await rangeOf(0)).id, whereTo)));
    }
    for (const name of gone) away(name);
    return { ...given, fronts: [knowing.store, unaware.store] };
  }

  void it('follows a range that has left a store which does not answer', async () => {
    const { fronts } = await left('s2');
    for (const [at, store] of fronts.entries()) {
      assert.equal(String((await store.get(key))?.value), at === 0 ? '1' : 'written');
      const put = { key, value: Buffer.from('written') };
      assert.ok((await store.commit({ checks: [], puts: [put], deletes: [] })).ok);
    }
  });

  void it('says that a store does not answer that has the range still', async () => {
    const { fronts } = await left(undefined);
    for (const store of fronts) {
      await assert.rejects(store.get(key), StoreUnavailableError);
      const put = { key, value: Buffer.from('written') };
      const commit = store.commit({ checks: [], puts: [put], deletes: [] });
      await assert.rejects(commit, StoreUnavailableError);
    }
  });

  for (const hasFilter of [false, true]) {
    const does = hasFilter ? 'does not ask a filter twice' : 'gives the whole page';
    void it(`${does} when the store is left and goes away during a page`, async () => {
      const { operations, done, rangeOf, away, between, fronts } = await left(undefined, []);
      const [store = assert.fail()] = fronts;
      between.done = async () => {
        assert.ok(await done(await operations.beginMove((await rangeOf(0)).id, 's2')));
        away('s1');
      };
      const asked: string[] = [];
      const filter = ({ key: each }: { readonly key: Bytes }) => {
        asked.push(Buffer.from(each).toString('hex'));
        return 'take' as const;
      };
      const [start = assert.fail()] = prefixes;
      const page = store.range(prefixRange(start), {
        limit: 10,
        bytesMax: 1000,
        ...(hasFilter && { filter }),
      });
      if (hasFilter) await assert.rejects(page, StoreUnavailableError);
      else assert.equal((await page).entries.length, 1);
      assert.deepEqual(asked, hasFilter ? [Buffer.from(key).toString('hex')] : []);
    });
  }

  void it('reads nothing old, whatever its age', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        const given = await world();
        let last = await given.write();
        const sleepers = [];
        for (const each of changes) {
          const sleeper = await given.frontEnd();
          for (const one of keys) await sleeper.store.get(one);
          sleepers.push(sleeper.store);
          await changed(given, each);
          last = await given.write();
        }
        for (const store of sleepers) {
          for (const one of keys) assert.deepEqual((await store.get(one))?.value, last);
        }
      }),
      { numRuns: byLength({ short: 20, long: 300 }) },
    );
  });

  void it('commits what grows where its range is by now, as the store before is full', async () => {
    const clock = manualClock();
    const full = new Set<string>();
    const diskOf = (name: string) => {
      const isLow = () => Promise.resolve(full.has(name));
      return { isLow: full.has(name), isStillLow: isLow, isLowNow: isLow };
    };
    const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
    const named = new Map(stores.map((store, index) => [`s${index}`, store]));
    const members = await admitted(new Members('s0', named, { diskOf }));
    const operations = operationsOver(members, clock);
    const common = { members, clock, timers: systemTimers, randomness: systemRandomness };
    const store = await openPartitionedStore(common);
    const commit = () =>
      store.commit({
        checks: [],
        puts: [{ key, value: Buffer.from('1') }],
        deletes: [],
        grows: true,
      });
    assert.ok((await commit()).ok);
    full.add('s0');
    await assert.rejects(commit(), StoreFullError);
    const { id } = (await new Catalogue(members.home).map()).at(key);
    const begun = await operations.beginMove(id, 's1');
    assert.ok(begun.ok);
    await operations.carryOut(begun.operation);
    assert.ok((await commit()).ok);
    full.add('s1');
    await assert.rejects(commit(), StoreFullError);
  });
});
