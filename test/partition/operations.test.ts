import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../src/base/async/deferred.js';
import { holdingTimers, systemTimers, type Timers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { partitionPrefix, storeKey } from '../../src/kv/partition-prefix.js';
import { appendString, prefixRange } from '../../src/kv/tuple.js';
import { boundOf } from '../../src/partition/bound-text.js';
import { Catalogue, versioned } from '../../src/partition/catalogue.js';
import { guardKey, guardRows, storeKeys, storeRowKey } from '../../src/partition/keys.js';
import { storesMax } from '../../src/partition/limits.js';
import { Members } from '../../src/partition/members.js';
import type { Operations } from '../../src/partition/operations/operations.js';
import { NoRoomError } from '../../src/partition/operations/room.js';
import {
  MoveMismatchError,
  MoveTooSlowError,
  ServedTwiceError,
  type OperationTools,
} from '../../src/partition/operations/tools.js';
import {
  decodeGuardRow,
  encodeGuardRow,
  encodeStoreRow,
  type MoveStep,
} from '../../src/partition/rows.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { addMember } from '../../src/partition/admission.js';
import { repair } from '../../src/partition/operations/repair.js';
import { verify } from '../../src/partition/verify.js';
import { memberDisk } from '../support/member-disk.js';
import { costly, byLength } from '../support/run-length.js';
import { addedAs, admitted, membersOf, operationsOver, watched } from './composed-stores.js';

const clock = manualClock();
const prefix = partitionPrefix('tables', 'account', 1, 'p');
const keys = Array.from({ length: 250 }, (_, index) => appendString(prefix, String(1_000 + index)));
const whole = { limit: 10_000, bytesMax: 1 << 30 } as const;

/** A process dies at every so many of the moments of a move. */
const stride = byLength({ short: 2, long: 1 });

class Died extends Error {}

interface World {
  readonly stores: readonly MemberStore[];
  readonly members: Members;
  readonly catalogue: Catalogue;
  readonly operations: Operations;
}

async function world(): Promise<World> {
  const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
  const members = await admitted(membersOf(stores));
  await (await opened(members)).commit({ checks: [], puts: keys.map(putOf), deletes: [] });
  const catalogue = new Catalogue(members.home);
  return { stores, members, catalogue, operations: operationsOver(members, clock) };
}

function opened(members: Members, timers: Timers = systemTimers, time = clock) {
  return openPartitionedStore({ members, clock: time, timers, randomness: systemRandomness });
}

async function calledAfter(work: Promise<unknown> | undefined, call: () => void): Promise<void> {
  await work;
  call();
}

/** The process of a move dies where the range serves nobody, and nobody takes over. */
async function closed(each: World, operation: number): Promise<void> {
  for (let at = 50; (await each.catalogue.operation(operation)) !== undefined; at += 1) {
    await dyingAt(each, operation, at);
    const guards = await each.stores[0]?.range(prefixRange(storeKey('partition', 'guard')), whole);
    if (guards?.entries.some(({ value }) => String(value).includes('moved')) === true) return;
  }
  assert.fail('the move has ended');
}

function putOf(key: (typeof keys)[number]) {
  return { key, value: Buffer.from('value') };
}

/** How many data each store has, and that a new front end finds all of them. */
async function held({ stores, members }: World): Promise<number[]> {
  const page = await (await opened(members)).range(prefixRange(prefix), whole);
  assert.equal(page.entries.length, keys.length);
  const data = { start: Buffer.alloc(0), end: storeKeys.start };
  return Promise.all(stores.map(async (each) => (await each.range(data, whole)).entries.length));
}

/** The process dies at its call `at`, before or after the store has carried it out. */
async function dyingAt(world: World, operation: number, at: number): Promise<boolean> {
  let moments = 0;
  const look = () => {
    moments += 1;
    if (moments >= at) throw new Died();
  };
  const members = membersOf(world.stores.map((store) => watched(store, look)));
  try {
    await operationsOver(members, clock).carryOut(operation);
    return false;
  } catch (error) {
    assert.ok(error instanceof Died, String(error));
    return true;
  }
}

/** The process of a move dies where a step of it would begin. */
async function dyingBefore(step: MoveStep, { members }: World, operation: number): Promise<void> {
  const onStep = (reached: MoveStep) => {
    if (reached === step) throw new Died();
  };
  await assert.rejects(operationsOver(members, clock, { onStep }).carryOut(operation), Died);
}

/** A move is to be cancelled, and its process dies before it has written to a store of it. */
async function cancelDyingFirst({ members }: World, operation: number): Promise<void> {
  const die = () => {
    throw new Died();
  };
  const home = watched(members.home, die, ['fence']);
  const dying = operationsOver(membersOf([home, members.named('s1')]), clock);
  await assert.rejects(dying.cancel(operation), Died);
}

async function begunMove({ operations, catalogue }: World): Promise<number> {
  const [range] = (await catalogue.map()).ranges;
  const begun = await operations.beginMove(range?.id ?? 0, 's1');
  assert.ok(begun.ok);
  return begun.operation;
}

/** The process of a move dies where commits are noted. */
async function loggingFrom(each: World, operation: number): Promise<void> {
  const [range] = (await each.catalogue.map()).ranges;
  const stateOf = async () => String((await each.stores[0]?.get(guardKey(range?.id ?? 0)))?.value);
  for (let at = 1; !(await stateOf()).includes('logging'); at += 1) {
    await dyingAt(each, operation, at);
  }
}

function bytesOf(entries: readonly ({ readonly value: Uint8Array } | undefined)[]): number {
  return entries.reduce((sum, entry) => sum + (entry?.value.length ?? 0), 0);
}

void describe('operations on ranges', () => {
  void it('end a move rightly wherever its process dies', costly(), async () => {
    let deaths = 0;
    for (let at = 1; ; at += stride) {
      const each = await world();
      const operation = await begunMove(each);
      if (!(await dyingAt(each, operation, at))) break;
      deaths += 1;
      // Undefined where only the answer of the last commit was missing.
      assert.notEqual(await each.operations.carryOut(operation), 'cancelled');
      assert.deepEqual(await held(each), [0, keys.length]);
      assert.deepEqual(await each.catalogue.operations(), []);
    }
    assert.ok(deaths > 40 / stride, `${deaths} deaths`);
  });

  void it('undo a move that has not switched, and no other', async () => {
    const undone = new Set<boolean>();
    for (let at = 1; ; at += 3 * stride) {
      const each = await world();
      const operation = await begunMove(each);
      if (!(await dyingAt(each, operation, at))) break;
      const isUndone = await each.operations.cancel(operation);
      undone.add(isUndone);
      if (!isUndone) await each.operations.carryOut(operation);
      assert.deepEqual(await held(each), isUndone ? [keys.length, 0] : [0, keys.length]);
      assert.deepEqual(await each.catalogue.operations(), []);
    }
    assert.deepEqual([...undone], [true, false]);
  });

  void it('cancel a move whose stores differ in the end', async () => {
    const each = await world();
    const operation = await begunMove(each);
    const [source, target] = each.stores;
    assert.ok(source !== undefined && target !== undefined);
    const forgetful = new Proxy(target, {
      get(store, name) {
        const found: unknown = Reflect.get(store, name, store);
        if (name === 'ingest') {
          return (ingestion: Parameters<MemberStore['ingest']>[0]) =>
            store.ingest({ ...ingestion, entries: ingestion.entries.slice(1) });
        }
        return typeof found === 'function' ? found.bind(store) : found;
      },
    });
    const mover = operationsOver(membersOf([source, forgetful]), clock);
    await assert.rejects(mover.carryOut(operation), MoveMismatchError);
    assert.deepEqual(await held(each), [keys.length, 0]);
  });

  void it('cancel a move that writes are too fast for', async () => {
    const each = await world();
    const operation = await begunMove(each);
    await loggingFrom(each, operation);
    const store = await opened(each.members);
    for (const key of keys) await store.commit({ checks: [], puts: [putOf(key)], deletes: [] });
    const limits = { dirtyRowsMax: 100 };
    const slow = operationsOver(each.members, clock, { pageEntriesMax: 1, limits });
    await assert.rejects(slow.carryOut(operation), (error: Error) => {
      assert.ok(error instanceof MoveTooSlowError, String(error));
      assert.match(error.message, /more than 100 writes .* Split the range/);
      return true;
    });
    assert.deepEqual(await held(each), [keys.length, 0]);
  });

  void it('cancel a move to a store whose disk gets full but for its reserve', async () => {
    const each = await world();
    const operation = await begunMove(each);
    const [home, target] = each.stores;
    assert.ok(home !== undefined && target !== undefined);
    const data = { start: Buffer.alloc(0), end: storeKeys.start };
    const filled = memberDisk(async () => (await target.range(data, whole)).entries.length >= 200);
    const diskOf = (name: string) => (name === 's1' ? filled : undefined);
    const stores = new Map([
      ['s0', home],
      ['s1', target],
    ]);
    const mover = operationsOver(new Members('s0', stores, { diskOf }), clock);
    await assert.rejects(mover.carryOut(operation), NoRoomError);
    assert.deepEqual(await held(each), [keys.length, 0]);
    assert.deepEqual(await each.catalogue.operations(), []);
  });

  for (const last of ['close', 'cancel'] as const) {
    void it(`let the source serve before a silent target is asked, from '${last}' on`, async () => {
      const each = await world();
      const operation = await begunMove(each);
      await dyingBefore('close', each, operation);
      const [source, target] = [each.members.home, each.members.named('s1')];
      const [{ id } = { id: 0 }] = (await each.catalogue.map()).ranges;
      const stateOf = async () =>
        versioned(await source.get(guardKey(id)), decodeGuardRow)?.row.state;
      if (last === 'cancel') await cancelDyingFirst(each, operation);
      assert.equal(await stateOf(), 'fenced');
      const asked = deferred();
      target.get = () => {
        asked.resolve();
        return new Promise(() => undefined);
      };
      // It gives the target up after some seconds, when the test is over.
      each.operations.carryOut(operation).catch(() => undefined);
      await asked.promise;
      assert.equal(await stateOf(), last === 'close' ? 'logging' : 'serving');
    });
  }

  void it('bring large values that are written meanwhile a few at a time', async (t) => {
    const each = await world();
    const operation = await begunMove(each);
    await loggingFrom(each, operation);
    const store = await opened(each.members);
    const large = Buffer.alloc(300_000);
    const written = keys.slice(0, 20);
    for (const key of written) {
      await store.commit({ checks: [], puts: [{ key, value: Buffer.from('small') }], deletes: [] });
      await store.commit({ checks: [], puts: [{ key, value: large }], deletes: [] });
    }
    const [source, target] = each.stores;
    assert.ok(source !== undefined && target !== undefined);
    const asked: number[] = [];
    const brought: number[] = [];
    const getMany = source.getMany.bind(source);
    t.mock.method(source, 'getMany', async (...given: Parameters<typeof getMany>) => {
      const found = await getMany(...given);
      asked.push(bytesOf(found));
      return found;
    });
    const ingest = target.ingest.bind(target);
    t.mock.method(target, 'ingest', (ingestion: Parameters<typeof ingest>[0]) => {
      brought.push(bytesOf(ingestion.entries));
      return ingest(ingestion);
    });
    assert.equal(await each.operations.carryOut(operation), 'done');
    assert.ok(Math.max(...brought) <= 1 << 20, brought.join());
    assert.ok(Math.max(...asked) <= 1 << 20, asked.join());
    assert.equal((await store.get(written[0] ?? prefix))?.value.length, large.length);
  });

  void it('bring what is written until writes wait', async () => {
    const each = await world();
    const operation = await begunMove(each);
    const [source, target] = each.stores;
    assert.ok(source !== undefined && target !== undefined);
    const store = await opened(each.members);
    const [first = prefix, second = prefix] = keys;
    let isLast = false;
    const writing = new Proxy(source, {
      get(member, name) {
        const found: unknown = Reflect.get(member, name, member);
        if (name === 'fence') {
          return async (batch: Parameters<MemberStore['fence']>[0]) => {
            if (isLast) {
              isLast = false;
              const put = { key: first, value: Buffer.from('late') };
              await store.commit({ checks: [], puts: [put], deletes: [second] });
            }
            return member.fence(batch);
          };
        }
        return typeof found === 'function' ? found.bind(member) : found;
      },
    });
    const mover = operationsOver(membersOf([writing, target]), clock, {
      onStep: (step) => (isLast = step === 'fence'),
    });
    assert.equal(await mover.carryOut(operation), 'done');
    const [written, deleted] = await store.getMany([first, second]);
    assert.equal(String(written?.value), 'late');
    assert.equal(deleted, undefined);
    assert.notEqual(await target.get(first), undefined);
  });

  void it('refuse more ranges, operations and stores than there may be', async () => {
    const { members, catalogue } = await world();
    const limits = { rangesMax: 3, operationsMax: 2 };
    const operations = operationsOver(members, clock, { limits });
    const cut = async (name: string) => {
      const at = partitionPrefix('tables', 'account', 1, name);
      return operations.beginSplit((await catalogue.map()).at(at).id, at);
    };
    for (const name of ['b', 'c']) {
      const begun = await cut(name);
      assert.ok(begun.ok);
      await operations.carryOut(begun.operation);
    }
    assert.deepEqual(await cut('d'), { ok: false, refusal: 'too many ranges' });
    const begun = [];
    for (const { id } of (await catalogue.map()).ranges) {
      begun.push(await operations.beginMove(id, 's1'));
    }
    const [, , third] = begun;
    assert.deepEqual(third, { ok: false, refusal: 'too many operations' });
    for (const each of begun) if (each.ok) await operations.carryOut(each.operation);
    const many = { checks: [], deletes: [], puts: [] };
    for (let count = members.names.length; count < storesMax; count += 1) {
      const row = { name: `n${count}`, state: 'active', location: 'here', admission: '' } as const;
      const put = { key: storeRowKey(row.name), value: encodeStoreRow(row) };
      await catalogue.commit({ ...many, puts: [put] });
    }
    const added = addedAs('more', await openMemoryStore({ clock }));
    await assert.rejects(addMember(members, added), /257 stores, and a key space has 256 at most/);
  });

  void it('refuse what cannot begin, and change nothing', async () => {
    const { operations, catalogue } = await world();
    const [range] = (await catalogue.map()).ranges;
    const id = range?.id ?? 0;
    const refusal = async (begun: ReturnType<Operations['beginMove']>) => {
      const result = await begun;
      return result.ok ? 'begun' : result.refusal;
    };
    assert.equal(await refusal(operations.beginMove(99, 's1')), 'no such range');
    assert.equal(await refusal(operations.beginMove(id, 's9')), 'no such store');
    assert.equal(await refusal(operations.beginMove(id, 's0')), 'the range is there already');
    const inside = keys[3] ?? prefix;
    assert.equal(await refusal(operations.beginSplit(id, inside)), 'not a boundary of partitions');
    assert.equal(await refusal(operations.beginMerge(id, id)), 'not neighbours');
    assert.deepEqual(await catalogue.operations(), []);
    assert.equal(await refusal(operations.beginSplit(id, prefix)), 'begun');
    assert.equal(await refusal(operations.beginMove(id, 's1')), 'the range is busy');
  });

  void it('refuse to cut a range where the keys of the stores themselves are', async () => {
    const { operations, catalogue, stores } = await world();
    const [range] = (await catalogue.map()).ranges;
    const own = ['~', '~~', '~/partition', '~/partition/guard', 'ä/x', '#5'];
    for (const place of own) {
      const at = boundOf(place) ?? storeKeys.start;
      const begun = await operations.beginSplit(range?.id ?? 0, at);
      assert.deepEqual(begun, { ok: false, refusal: 'outside of the range' }, place);
    }
    assert.deepEqual(await catalogue.operations(), []);
    const rows = await stores[0]?.range(prefixRange(storeKey('partition', 'guard')), whole);
    assert.equal(rows?.entries.length, 1);
  });
});

void describe('the comparison of the catalogue with the stores', () => {
  void it('tells what the catalogue does not explain, and nothing else', async () => {
    const each = await world();
    const { catalogue, members, operations } = each;
    const operation = await begunMove(each);
    await dyingBefore('catch up', each, operation);
    const [moving] = (await catalogue.map()).ranges;
    assert.ok(moving !== undefined);
    const bounds = { start: moving.start, end: storeKeys.start };
    const notCompared = { kind: 'not compared', store: 's1', range: moving.id, operation };
    assert.deepEqual(await verify({ catalogue, members, clock, timers: systemTimers }), [
      { ...notCompared, ...bounds },
    ]);
    const later = manualClock(clock.nowMicros() + 3_600_000_000);
    assert.deepEqual(await verify({ catalogue, members, clock: later, timers: systemTimers }), [
      { kind: 'abandoned operation', operation },
      { ...notCompared, ...bounds },
    ]);
    await operations.carryOut(operation);
    assert.deepEqual(await verify({ catalogue, members, clock: later, timers: systemTimers }), []);
    const [source, target] = each.stores;
    const [range] = (await catalogue.map()).ranges;
    const id = range?.id ?? 0;
    const guard = await target?.get(guardKey(id));
    await source?.commit({ checks: [], puts: keys.map(putOf), deletes: [] });
    const stray = { key: guardKey(id), value: guard?.value ?? Buffer.alloc(0) };
    await source?.commit({ checks: [], puts: [stray], deletes: [] });
    await target?.commit({ checks: [], puts: [], deletes: [guardKey(id)] });
    const first = Buffer.from(keys[0] ?? []);
    assert.deepEqual(await verify({ catalogue, members, clock: later, timers: systemTimers }), [
      { kind: 'stray guard', range: id, store: 's0', serves: true },
      { kind: 'stray data', range: id, store: 's0', keys: keys.length, first },
      { kind: 'no guard', range: id, store: 's1' },
    ]);
  });
});

void describe('the comparison of the catalogue with stores that are at work', () => {
  interface Work {
    readonly begin: () => Promise<void>;
    readonly end: () => Promise<void>;
  }

  /** What is found when some work on a range begins before a read of a store and ends behind it. */
  async function foundDuring(each: World, at: number, isRead: IsRead, work: Work) {
    let isOver = false;
    const stores = each.stores.map((store, index) => {
      if (index !== at) return store;
      return new Proxy(store, {
        get(member, name) {
          const found: unknown = Reflect.get(member, name, member);
          if (name !== 'range') return typeof found === 'function' ? found.bind(member) : found;
          return async (...[range, options]: Parameters<MemberStore['range']>) => {
            if (isOver || !isRead(range.start)) return member.range(range, options);
            isOver = true;
            await work.begin();
            const page = await member.range(range, options);
            await work.end();
            return page;
          };
        },
      });
    });
    const { catalogue } = each;
    const findings = await verify({
      catalogue,
      members: membersOf(stores),
      clock,
      timers: systemTimers,
    });
    assert.ok(isOver);
    assert.deepEqual(
      await verify({ catalogue, members: each.members, clock, timers: systemTimers }),
      [],
    );
    return findings;
  }

  type IsRead = (start: Uint8Array) => boolean;
  const ofGuards: IsRead = (start) => Buffer.compare(start, guardRows.start) === 0;
  const ofData: IsRead = (start) => Buffer.compare(start, storeKeys.start) < 0;

  /** A move that comes as far as to have copied, and is cancelled. */
  async function cancelledMove(each: World): Promise<Work> {
    let operation = 0;
    return {
      begin: async () => {
        operation = await begunMove(each);
        await dyingBefore('catch up', each, operation);
        const { entries } = (await each.stores[1]?.range({ start: prefix }, whole)) ?? {};
        assert.ok(entries?.some(({ key }) => Buffer.compare(key, storeKeys.start) < 0));
      },
      end: async () => assert.ok(await each.operations.cancel(operation)),
    };
  }

  void it('says nothing of a backup that begins and ends meanwhile', async () => {
    const each = await world();
    const [reached, released] = [deferred(), deferred()];
    const target = watched(await openMemoryStore({ clock }), () => undefined);
    const waiting = new Proxy(target, {
      get(store, name) {
        const found: unknown = Reflect.get(store, name, store);
        if (name !== 'ingest') return found;
        return async (ingestion: Parameters<MemberStore['ingest']>[0]) => {
          reached.resolve();
          await released.promise;
          return store.ingest(ingestion);
        };
      },
    });
    let copied: Promise<void> = Promise.resolve();
    const backup: Work = {
      begin: async () => {
        const [range] = (await each.catalogue.map()).ranges;
        const begun = await each.operations.beginBackup(range?.id ?? 0);
        assert.ok(begun.ok);
        copied = each.operations.backUp(begun.operation, waiting);
        await reached.promise;
      },
      end: async () => {
        released.resolve();
        await copied;
      },
    };
    assert.deepEqual(await foundDuring(each, 0, ofGuards, backup), []);
  });

  void it('says nothing of a move that begins and is cancelled meanwhile', async () => {
    for (const isRead of [ofGuards, ofData]) {
      const each = await world();
      assert.deepEqual(await foundDuring(each, 1, isRead, await cancelledMove(each)), []);
    }
  });

  void it('compares what a range is split into before its turn has come', async () => {
    const each = await world();
    const { operations, catalogue } = each;
    await each.stores[1]?.commit({ checks: [], puts: keys.slice(0, 7).map(putOf), deletes: [] });
    const [range] = (await catalogue.map()).ranges;
    const begun = await operations.beginSplit(range?.id ?? 0, prefix);
    assert.ok(begun.ok);
    let looks = 0;
    const catalogueAt = new Proxy(catalogue, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (name !== 'range') return typeof found === 'function' ? found.bind(target) : found;
        return async (id: number) => {
          looks += 1;
          // At the second store. Its map was read before, and the range of it is gone now.
          if (looks === 2) await operations.carryOut(begun.operation);
          return target.range(id);
        };
      },
    });
    const found = await verify({
      catalogue: catalogueAt,
      members: each.members,
      clock,
      timers: systemTimers,
    });
    const right = (await catalogue.map()).at(prefix);
    const first = Buffer.from(keys[0] ?? []);
    assert.deepEqual(found, [{ kind: 'stray data', range: right.id, store: 's1', keys: 7, first }]);
  });

  void it('says nothing of ranges that come and go meanwhile', async () => {
    const each = await world();
    const { operations, catalogue } = each;
    const done = async (begun: Awaited<ReturnType<Operations['beginMove']>>) => {
      assert.ok(begun.ok);
      await operations.carryOut(begun.operation);
    };
    const cut: Work = {
      begin: async () => {
        const [range] = (await catalogue.map()).ranges;
        await done(await operations.beginSplit(range?.id ?? 0, prefix));
      },
      end: async () => {
        const [left, right] = (await catalogue.map()).ranges;
        await done(await operations.beginMerge(left?.id ?? 0, right?.id ?? 0));
      },
    };
    assert.deepEqual(await foundDuring(each, 0, ofGuards, cut), []);
  });
});

void describe('a repair', () => {
  void it('deletes what nobody reads, and nothing else', async () => {
    const each = await world();
    const { catalogue, members, operations, stores } = each;
    const [source, target] = stores;
    assert.ok(source !== undefined && target !== undefined);
    const [range] = (await catalogue.map()).ranges;
    const id = range?.id ?? 0;
    await target.commit({ checks: [], puts: keys.slice(0, 7).map(putOf), deletes: [] });
    const dead = { state: 'moved', epoch: 1, operation: 0, token: 0 } as const;
    const left = { key: guardKey(99), value: encodeGuardRow(dead) };
    await target.commit({ checks: [], puts: [left], deletes: [] });
    const found = await verify({ catalogue, members, clock, timers: systemTimers });
    assert.deepEqual(
      found.map(({ kind }) => kind),
      ['stray guard', 'stray data'],
    );
    const operationRunner = {
      operationsWith: (own: Partial<OperationTools>) => operationsOver(members, clock, own),
    };
    const tools = { members, operationRunner, timers: systemTimers };
    const ends = await repair(tools, found);
    assert.deepEqual(
      ends.map(({ kind }) => kind),
      ['repaired', 'repaired'],
    );
    assert.deepEqual(await verify({ catalogue, members, clock, timers: systemTimers }), []);
    assert.deepEqual(await held(each), [keys.length, 0]);
    // A store that serves the range too may have writes of somebody.
    await target.commit({ checks: [], puts: keys.slice(0, 7).map(putOf), deletes: [] });
    const guard = await source.get(guardKey(id));
    const twice = { key: guardKey(id), value: guard?.value ?? Buffer.alloc(0) };
    await target.commit({ checks: [], puts: [twice], deletes: [] });
    const refused = await repair(
      tools,
      await verify({ catalogue, members, clock, timers: systemTimers }),
    );
    assert.deepEqual(
      refused.map((end) => (end.kind === 'left' ? end.why : end.kind)),
      ['served twice', 'served twice'],
    );
    assert.deepEqual(await held(each), [keys.length, 7]);
    const begun = await operations.beginDiscard(id, 's1');
    assert.ok(begun.ok);
    await assert.rejects(operations.carryOut(begun.operation), ServedTwiceError);
    assert.deepEqual(await held(each), [keys.length, 7]);
    assert.deepEqual(await catalogue.operations(), []);
  });

  void it('of a process that dies is carried on, and deletes nothing that moved there', async () => {
    for (let at = 1; ; at += 2 * stride) {
      const each = await world();
      const { catalogue, operations, stores, members } = each;
      const [range] = (await catalogue.map()).ranges;
      const id = range?.id ?? 0;
      await stores[1]?.commit({ checks: [], puts: keys.slice(0, 7).map(putOf), deletes: [] });
      const begun = await operations.beginDiscard(id, 's1');
      assert.ok(begun.ok);
      const isDead = await dyingAt(each, begun.operation, at);
      await operations.carryOut(begun.operation);
      assert.deepEqual(await held(each), [keys.length, 0]);
      const move = await operations.beginMove(id, 's1');
      assert.ok(move.ok);
      await operations.carryOut(move.operation);
      assert.deepEqual(await verify({ catalogue, members, clock, timers: systemTimers }), []);
      assert.deepEqual(await operations.beginDiscard(id, 's1'), {
        ok: false,
        refusal: 'the store has the range',
      });
      assert.deepEqual(await held(each), [0, keys.length]);
      if (!isDead) break;
    }
  });

  void it('tells of versions that a store has forgotten', async () => {
    const { catalogue, members } = await world();
    const lastVersionOf = () => Promise.resolve(5);
    const [found, ...more] = await verify({
      catalogue,
      members,
      clock,
      timers: systemTimers,
      lastVersionOf,
    });
    assert.deepEqual(more, []);
    assert.equal(found?.kind === 'version ahead' && found.last, 5);
  });
});

void describe('a store made of stores', () => {
  void it('serves without the catalogue while it knows where ranges are', async () => {
    const { stores } = await world();
    const [home] = stores;
    assert.ok(home !== undefined);
    let isDown = false;
    const catalogueDown = new Proxy(home, {
      get(store, name) {
        const found: unknown = Reflect.get(store, name, store);
        if (name === 'get') {
          return (key: Buffer, options?: object) => {
            const isRow = options === undefined && Buffer.compare(key, storeKeys.start) > 0;
            if (isDown && isRow) throw new StoreUnavailableError('down');
            return store.get(key, options);
          };
        }
        return typeof found === 'function' ? found.bind(store) : found;
      },
    });
    const store = await opened(membersOf([catalogueDown, ...stores.slice(1)]));
    await store.get(prefix);
    isDown = true;
    await store.commit({ checks: [], puts: [putOf(prefix)], deletes: [] });
    assert.notEqual(await store.get(prefix), undefined);
  });

  void it('says that a range is unavailable when it does not serve for 10 seconds', async () => {
    const each = await world();
    const operation = await begunMove(each);
    const time = manualClock();
    const passing: Timers = {
      start: (delayMs, callback, argument) => {
        time.advanceMicros(delayMs * 1000);
        return holdingTimers.start(0, callback, argument);
      },
    };
    const store = await opened(each.members, passing, time);
    await closed(each, operation);
    await assert.rejects(store.get(prefix), StoreUnavailableError);
    await each.operations.carryOut(operation);
    assert.equal(await store.get(prefix), undefined);
    assert.deepEqual(await held(each), [0, keys.length]);
  });

  void it('notices the end of a pause when a quarter more than it has passed', async () => {
    for (const pauseMs of [20, 160, 400]) {
      const each = await world();
      const operation = await begunMove(each);
      await closed(each, operation);
      const time = manualClock();
      const beganMs = time.monotonicMs();
      let carried: Promise<unknown> | undefined;
      const passing: Timers = {
        start: (delayMs, callback, argument) => {
          time.advanceMicros(delayMs * 1000);
          const isOver = time.monotonicMs() - beganMs >= pauseMs;
          if (isOver) carried ??= each.operations.carryOut(operation);
          void calledAfter(carried, () => callback(argument));
          return { close: () => undefined };
        },
      };
      // The longest delays.
      const randomness = {
        ...systemRandomness,
        bytes: (count: number) => Buffer.alloc(count, 255),
      };
      const { members } = each;
      const store = await openPartitionedStore({
        members,
        clock: time,
        timers: passing,
        randomness,
      });
      assert.equal(await store.get(prefix), undefined);
      const tookMs = time.monotonicMs() - beganMs;
      assert.ok(tookMs >= pauseMs && tookMs <= pauseMs * 1.25 + 5, `${tookMs} ms for ${pauseMs}`);
    }
  });

  void it('keeps its own rows out of what callers see', async () => {
    const each = await world();
    const store = await opened(each.members);
    const own = storeKey('mine');
    await store.commit({ checks: [], puts: [putOf(own)], deletes: [] });
    for (const reverse of [false, true]) {
      const page = await store.range(prefixRange(storeKeys.start.subarray(0, 2)), {
        ...whole,
        reverse,
      });
      assert.deepEqual(
        page.entries.map(({ key }) => Buffer.compare(key, own)),
        [0],
      );
    }
  });
});
