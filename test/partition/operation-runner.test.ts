import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { deferred } from '../../src/base/async/deferred.js';
import { holdingTimers } from '../../src/base/async/timers.js';
import { compareBytes } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import {
  GuardError,
  StoreDamagedError,
  StoreUnavailableError,
  StoreWriteError,
} from '../../src/kv/errors.js';
import type { Ingestion } from '../../src/kv/ingestion.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import type { CommitBatch } from '../../src/kv/store.js';
import { appendString } from '../../src/kv/tuple.js';
import { addMember } from '../../src/partition/admission.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { guardKey } from '../../src/partition/keys.js';
import { Members, StoreNotOpenError } from '../../src/partition/members.js';
import { changeStore, removeMember } from '../../src/partition/membership.js';
import { removeLostStore } from '../../src/partition/operations/lost-store.js';
import { OperationRunner } from '../../src/partition/operations/operation-runner.js';
import {
  StoreLocationMismatchError,
  MoveMismatchError,
} from '../../src/partition/operations/tools.js';
import { decodeGuardRow, type MoveStep } from '../../src/partition/rows.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { manualTimers, type ManualTimers } from '../support/manual-timers.js';
import { addedAs, admitted, leaving, membersOf, operationsOver } from './composed-stores.js';

// Waiting for the work of an operation that has no end never ends.
const hangs = { timeout: 20_000 };

async function world(onError: (error: unknown) => void = (error) => assert.fail(String(error))) {
  const clock = manualClock();
  const stores: ReturnType<typeof leaving>[] = [];
  for (let count = 0; count < 3; count += 1) {
    stores.push(leaving(await openMemoryStore({ clock })));
  }
  const members = await admitted(membersOf(stores.map(({ store }) => store)));
  const given = { members, clock, timers: holdingTimers, randomness: systemRandomness };
  const store = await openPartitionedStore(given);
  const catalogue = new Catalogue(members.home);
  const onFailed = (_: number, error: unknown) => onError(error);
  const operationRunner = new OperationRunner({ ...given, catalogue, onFailed });
  const begin = async (target: string, range?: number) => {
    const [first] = (await catalogue.map()).ranges;
    const id = range ?? first?.id ?? 0;
    const begun = await operationRunner.operations.beginMove(id, target);
    assert.ok(begun.ok);
    operationRunner.run(begun.operation);
    await operationRunner.idle();
  };
  const storeOf = async () => (await catalogue.map()).ranges[0]?.store;
  return { stores, store, catalogue, members, clock, operationRunner, begin, storeOf };
}

/** A move that its process has begun and left. */
async function leftMove() {
  const { store, catalogue, members, clock, storeOf } = await world();
  const [range] = (await catalogue.map()).ranges;
  assert.ok(range !== undefined);
  assert.ok((await operationsOver(members, clock).beginMove(range.id, 's1')).ok);
  const onFailed = (_: number, error: unknown) => assert.fail(String(error));
  const timers = manualTimers();
  const runnerOf = (isAlone: boolean) =>
    new OperationRunner({ catalogue, members, clock, timers, onFailed, isAlone });
  return { store, catalogue, clock, timers, runnerOf, storeOf };
}

/** Resolves when the runner waits for its next look. */
async function looked(timers: ManualTimers, times: number): Promise<void> {
  while (timers.delays.length < times) await pause(1);
}

void describe('an operation that its process has left', () => {
  void it('is taken over when its lease ends, and not before', async () => {
    const { store, catalogue, clock, timers, runnerOf, storeOf } = await leftMove();
    const runner = runnerOf(false);
    clock.advanceMicros(6_000_000);
    runner.start();
    await looked(timers, 1);
    assert.deepEqual(timers.delays, [4_000]);
    assert.equal((await catalogue.operations()).length, 1);
    clock.advanceMicros(4_000_000);
    timers.fire();
    await looked(timers, 2);
    await runner.idle();
    assert.equal(await storeOf(), 's1');
    assert.deepEqual(await catalogue.operations(), []);
    await runner.stop();
    await store.close();
  });

  void it('is taken over at the start of a process that is alone with its catalogue', async () => {
    const { store, catalogue, timers, runnerOf, storeOf } = await leftMove();
    const runner = runnerOf(true);
    runner.start();
    await looked(timers, 1);
    await runner.idle();
    assert.equal(await storeOf(), 's1');
    assert.deepEqual(await catalogue.operations(), []);
    await runner.stop();
    await store.close();
  });
});

void describe('an operation of a store that a process has not opened', () => {
  /**
   * A move to `s1` that is left at a step, and a runner of a process without `s1`, or with another
   * place by that name.
   */
  async function leftAt(left: MoveStep, other?: MemberStore) {
    const { store, catalogue, members, clock, storeOf } = await world();
    const { id = 0 } = (await catalogue.map()).ranges[0] ?? {};
    const died = new Error('died');
    const diesAt = (last: MoveStep) =>
      operationsOver(members, clock, {
        onStep: (step) => {
          if (step === last) throw died;
        },
      });
    const begun = await diesAt(left).beginMove(id, 's1');
    assert.ok(begun.ok);
    const { operation } = begun;
    const takeOver = (last: MoveStep) => assert.rejects(diesAt(last).carryOut(operation), died);
    await takeOver(left);
    const opened = ['s0', 's2'].map((name) => [name, members.named(name)] as const);
    const less = new Members('s0', new Map(opened));
    if (other !== undefined) less.add('s1', other);
    const told: unknown[] = [];
    const onFailed = (_: number, error: unknown) => void told.push(error);
    const timers = holdingTimers;
    const given = { catalogue, members: less, clock, timers, onFailed };
    const runner = new OperationRunner(given);
    const look = async (seconds: number) => {
      clock.advanceMicros(seconds * 1_000_000);
      await runner.tend();
      await runner.idle();
    };
    const token = async () => (await catalogue.operation(operation))?.row.token;
    const guard = async () => {
      const entry = await members.home.get(guardKey(id));
      assert.ok(entry !== undefined);
      return decodeGuardRow(entry.value).state;
    };
    const carryOut = () => operationsOver(members, clock).carryOut(operation);
    const over = { store, storeOf, members, catalogue, operation };
    return { ...over, runner, told, look, token, guard, carryOut, takeOver };
  }

  void it('is not taken over there, and says why, less and less often', async () => {
    const { store, storeOf, runner, operation, told, look, token, carryOut } =
      await leftAt('catch up');
    const before = await token();
    await look(11);
    assert.equal(told.length, 1);
    assert.match(
      String(runner.failure(operation)),
      /not opened the store 's1'.*store add s1 LOCATION/,
    );
    for (let looks = 0; looks < 60; looks += 1) await look(5);
    assert.ok(told.length >= 5 && told.length <= 10, String(told.length));
    assert.equal(await token(), before);
    runner.retryNow();
    const tries = told.length;
    await look(0);
    assert.equal(told.length, tries + 1);
    assert.equal(await carryOut(), 'done');
    assert.equal(await storeOf(), 's1');
    await store.close();
  });

  void it('has no failure there while another process carries it on', async () => {
    const { store, runner, operation, look, takeOver } = await leftAt('catch up');
    await look(11);
    assert.notEqual(runner.failure(operation), undefined);
    await takeOver('catch up');
    await look(0);
    assert.equal(runner.failure(operation), undefined);
    await store.close();
  });

  void it('is not cancelled there when another process carries it on after a store came', async () => {
    const clock = manualClock();
    const left = await leftAt('catch up', await openMemoryStore({ clock }));
    const { store, catalogue, runner, operation, look, token, takeOver } = left;
    await look(11);
    assert.ok(runner.failure(operation) instanceof StoreLocationMismatchError);
    runner.retryNow();
    assert.equal(runner.failure(operation), undefined);
    await takeOver('catch up');
    const taken = await token();
    await changeStore(catalogue, 's0', 'draining');
    await look(0);
    assert.equal(await token(), taken);
    await store.close();
  });

  void it('is not taken over there where its source changes while that is looked at', async () => {
    const { store, members, look, token, told, runner, operation } = await leftAt('catch up');
    const before = await token();
    members.home.sample = () => Promise.reject(new GuardError(7));
    await look(11);
    assert.equal(await token(), before);
    assert.ok(runner.failure(operation) instanceof StoreNotOpenError, String(told));
    await store.close();
  });

  void it('is taken over there once, when its source waits for the end of a pause', async () => {
    const { store, look, token, guard, carryOut, told } = await leftAt('close');
    const before = await token();
    assert.equal(await guard(), 'fenced');
    await look(11);
    assert.equal(await guard(), 'logging');
    assert.equal(await token(), (before ?? 0) + 1);
    const put = { key: partitionPrefix('table', 'account', 1, 'p'), value: Buffer.from('value') };
    assert.ok((await store.commit({ checks: [], puts: [put], deletes: [] })).ok);
    for (let looks = 0; looks < 12; looks += 1) await look(5);
    assert.equal(await token(), (before ?? 0) + 1);
    assert.ok(told.length > 1);
    assert.equal(await carryOut(), 'done');
    await store.close();
  });
});

void describe('an operation that has ended', () => {
  void it('has an end as soon as the catalogue has it no more', async (t) => {
    const { store, catalogue, members, operationRunner } = await world();
    const commit = members.home.commit.bind(members.home);
    // Others see a commit before its own process knows of it.
    t.mock.method(members.home, 'commit', async (batch: CommitBatch) => {
      const result = await commit(batch);
      for (let turns = 0; turns < 5; turns += 1) await turn();
      return result;
    });
    const [range] = (await catalogue.map()).ranges;
    assert.ok(range !== undefined);
    const begun = await operationRunner.operations.beginMove(range.id, 's1');
    assert.ok(begun.ok);
    operationRunner.run(begun.operation);
    while ((await catalogue.operation(begun.operation)) !== undefined) await turn();
    const end = await operationRunner.ended(begun.operation);
    assert.deepEqual(end, { state: 'done' });
    await store.close();
  });

  /** A move in a process to which failures are told. */
  async function failingMove() {
    const { stores, store, catalogue, members, clock } = await world();
    const put = { key: partitionPrefix('table', 'account', 1, 'p'), value: Buffer.from('value') };
    await store.commit({ checks: [], puts: [put], deletes: [] });
    const told: unknown[] = [];
    const onFailed = (_: number, error: unknown) => void told.push(error);
    const given = { catalogue, members, clock, timers: holdingTimers, onFailed };
    const runner = new OperationRunner(given);
    const [range] = (await catalogue.map()).ranges;
    const begun = await runner.operations.beginMove(range?.id ?? 0, 's1');
    assert.ok(begun.ok);
    const { operation } = begun;
    const run = async () => {
      runner.run(operation);
      await runner.idle();
    };
    return { stores, store, catalogue, members, clock, runner, operation, run, told };
  }

  void it('has not failed where another process has ended what failed here', async () => {
    const { stores, store, catalogue, members, clock, runner, operation, run, told } =
      await failingMove();
    const target = stores[1]?.state;
    assert.ok(target !== undefined);
    target.isAway = true;
    await run();
    assert.equal(told.length, 1);
    assert.notEqual(await catalogue.operation(operation), undefined);
    assert.equal(runner.end(operation), undefined);
    assert.ok(runner.failure(operation) instanceof StoreUnavailableError);
    target.isAway = false;
    assert.equal(await operationsOver(members, clock).carryOut(operation), 'done');
    assert.deepEqual(await runner.ended(operation), { state: 'done' });
    // Also when this process looks for it once more.
    await run();
    assert.deepEqual(await runner.ended(operation), { state: 'done' });
    await store.close();
  });

  void it('is cancelled where another process has cancelled what failed here', async () => {
    const { stores, store, members, clock, runner, operation, run } = await failingMove();
    const target = stores[1]?.state;
    assert.ok(target !== undefined);
    target.isAway = true;
    await run();
    target.isAway = false;
    assert.ok(await operationsOver(members, clock).cancel(operation));
    assert.deepEqual(await runner.ended(operation), { state: 'cancelled' });
    await store.close();
  });

  void it('is done where this process goes on with what failed before', async () => {
    const { stores, store, runner, operation, run } = await failingMove();
    const target = stores[1]?.state;
    assert.ok(target !== undefined);
    target.isAway = true;
    await run();
    target.isAway = false;
    await run();
    assert.deepEqual(await runner.ended(operation), { state: 'done' });
    assert.equal(runner.failure(operation), undefined);
    await store.close();
  });

  void it(
    'is told, and not waited for, where its work waits for a lost store',
    hangs,
    async (t) => {
      const { store, catalogue, members, clock, operation } = await failingMove();
      const timers = manualTimers();
      const onFailed = (_: number, error: unknown) => assert.fail(String(error));
      const runner = new OperationRunner({ catalogue, members, clock, timers, onFailed });
      const { promise: isReached, resolve: reached } = deferred();
      t.mock.method(members.named('s1'), 'fence', () => {
        reached();
        return new Promise(() => undefined);
      });
      const state = { isOver: false };
      const carriedOut = runner.carriedOut.carryOut(operation);
      await isReached;
      const operations = operationsOver(members, clock);
      assert.ok(await removeLostStore({ catalogue, operations, timers: holdingTimers }, 's1'));
      const ends = Promise.all([runner.ended(operation), carriedOut]).finally(() => {
        state.isOver = true;
      });
      while (!state.isOver && !t.signal.aborted) {
        timers.fire();
        await turn();
      }
      assert.ok(state.isOver, 'it still waits');
      assert.deepEqual(await ends, [{ state: 'cancelled' }, 'cancelled']);
      await store.close();
    },
  );

  void it('has failed where this process has given it up', async (t) => {
    const { store, catalogue, members, runner, operation, run, told } = await failingMove();
    const target = members.named('s1');
    const ingest = target.ingest.bind(target);
    t.mock.method(target, 'ingest', (ingestion: Ingestion) =>
      ingest({ ...ingestion, entries: ingestion.entries.slice(1) }),
    );
    await run();
    assert.equal(await catalogue.operation(operation), undefined);
    const end = await runner.ended(operation);
    assert.ok(end?.state === 'failed' && end.error instanceof MoveMismatchError);
    assert.deepEqual(told, [end.error]);
    await run();
    assert.equal((await runner.ended(operation))?.state, 'failed');
    await store.close();
  });
});

void describe('a store that drains', () => {
  void it('gives no range to a store that does not answer', async () => {
    const { stores, store, catalogue, operationRunner, storeOf } = await world();
    // s1 and s2 have no range; s1 would be the first.
    const first = stores[1]?.state;
    assert.ok(first !== undefined);
    first.isAway = true;
    await changeStore(catalogue, 's0', 'draining');
    await operationRunner.tend();
    await operationRunner.idle();
    assert.equal(await storeOf(), 's2');
    first.isAway = false;
    await store.close();
  });

  void it('names a store that is at another location here, and gives its ranges to others', async () => {
    const { store, catalogue, members, clock, operationRunner, begin } = await world();
    const at = partitionPrefix('tables', 'account', 1, 'm');
    const { id } = (await catalogue.map()).at(at);
    const split = await operationRunner.operations.beginSplit(id, at);
    assert.ok(split.ok);
    operationRunner.run(split.operation);
    await operationRunner.idle();
    const range = (await catalogue.map()).at(at).id;
    await begin('s1', range);
    // Another process takes s2 out, and an empty place in by that name. It would be the first.
    assert.ok(await removeMember(members, 's2', holdingTimers));
    const elsewhere = membersOf([members.named('s0'), members.named('s1')]);
    const empty = await openMemoryStore({ clock });
    await addMember(elsewhere, addedAs('s2', empty));
    await changeStore(catalogue, 's1', 'draining');
    await operationRunner.tend();
    const refused = { kind: 'refused', range, target: 's2', refusal: 'location mismatch' };
    assert.deepEqual(operationRunner.drainProblem('s1'), refused);
    await operationRunner.idle();
    assert.equal((await catalogue.map()).at(at).store, 's0');
    await operationRunner.tend();
    assert.equal(operationRunner.drainProblem('s1'), undefined, 'its last range has left it');
    // It does not drain any more, and another one does.
    await changeStore(catalogue, 's1', 'active');
    await begin('s1', range);
    await changeStore(catalogue, 's1', 'draining');
    await operationRunner.tend();
    assert.deepEqual(operationRunner.drainProblem('s1'), refused);
    await operationRunner.idle();
    await changeStore(catalogue, 's1', 'active');
    await changeStore(catalogue, 's2', 'draining');
    await operationRunner.tend();
    assert.equal(operationRunner.drainProblem('s1'), undefined);
    await store.close();
  });

  void it('empties the rest of it when a range cannot be copied', async (t) => {
    const failures: string[] = [];
    const { members, store, catalogue, clock, operationRunner, begin } = await world((error) =>
      failures.push(String(error)),
    );
    for (const name of ['h', 'd']) {
      const at = partitionPrefix('tables', 'account', 1, name);
      const key = appendString(at, 'row');
      await store.commit({ checks: [], puts: [{ key, value: at }], deletes: [] });
      if (name === 'd') continue;
      const { id } = (await catalogue.map()).at(at);
      const begun = await operationRunner.operations.beginSplit(id, at);
      assert.ok(begun.ok);
      operationRunner.run(begun.operation);
      await operationRunner.idle();
    }
    const ranges = async () => (await catalogue.map()).ranges.map((each) => each.store);
    const [damaged, whole] = (await catalogue.map()).ranges;
    assert.ok(damaged !== undefined && whole !== undefined);
    await begin('s1', damaged.id);
    await begin('s1', whole.id);
    assert.deepEqual(await ranges(), ['s1', 's1']);
    const source = members.named('s1');
    const read = source.range.bind(source);
    const broken = t.mock.method(source, 'range', (...[part, options]: Parameters<typeof read>) => {
      const isCopied = options.filter === undefined && options.limit > 1;
      return isCopied && compareBytes(part.start, whole.start) < 0
        ? Promise.reject(new StoreDamagedError('A record is damaged.'))
        : read(part, options);
    });
    await changeStore(catalogue, 's1', 'draining');
    const looks = async (times: number) => {
      for (let count = 0; count < times; count += 1) {
        await operationRunner.tend();
        await operationRunner.idle();
      }
    };
    await looks(4);
    assert.equal((await ranges())[0], 's1');
    assert.notEqual((await ranges())[1], 's1');
    assert.deepEqual(await catalogue.operations(), []);
    // It rests before it is tried again.
    assert.equal(failures.length, 1);
    const problem = operationRunner.drainProblem('s1');
    assert.ok(problem?.kind === 'failed', problem?.kind);
    assert.equal(problem.range, damaged.id);
    assert.match(String(problem.error), /damaged/);
    clock.advanceMicros(61_000_000);
    await looks(1);
    assert.equal(failures.length, 2);
    broken.mock.restore();
    clock.advanceMicros(61_000_000);
    await looks(2);
    assert.ok(!(await ranges()).includes('s1'));
    assert.equal(operationRunner.drainProblem('s1'), undefined);
    await store.close();
  });

  void it('sends nothing more to a store that takes no data, and waits for no undoing', async (t) => {
    const failures: unknown[] = [];
    const { members, store, catalogue, operationRunner, begin } = await world((error) =>
      failures.push(error),
    );
    const at = partitionPrefix('tables', 'account', 1, 'm');
    const { id } = (await catalogue.map()).at(at);
    const split = await operationRunner.operations.beginSplit(id, at);
    assert.ok(split.ok);
    operationRunner.run(split.operation);
    await operationRunner.idle();
    for (const range of (await catalogue.map()).ranges) await begin('s1', range.id);
    const target = members.named('s0');
    const { promise: blocked, resolve: unblock } = deferred();
    const ingest = target.ingest.bind(target);
    // It refuses what is brought to it, and deletes it later at best.
    const refusing = t.mock.method(target, 'ingest', async () => {
      if (failures.length > 0) await blocked;
      throw new StoreWriteError('The disk is full.');
    });
    await changeStore(catalogue, 's1', 'draining');
    await operationRunner.tend();
    await operationRunner.idle();
    assert.match(String(failures[0]), /disk is full/);
    // The undoing begins, and the other range goes elsewhere meanwhile.
    await operationRunner.tend();
    const stores = async () => (await catalogue.map()).ranges.map((each) => each.store);
    for (let turns = 0; turns < 1_000 && !(await stores()).includes('s2'); turns += 1) await turn();
    assert.deepEqual((await stores()).toSorted(), ['s1', 's2']);
    await operationRunner.stop();
    refusing.mock.mockImplementation(ingest);
    unblock();
    await operationRunner.idle();
    await store.close();
  });

  void it('begins no move while it does not answer itself', async () => {
    const { stores, store, catalogue, operationRunner, begin, storeOf } = await world();
    await begin('s1');
    const away = stores[1]?.state;
    assert.ok(away !== undefined);
    away.isAway = true;
    await changeStore(catalogue, 's1', 'draining');
    await operationRunner.tend();
    assert.deepEqual(await catalogue.operations(), []);
    away.isAway = false;
    await operationRunner.tend();
    await operationRunner.idle();
    assert.notEqual(await storeOf(), 's1');
    await store.close();
  });
});
