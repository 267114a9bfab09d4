import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { holdingTimers, systemTimers } from '../../src/base/async/timers.js';
import { equalBytes } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import type { CommitBatch } from '../../src/kv/store.js';
import { appendString } from '../../src/kv/tuple.js';
import { addMember, admitMembers } from '../../src/partition/admission.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { guardKey, memberKey, operationKey, rangeKey } from '../../src/partition/keys.js';
import type { Members } from '../../src/partition/members.js';
import { markLost, MembershipError } from '../../src/partition/membership.js';
import { removeLostStore } from '../../src/partition/operations/lost-store.js';
import {
  StoreLocationMismatchError,
  TakenOverError,
} from '../../src/partition/operations/tools.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { verify } from '../../src/partition/verify.js';
import { hurried } from '../support/manual-timers.js';
import { addedAs, admitted, leaving, membersOf, operationsOver } from './composed-stores.js';

const clock = manualClock();
const at = partitionPrefix('table', 'account', 1, 'm');
const keys = ['a', 'x'].map((name) =>
  appendString(partitionPrefix('table', 'account', 1, name), 'row'),
);

// A removal that waits for the lost store never ends.
const hangs = { timeout: 20_000 };

class Died extends Error {}

/** Three stores, of which the second can be lost, and one range with data. */
async function world(from: 's0' | 's1' = 's0') {
  const memory = [];
  for (let count = 0; count < 3; count += 1) memory.push(await openMemoryStore({ clock }));
  const [home, second, third] = memory;
  assert.ok(home !== undefined && second !== undefined && third !== undefined);
  const { store: leaver, state } = leaving(second);
  const members = await admitted(membersOf([home, leaver, third]));
  const puts = keys.map((key) => ({ key, value: Buffer.from('value') }));
  await home.commit({ checks: [], puts, deletes: [] });
  const catalogue = new Catalogue(home);
  const operations = operationsOver(members, clock);
  const [{ id: range } = { id: 0 }] = (await catalogue.map()).ranges;
  const begun = async (target: string): Promise<number> => {
    const answer = await operations.beginMove(range, target);
    assert.ok(answer.ok);
    return answer.operation;
  };
  if (from === 's1') await operations.carryOut(await begun('s1'));
  return {
    home,
    second,
    members,
    state,
    catalogue,
    operations,
    range,
    begun,
    remove: () => removeLostStore({ catalogue, operations, timers: holdingTimers }, 's1'),
    /** A move whose process dies at a step, before its store goes away. */
    async leftAt(last: MoveStep, target: string): Promise<number> {
      const operation = await begun(target);
      const onStep = (step: MoveStep) => {
        if (step === last) throw new Died();
      };
      await assert.rejects(operationsOver(members, clock, { onStep }).carryOut(operation), Died);
      state.isAway = true;
      return operation;
    },
    storeOf: async (key: Uint8Array) => (await catalogue.map()).at(key).store,
    findings: () => verify({ catalogue, members, clock, timers: systemTimers }),
  };
}

type World = Awaited<ReturnType<typeof world>>;

async function namesOf({ catalogue }: World): Promise<readonly string[]> {
  return (await catalogue.stores()).map(({ row }) => row.name);
}

function lostBefore(error: unknown): true {
  assert.ok(error instanceof MembershipError, String(error));
  assert.match(error.message, /^The store 's1', which was at s1, was taken out as lost/);
  return true;
}

/** The members without the one that is lost, as a server has them that is started without it. */
function without({ members }: World): Promise<Members> {
  const left = membersOf([members.home]);
  left.add('s2', members.named('s2'));
  return admitted(left);
}

void describe('a store that is lost for good', () => {
  void it('no longer keeps the range of a cancelled move, and is never taken in again', async () => {
    const each = await world();
    const { catalogue, operations, members, range } = each;
    const operation = await each.leftAt('catch up', 's1');
    assert.ok(await operations.cancel(operation));
    const busy = { ok: false, refusal: 'the range is busy' };
    assert.deepEqual(await operations.beginSplit(range, at), busy);
    assert.ok(await each.remove());
    assert.deepEqual(await catalogue.operations(), []);
    assert.deepEqual(await namesOf(each), ['s0', 's2']);
    assert.ok(await each.remove(), 'it may be repeated');
    // It comes back, with the guard and the copy that were not deleted.
    each.state.isAway = false;
    assert.notEqual(await each.second.get(guardKey(range)), undefined);
    assert.notEqual(await each.second.get(keys[0] ?? at), undefined);
    const gone = { ok: false, refusal: 'no such store' };
    assert.deepEqual(await operations.beginMove(range, 's1'), gone);
    await assert.rejects(admitted(members), lostBefore);
    const empty = await openMemoryStore({ clock });
    await assert.rejects(admitted(membersOf([each.home, empty, members.named('s2')])), lostBefore);
    for (const store of [members.named('s1'), empty]) {
      await assert.rejects(addMember(members, addedAs('s1', store)), lostBefore);
    }
    assert.equal(await empty.get(memberKey), undefined, 'nothing was written');
    assert.deepEqual(await namesOf(each), ['s0', 's2']);
    const left = operationsOver(await without(each), clock);
    const split = await left.beginSplit(range, at);
    assert.ok(split.ok);
    await left.carryOut(split.operation);
    const moved = await left.beginMove((await catalogue.map()).at(at).id, 's2');
    assert.ok(moved.ok);
    assert.equal(await left.carryOut(moved.operation), 'done');
    assert.equal(await each.storeOf(at), 's2');
    assert.deepEqual(await each.findings(), []);
  });

  void it('gets no range of a move that is about to switch', async (t) => {
    const each = await world();
    const operation = await each.begun('s1');
    const mover = operationsOver(each.members, clock, {
      onStep: (step) => {
        if (step === 'close') lostBeforeSwitch(t, each);
      },
    });
    await assert.rejects(mover.carryOut(operation), TakenOverError);
    assert.deepEqual(await each.catalogue.operations(), []);
    assert.equal(await each.storeOf(at), 's0');
    const guards = await each.home.get(guardKey(each.range));
    assert.match(String(guards?.value), /serving/);
    assert.deepEqual(await each.findings(), []);
  });

  void it('is not taken out while it has a range', async () => {
    const each = await world('s1');
    each.state.isAway = true;
    assert.equal(await each.remove(), false);
    each.state.isAway = false;
    assert.deepEqual(await namesOf(each), ['s0', 's1', 's2']);
    const operation = await each.leftAt('activate', 's0');
    assert.ok(await each.remove(), 'its range is in another store since the switch');
    assert.equal(await each.catalogue.operation(operation), undefined);
    assert.equal(await each.storeOf(at), 's0');
    assert.match(String((await each.home.get(guardKey(each.range)))?.value), /serving/);
  });

  void it('leaves nothing to clean of a move from there', async () => {
    const each = await world('s1');
    await each.leftAt('clean', 's0');
    const busy = { ok: false, refusal: 'the range is busy' };
    assert.deepEqual(await each.operations.beginSplit(each.range, at), busy);
    assert.ok(await each.remove());
    assert.deepEqual(await each.catalogue.operations(), []);
    assert.ok((await each.operations.beginSplit(each.range, at)).ok);
  });

  void it('is taken out to the end by a process that never had it, after the first one died', async () => {
    const each = await world();
    const operation = await each.leftAt('copy', 's1');
    assert.equal(await markLost(each.catalogue, 's1'), false);
    assert.ok(await each.operations.cancel(operation));
    assert.ok(await markLost(each.catalogue, 's1'));
    const left = operationsOver(await without(each), clock);
    assert.equal(await left.carryOut(operation), 'cancelled');
    assert.deepEqual(await each.catalogue.operations(), []);
  });

  void it('is taken out beside another one that is lost as well', async () => {
    const { members, catalogue } = await world();
    const opening = { locationOf: String, randomness: systemRandomness };
    const left = () => membersOf([members.home]);
    const one = admitMembers(left(), { ...opening, without: ['s1'] });
    await assert.rejects(one, /'s2'.* is not among those that were named.*name all that are lost/);
    const opened = left();
    await admitMembers(opened, { ...opening, without: ['s1', 's2'] });
    const operations = operationsOver(opened, clock);
    for (const name of ['s1', 's2']) {
      assert.ok(await removeLostStore({ catalogue, operations, timers: holdingTimers }, name));
    }
    await admitted(left());
    assert.deepEqual(
      (await catalogue.stores()).map(({ row }) => row.name),
      ['s0'],
    );
  });

  void it('is not taken in by a start that has checked it just before', async (t) => {
    const each = await world();
    const { members, catalogue } = each;
    const store = members.named('s1');
    const read = store.get.bind(store);
    let looks = 0;
    t.mock.method(store, 'get', async (...given: Parameters<typeof read>) => {
      looks += 1;
      // Its row as a member is found right, and the catalogue is written next.
      if (looks === 2) await markLost(catalogue, 's1');
      return read(...given);
    });
    await assert.rejects(admitted(members), lostBefore);
    assert.deepEqual(await namesOf(each), ['s0', 's2']);
  });

  void it('is not asked, where it is open, to end what is left of it', async (t) => {
    const each = await world();
    const operation = await each.leftAt('catch up', 's1');
    assert.ok(await each.operations.cancel(operation));
    each.state.isAway = false;
    const asked = t.mock.method(each.members.named('s1'), 'get');
    assert.ok(await each.remove());
    assert.equal(asked.mock.callCount(), 0);
    assert.deepEqual(await each.catalogue.operations(), []);
  });

  void it('is not waited for when it is silent and a move to it runs', hangs, async (t) => {
    const each = await world();
    const operation = await each.leftAt('catch up', 's1');
    each.state.isAway = false;
    const { catalogue, operations } = each;
    const store = each.members.named('s1');
    t.mock.method(store, 'get', () => new Promise(() => undefined));
    const removed = hurried(t.signal, (timers) =>
      removeLostStore({ catalogue, operations, timers }, 's1'),
    );
    assert.ok(await removed);
    assert.equal(await catalogue.operation(operation), undefined);
    assert.equal(await each.storeOf(at), 's0');
    assert.match(String((await each.home.get(guardKey(each.range)))?.value), /serving/);
  });

  void it('stays while the home store does not take the cancellation, and says so', async (t) => {
    const each = await world();
    const operation = await each.leftAt('catch up', 's1');
    const { home, catalogue } = each;
    const commit = home.commit.bind(home);
    let refusals = 0;
    const mocked = t.mock.method(home, 'commit', (batch: CommitBatch) => {
      if (!batch.puts.some(({ key }) => equalBytes(key, operationKey(operation)))) {
        return commit(batch);
      }
      refusals += 1;
      assert.ok(refusals < 3, 'it tries again and again');
      throw new StoreUnavailableError('The home store is away.');
    });
    await assert.rejects(each.remove(), /^StoreUnavailableError: The home store is away/);
    assert.deepEqual(await namesOf(each), ['s0', 's1', 's2']);
    mocked.mock.restore();
    assert.ok(await each.remove());
    assert.equal(await catalogue.operation(operation), undefined);
  });

  void it('is not asked when another location answers for it', async () => {
    const each = await world('s1');
    const operation = await each.leftAt('clean', 's0');
    const empty = membersOf([each.home, await openMemoryStore({ clock })]);
    const other = operationsOver(empty, clock);
    await assert.rejects(other.carryOut(operation), StoreLocationMismatchError);
    assert.ok(
      await removeLostStore(
        { catalogue: each.catalogue, operations: other, timers: holdingTimers },
        's1',
      ),
    );
    assert.deepEqual(await each.catalogue.operations(), []);
  });
});

/** Takes the store out before the next commit that changes the row of the range. */
function lostBeforeSwitch(t: TestContext, { home, range, state, remove }: World): void {
  const commit = home.commit.bind(home);
  const mocked = t.mock.method(home, 'commit', async (batch: CommitBatch) => {
    if (batch.puts.some(({ key }) => equalBytes(key, rangeKey(range)))) {
      mocked.mock.restore();
      state.isAway = true;
      assert.ok(await remove());
    }
    return commit(batch);
  });
}
