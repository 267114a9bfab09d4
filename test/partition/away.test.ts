import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString, prefixRange } from '../../src/kv/tuple.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { dirtyRows, guardKey } from '../../src/partition/keys.js';
import type { Operations } from '../../src/partition/operations/operations.js';
import {
  MoveTooSlowError,
  TargetNotEmptiedError,
  type OperationTools,
} from '../../src/partition/operations/tools.js';
import { decodeGuardRow } from '../../src/partition/rows.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { verify } from '../../src/partition/verify.js';
import { admitted, leaving, membersOf, operationsOver } from './composed-stores.js';

const prefix = partitionPrefix('tables', 'account', 1, 'p');
const keyOf = (name: string) => appendString(prefix, name);
const names = Array.from({ length: 50 }, (_, index) => String(100 + index));
const whole = { limit: 10_000, bytesMax: 1 << 30 } as const;

class Died extends Error {}

/** A store that calls `after` with the answer of each call. */
function answering(store: MemberStore, after: () => Promise<void>): MemberStore {
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      return async (...given: unknown[]) => {
        const result: unknown = await Reflect.apply(found, target, given);
        await after();
        return result;
      };
    },
  });
}

/** A range with entries, on whose way from one store to another one that is not home goes away. */
async function world({ from, to }: { readonly from: 's0' | 's1'; readonly to: 's0' | 's1' }) {
  const clock = manualClock();
  const home = await openMemoryStore({ clock });
  const other = await openMemoryStore({ clock });
  const { store: leaver, state } = leaving(other);
  const members = await admitted(membersOf([home, leaver]));
  const options = { members, clock, timers: systemTimers, randomness: systemRandomness };
  const store = await openPartitionedStore(options);
  const write = (name: string) =>
    store.commit({
      checks: [],
      puts: [{ key: keyOf(name), value: Buffer.from('v') }],
      deletes: [],
    });
  for (const name of names) await write(name);
  const catalogue = new Catalogue(home);
  const [{ id: range } = { id: 0 }] = (await catalogue.map()).ranges;
  const movers = (tools: Partial<OperationTools> = {}, over = members) =>
    operationsOver(over, clock, { pageEntriesMax: 10, ...tools });
  const begun = async (target: string) => {
    const answer = await movers().beginMove(range, target);
    assert.ok(answer.ok);
    return answer.operation;
  };
  if (from === 's1') await movers().carryOut(await begun('s1'));
  const operation = await begun(to);
  const stateIn = async (name: 's0' | 's1') => {
    const guard = await (name === 's0' ? home : other).get(guardKey(range));
    return guard && decodeGuardRow(guard.value).state;
  };
  const stepOf = async () => {
    const row = (await catalogue.operation(operation))?.row;
    return row?.kind === 'move' ? row.step : undefined;
  };
  return {
    home,
    write,
    movers,
    operation,
    state,
    stateIn,
    stepOf,
    /** A process carries the move out, and dies as soon as this holds. */
    async dieWhen(holds: () => Promise<boolean>): Promise<void> {
      const look = async () => {
        if (await holds()) throw new Died();
      };
      const watched = membersOf([home, leaver].map((each) => answering(each, look)));
      await assert.rejects(movers({}, watched).carryOut(operation), Died);
    },
    dirtyRows: async () => (await home.range(dirtyRows(range), whole)).entries.length,
    read: async () => (await store.range(prefixRange(prefix), whole)).entries.length,
    findings: () => verify({ catalogue, members, clock, timers: systemTimers }),
  };
}

type World = Awaited<ReturnType<typeof world>>;

/** The target goes away at a step of the move, which fails then. */
async function leftAt(each: World, step: string, tools: Partial<OperationTools> = {}) {
  const onStep: OperationTools['onStep'] = (reached) => (each.state.isAway ||= reached === step);
  const mover: Operations = each.movers({ ...tools, onStep });
  await assert.rejects(mover.carryOut(each.operation), StoreUnavailableError);
  assert.equal(each.state.isAway, true);
}

void describe('a move whose target goes away', () => {
  for (const step of ['copy', 'catch up', 'fence', 'close']) {
    void it(`at '${step}' lets the source serve, and can be cancelled`, async () => {
      const each = await world({ from: 's0', to: 's1' });
      await leftAt(each, step);
      assert.equal(await each.stateIn('s0'), 'logging');
      assert.ok((await each.write('meanwhile')).ok);
      assert.equal(await each.movers().cancel(each.operation), true);
      assert.equal(await each.stateIn('s0'), 'serving');
      assert.equal(await each.dirtyRows(), 0);
      assert.ok((await each.write('later')).ok);
      // Nobody forgets what the target still has.
      assert.equal(await each.stepOf(), 'cancel');
      await assert.rejects(each.movers().carryOut(each.operation), (error: Error) => {
        assert.ok(error instanceof TargetNotEmptiedError, String(error));
        assert.match(error.message, /^Move \d+ is cancelled. The store 's0' serves range \d+;/);
        return true;
      });
      each.state.isAway = false;
      assert.equal(await each.movers().carryOut(each.operation), 'cancelled');
      assert.equal(await each.stateIn('s1'), undefined);
      assert.deepEqual(await each.findings(), []);
      assert.equal(await each.read(), names.length + 2);
      assert.equal(await each.stepOf(), undefined);
    });
  }

  void it('goes on when it is back', async () => {
    const each = await world({ from: 's0', to: 's1' });
    await leftAt(each, 'close');
    assert.ok((await each.write('meanwhile')).ok);
    each.state.isAway = false;
    assert.equal(await each.movers().carryOut(each.operation), 'done');
    assert.equal(await each.read(), names.length + 1);
    assert.deepEqual(await each.findings(), []);
  });

  for (const pause of ['fenced', 'moved']) {
    void it(`ends a pause that a dead process has left: ${pause}`, async () => {
      const each = await world({ from: 's0', to: 's1' });
      await each.dieWhen(async () => (await each.stateIn('s0')) === pause);
      each.state.isAway = true;
      await assert.rejects(each.movers().carryOut(each.operation), StoreUnavailableError);
      assert.equal(await each.stateIn('s0'), 'logging');
      assert.ok((await each.write('meanwhile')).ok);
      assert.equal(await each.movers().cancel(each.operation), true);
      assert.equal(await each.stateIn('s0'), 'serving');
    });
  }

  void it('is cancelled when more is written meanwhile than a move may have before it', async () => {
    const each = await world({ from: 's0', to: 's1' });
    const limits = { dirtyRowsMax: 10 };
    await leftAt(each, 'copy', { limits });
    for (const name of names.slice(0, 10)) await each.write(name);
    await assert.rejects(each.movers({ limits }).carryOut(each.operation), StoreUnavailableError);
    assert.equal(await each.stateIn('s0'), 'logging');
    await each.write('one more');
    await assert.rejects(each.movers({ limits }).carryOut(each.operation), (error: Error) => {
      assert.ok(error instanceof TargetNotEmptiedError, String(error));
      assert.match(error.message, /more than 10 writes came while it could not go on/);
      return true;
    });
    assert.equal(await each.stateIn('s0'), 'serving');
    assert.equal(await each.dirtyRows(), 0);
    each.state.isAway = false;
    assert.equal(await each.movers({ limits }).carryOut(each.operation), 'cancelled');
    assert.deepEqual(await each.findings(), []);
  });

  void it('is told why it is cancelled when the target could be emptied', async () => {
    const each = await world({ from: 's0', to: 's1' });
    const limits = { dirtyRowsMax: 10 };
    await leftAt(each, 'copy', { limits });
    for (const name of names.slice(0, 11)) await each.write(name);
    // The target is back before it is emptied.
    const onStep: OperationTools['onStep'] = (step) => (each.state.isAway &&= step !== 'cancel');
    const mover = each.movers({ limits, onStep });
    await assert.rejects(mover.carryOut(each.operation), MoveTooSlowError);
    assert.equal(await each.stepOf(), undefined);
    assert.deepEqual(await each.findings(), []);
  });
});

void describe('a move whose source goes away', () => {
  void it('after the switch lets the target serve, and is cleaned later', async () => {
    const each = await world({ from: 's1', to: 's0' });
    await each.dieWhen(async () => (await each.stepOf()) === 'activate');
    each.state.isAway = true;
    await assert.rejects(each.movers().carryOut(each.operation), StoreUnavailableError);
    assert.equal(await each.stateIn('s0'), 'serving');
    assert.equal(await each.read(), names.length);
    each.state.isAway = false;
    assert.equal(await each.movers().carryOut(each.operation), 'done');
    assert.deepEqual(await each.findings(), []);
  });
});

void describe('a target that goes away after the switch', () => {
  void it('does not keep the source from being cleaned', async () => {
    const each = await world({ from: 's0', to: 's1' });
    await each.dieWhen(async () => (await each.stepOf()) === 'clean');
    each.state.isAway = true;
    assert.equal(await each.movers().carryOut(each.operation), 'done');
    assert.equal((await each.home.range(prefixRange(prefix), whole)).entries.length, 0);
    each.state.isAway = false;
    assert.equal(await each.read(), names.length);
    assert.deepEqual(await each.findings(), []);
  });
});
