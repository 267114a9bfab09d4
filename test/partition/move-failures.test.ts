import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../src/base/async/deferred.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { equalBytes } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { CommitUnknownError, GuardError, StoreUnavailableError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import type { Entry } from '../../src/kv/store.js';
import { appendString, prefixRange } from '../../src/kv/tuple.js';
import { Catalogue, versioned } from '../../src/partition/catalogue.js';
import { PartitionCounters } from '../../src/partition/counters.js';
import { guardKey, storeKeys } from '../../src/partition/keys.js';
import { Members } from '../../src/partition/members.js';
import { NoRoomError } from '../../src/partition/operations/room.js';
import { ServedTwiceError, TakenOverError } from '../../src/partition/operations/tools.js';
import { decodeGuardRow, type MoveStep } from '../../src/partition/rows.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { verify } from '../../src/partition/verify.js';
import { memberDisk } from '../support/member-disk.js';
import { hurried } from '../support/manual-timers.js';
import { admitted, membersOf, operationsOver } from './composed-stores.js';

const prefix = partitionPrefix('tables', 'account', 1, 'p');
const keys = Array.from({ length: 250 }, (_, index) => appendString(prefix, String(1_000 + index)));
const data = { start: Buffer.alloc(0), end: storeKeys.start };
const whole = { limit: 10_000, bytesMax: 1 << 30 } as const;
const puts = keys.map((key) => ({ key, value: Buffer.from('value') }));
// A step that waits for a silent store never ends.
const hangs = { timeout: 60_000 };

/** A key space of one range, which is at the first of two stores. */
async function world() {
  const clock = manualClock();
  const source = await openMemoryStore({ clock });
  const target = await openMemoryStore({ clock });
  const members = await admitted(membersOf([source, target]));
  const options = { members, clock, timers: systemTimers, randomness: systemRandomness };
  const store = await openPartitionedStore(options);
  await store.commit({ checks: [], puts, deletes: [] });
  const catalogue = new Catalogue(members.home);
  const [{ id: range } = { id: 0 }] = (await catalogue.map()).ranges;
  const operations = operationsOver(members, clock);
  const begun = async (kind: 'beginMove' | 'beginDiscard' = 'beginMove'): Promise<number> => {
    const result = await operations[kind](range, 's1');
    assert.ok(result.ok);
    return result.operation;
  };
  const held = async (): Promise<number[]> => {
    const pages = [source, target].map((each) => each.range(data, whole));
    return (await Promise.all(pages)).map(({ entries }) => entries.length);
  };
  const stateOfSource = async () =>
    versioned(await source.get(guardKey(range)), decodeGuardRow)?.row.state;
  const found = () => verify({ catalogue, members, clock, timers: systemTimers });
  const at = { source, target, members, store, catalogue, operations, range, clock };
  return { ...at, begun, held, stateOfSource, found };
}

void describe('a target that serves the range as well', () => {
  for (const kind of ['beginMove', 'beginDiscard'] as const) {
    void it(`keeps its writes when a ${kind} is carried out or cancelled`, async () => {
      for (const end of ['carried out', 'cancelled'] as const) {
        const { source, target, range, begun, held, operations, catalogue, found } = await world();
        const guard = await source.get(guardKey(range));
        const twice = { key: guardKey(range), value: guard?.value ?? Buffer.alloc(0) };
        await target.commit({ checks: [], puts: [...puts.slice(0, 7), twice], deletes: [] });
        const operation = await begun(kind);
        if (end === 'cancelled') assert.equal(await operations.cancel(operation), true);
        else await assert.rejects(operations.carryOut(operation), ServedTwiceError);
        assert.deepEqual(await held(), [keys.length, 7]);
        assert.deepEqual(await catalogue.operations(), []);
        assert.ok((await found()).length > 0);
      }
    });
  }
});

void describe('a target that is silent while calls wait', () => {
  const silent = () => new Promise<never>(() => undefined);
  for (const [step, method] of [
    ['fence', 'get'],
    ['fence', 'ingest'],
    ['close', 'get'],
  ] as const) {
    void it(`in its ${method} at '${step}' lets the source serve`, hangs, async (t) => {
      const each = await world();
      const { members, source, target, clock, store, begun, stateOfSource } = each;
      const operation = await begun();
      const fence = source.fence.bind(source);
      const onStep = (reached: MoveStep) => {
        if (reached !== step) return;
        t.mock.method(target, method, silent);
        if (method !== 'ingest') return;
        // There is something to be copied when writes wait.
        t.mock.method(source, 'fence', async (...given: Parameters<typeof fence>) => {
          t.mock.method(source, 'fence', fence);
          await store.commit({ checks: [], puts: puts.slice(0, 1), deletes: [] });
          return fence(...given);
        });
      };
      const counters = new PartitionCounters();
      const carried = hurried(t.signal, (timers) =>
        operationsOver(members, clock, { timers, onStep, counters }).carryOut(operation),
      );
      await assert.rejects(carried, /'s1' has been silent/);
      assert.equal(await stateOfSource(), 'logging');
      // The target is asked before writes pause, and again before reads do.
      const { write, read } = counters.pauses;
      const isAskedFirst = step === 'fence' && method === 'get';
      assert.deepEqual([write.count, read.count], [isAskedFirst ? 0 : 1, step === 'close' ? 1 : 0]);
    });
  }
});

void describe('a move', () => {
  void it('is cancelled when the disk of its target gets full while it catches up', async () => {
    const { source, target, members, clock, store, begun, held, catalogue } = await world();
    const operation = await begun();
    const dies = (step: MoveStep) => assert.notEqual(step, 'copy', 'died');
    await assert.rejects(
      operationsOver(members, clock, { onStep: dies }).carryOut(operation),
      /died/,
    );
    for (const put of puts) await store.commit({ checks: [], puts: [put], deletes: [] });
    let isFull = false;
    const stores = new Map([
      ['s0', source],
      ['s1', target],
    ]);
    const filled = memberDisk(() => isFull);
    const diskOf = (name: string) => (name === 's1' ? filled : undefined);
    const onStep = (step: MoveStep) => (isFull ||= step === 'catch up');
    const mover = operationsOver(new Members('s0', stores, { diskOf }), clock, { onStep });
    await assert.rejects(mover.carryOut(operation), NoRoomError);
    assert.deepEqual(await held(), [keys.length, 0]);
    assert.deepEqual(await catalogue.operations(), []);
  });

  void it('goes on when the answer of its switch is lost', async (t) => {
    const { source, begun, held, operations, catalogue } = await world();
    const operation = await begun();
    const commit = source.commit.bind(source);
    let isLost = false;
    t.mock.method(source, 'commit', async (...given: Parameters<typeof commit>) => {
      const result = await commit(...given);
      const isSwitch = given[0].puts.some(({ value }) => String(value).includes('activate'));
      if (isSwitch && !isLost) {
        isLost = true;
        throw new CommitUnknownError('the answer is lost');
      }
      return result;
    });
    assert.equal(await operations.carryOut(operation), 'done');
    assert.ok(isLost);
    assert.deepEqual(await held(), [0, keys.length]);
    assert.deepEqual(await catalogue.operations(), []);
  });

  void it(
    'lets its source serve when its switch is refused and its target falls silent',
    hangs,
    async (t) => {
      const { source, target, members, clock, begun, stateOfSource } = await world();
      const operation = await begun();
      const commit = source.commit.bind(source);
      let isClosing = false;
      t.mock.method(source, 'commit', (...given: Parameters<typeof commit>) => {
        const isSwitch = given[0].puts.some(({ value }) => String(value).includes('activate'));
        if (!isSwitch) return commit(...given);
        throw new StoreUnavailableError('refused by the test');
      });
      const ingest = target.ingest.bind(target);
      t.mock.method(target, 'ingest', (...given: Parameters<typeof ingest>) =>
        isClosing ? new Promise<never>(() => undefined) : ingest(...given),
      );
      const onStep = (step: MoveStep) => (isClosing = step === 'close');
      const carried = hurried(t.signal, (timers) =>
        operationsOver(members, clock, { timers, onStep }).carryOut(operation),
      );
      await assert.rejects(carried, /refused by the test/);
      assert.equal(await stateOfSource(), 'logging');
    },
  );

  for (const lost of ['none', 'its write', 'its removal', 'its confirmation'] as const) {
    const name = `leaves no guard that it writes late (lost answer: ${lost})`;
    void it(`that was cancelled meanwhile ${name}`, async (t) => {
      const { members, source, target, clock, range, begun, operations, found } = await world();
      const operation = await begun();
      const fence = target.fence.bind(target);
      let fences = 0;
      t.mock.method(target, 'fence', async (...given: Parameters<typeof fence>) => {
        fences += 1;
        if (fences === 1) assert.equal(await operations.cancel(operation), true);
        const result = await fence(...given);
        const isLost = lost === 'its write' ? fences === 1 : lost === 'its removal' && fences === 2;
        if (isLost) throw new CommitUnknownError('the answer is lost');
        return result;
      });
      const commit = source.commit.bind(source);
      t.mock.method(source, 'commit', async (...given: Parameters<typeof commit>) => {
        const result = await commit(...given);
        const isLost = lost === 'its confirmation' && fences === 1 && !result.ok;
        if (isLost) throw new CommitUnknownError('the answer is lost');
        return result;
      });
      await assert.rejects(operationsOver(members, clock).carryOut(operation), TakenOverError);
      assert.ok(fences >= 2);
      assert.equal(await target.get(guardKey(range)), undefined);
      assert.deepEqual(await found(), []);
    });
  }

  void it('goes on when the answer for the guard of its target is lost', async (t) => {
    const { target, begun, held, operations, catalogue, found } = await world();
    const operation = await begun();
    const fence = target.fence.bind(target);
    let isLost = false;
    t.mock.method(target, 'fence', async (...given: Parameters<typeof fence>) => {
      const result = await fence(...given);
      if (isLost) return result;
      isLost = true;
      throw new CommitUnknownError('the answer is lost');
    });
    assert.equal(await operations.carryOut(operation), 'done');
    assert.deepEqual(await held(), [0, keys.length]);
    assert.deepEqual(await catalogue.operations(), []);
    assert.deepEqual(await found(), []);
  });
});

void it('a cancellation ends although its predecessor writes the guard of the target late', async (t) => {
  const { members, target, clock, range, begun, operations, found, catalogue } = await world();
  const operation = await begun();
  const get = target.get.bind(target);
  const fence = target.fence.bind(target);
  let cancelled: Promise<boolean> | undefined;
  const [isWritten, isLooked] = [deferred(), deferred()];
  let looks = 0;
  t.mock.method(target, 'fence', async (...given: Parameters<typeof fence>) => {
    if (cancelled !== undefined) return fence(...given);
    cancelled = operations.cancel(operation);
    await isLooked.promise;
    const result = await fence(...given);
    isWritten.resolve();
    await cancelled.catch(() => undefined);
    return result;
  });
  t.mock.method(target, 'get', async (...given: Parameters<typeof get>) => {
    const isGuard = cancelled !== undefined && equalBytes(given[0], guardKey(range));
    looks += isGuard ? 1 : 0;
    const result = await get(...given);
    if (isGuard && looks === 1) {
      isLooked.resolve();
      await isWritten.promise;
    }
    return result;
  });
  await assert.rejects(operationsOver(members, clock).carryOut(operation), TakenOverError);
  assert.equal(await cancelled, true);
  assert.deepEqual(await catalogue.operations(), []);
  assert.deepEqual(await found(), []);
});

void it('a restore that fails leaves nothing of a page that its store applies late', async (t) => {
  const { source, store, range, operations, found } = await world();
  const { entries } = await store.range(prefixRange(prefix), whole);
  await store.commit({ checks: [], puts: [], deletes: keys });
  const ingest = source.ingest.bind(source);
  const fence = source.fence.bind(source);
  let late: (() => Promise<unknown>) | undefined;
  let isRefused = false;
  t.mock.method(source, 'ingest', (...given: Parameters<typeof ingest>) => {
    if (given[0].entries.length === 0) return ingest(...given);
    late = () => ingest(...given);
    throw new CommitUnknownError('the answer is lost');
  });
  // What was under way at a fence is applied before it, unless its guard has changed.
  t.mock.method(source, 'fence', async (...given: Parameters<typeof fence>) => {
    const isToServe = given[0].puts.some(
      ({ key, value }) => equalBytes(key, guardKey(range)) && String(value).includes('serving'),
    );
    if (isToServe && late !== undefined) {
      await assert.rejects(late(), GuardError);
      isRefused = true;
    }
    return fence(...given);
  });
  const begun = await operations.beginRestore(range);
  assert.ok(begun.ok);
  async function* pages(): AsyncGenerator<readonly Entry[]> {
    yield entries;
  }
  await assert.rejects(
    operations.restore(begun.operation, { pages: pages(), floor: 0 }),
    CommitUnknownError,
  );
  assert.ok(isRefused);
  assert.equal((await store.range(prefixRange(prefix), whole)).entries.length, 0);
  assert.deepEqual(await found(), []);
});
