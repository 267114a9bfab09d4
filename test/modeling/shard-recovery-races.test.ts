import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConditionFailedError, TransactionFailedError } from '../../src/modeling/index.js';
import { moveShard, StaleMapError } from '../../src/modeling/patterns/shard-map/index.js';
import type { KeptSide } from '../../src/modeling/patterns/shard-map/recovery.js';
import type { MapRecovery } from '../../src/modeling/patterns/shard-map/map-recovery.js';
import type { ManagedMap } from '../../src/modeling/patterns/shard-map-manager/index.js';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedFor } from '../support/sim-settings.js';
import { filledShards, Order, orderSchema, type MemoryShards } from './support/memory-shards.js';
import { MemoryTable } from './support/memory-table.js';
import { Turns } from './support/turns.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Two programs that recover one map at the same time. Their requests go on one at a time, in an
// order that is drawn; one of them may be killed at any of them.

const sides: readonly KeptSide[] = ['map', 'shards'];
type Damage = 'shard' | 'control';

/**
 * South moved to west, where orders 100 and 500 have the amount 5 since. `shard`: south was
 * restored to when it had them, with the amount 1; `control`: the map was restored to when it led
 * there.
 */
async function damagedShards(damage: Damage): Promise<MemoryShards> {
  const { shards, map } = await filledShards();
  const south = shards.rows('south', 'orders').copy();
  const control = shards.control.copy();
  await map.unguarded.apply(moveShard('south', 'west'));
  for (const customer of [100, 500]) {
    await map.entities(Order).update({ customer, id: 1 }, (o) => ({ ...o, amount: 5 }));
  }
  await map.unguarded.cleanUp();
  if (damage === 'shard') shards.restore('south', 'orders', south);
  else shards.control = control;
  return shards;
}

class Killed extends Error {}

interface Program {
  readonly keep: KeptSide;
  readonly way: 'recover' | 'resolve';
  /** At which of its requests it is killed. */
  readonly diesAt: number;
}

/** `idle`: it found nothing to end. */
type Ending = 'ended' | 'idle' | 'refused' | 'killed';

/** Recovers until it has ended, is told that another one was first, or is killed. */
async function run(shards: MemoryShards, turns: Turns, program: Program): Promise<Ending> {
  let left = program.diesAt;
  const wrap = <T extends object>(port: T): T =>
    wrappedMethods(port, async (name, send) => {
      if (name === 'check') return send();
      await turns.wait();
      left -= 1;
      if (left < 0) throw new Killed();
      return send();
    });
  try {
    const map = await shards.manager(wrap).open('orders', orderSchema);
    const { recovery } = map.unguarded;
    const plan = await recovery.plan(program.keep);
    if (program.way === 'recover') await recovery.recover(plan);
    else for (const each of plan.differences) await recovery.resolve(each, program.keep);
    return plan.differences.length === 0 ? 'idle' : 'ended';
  } catch (error) {
    if (left < 0) return 'killed';
    if (error instanceof StaleMapError) return 'refused';
    throw error;
  }
}

/** Ends what a killed program has begun, and then what is left. */
async function endRecovery(map: ManagedMap<'int'>): Promise<void> {
  const { unguarded } = map;
  if ((await unguarded.state()).phase !== 'settled') {
    await unguarded.cutOver();
    await unguarded.finish();
  }
  await unguarded.recovery.recover(await unguarded.recovery.plan('map'));
  assert.deepEqual((await unguarded.recovery.plan('map')).differences, []);
  await unguarded.cleanUp();
}

/** The amounts by customer, each in the one shard that owns its partition and the map leads to. */
async function checkedAmounts(
  shards: MemoryShards,
  map: ManagedMap<'int'>,
): Promise<ReadonlyMap<number, number | undefined>> {
  const { rows, owners } = await shards.content();
  const amounts = new Map<number, number | undefined>();
  for (const customer of [7, 60, 99, 100, 500]) {
    const home = await map.shardOf(customer);
    assert.deepEqual(rows.get(`${customer}:1`), [home], `rows of ${customer}`);
    assert.deepEqual(owners.get(String(customer).padStart(6, '0')), [home], `owners: ${customer}`);
    amounts.set(customer, (await map.entities(Order).get({ customer, id: 1 }))?.amount);
  }
  assert.equal(rows.size, 5);
  return amounts;
}

async function runOnce(seed: number, damage: Damage, isKilled: boolean): Promise<void> {
  const random = new SimRandom(seed);
  const shards = await damagedShards(damage);
  const programOf = (diesAt: number): Program => ({
    keep: random.pick(sides),
    way: random.pick(['recover', 'resolve'] as const),
    diesAt,
  });
  const programs = [programOf(isKilled ? random.int(120) : Infinity), programOf(Infinity)];
  const endings: Ending[] = [];
  const turns = new Turns(random);
  await turns.run(
    programs.map(async (program, at) => {
      endings[at] = await run(shards, turns, program);
    }),
  );
  const told = JSON.stringify({ seed, damage, programs, endings });
  const map = await shards.manager().open('orders', orderSchema);
  if (!isKilled && endings.includes('ended') && programs.every(({ way }) => way === 'recover')) {
    const { differences } = await map.unguarded.recovery.plan('map');
    assert.deepEqual(differences, [], `left by who was refused: ${told}`);
  }
  await endRecovery(map);
  const amounts = await checkedAmounts(shards, map);
  assert.deepEqual(
    [7, 60, 99].map((customer) => amounts.get(customer)),
    [1, 1, 1],
    told,
  );
  const disputed = [100, 500].map((customer) => amounts.get(customer));
  // Only the shards have orders where the map alone was restored.
  const of = { map: 5, shards: damage === 'shard' ? 1 : 5 };
  assert.ok(
    disputed.every((amount) => amount === of.map || amount === of.shards),
    told,
  );
  // Who is told that a recovery has ended has what it asked for, whatever the other one wanted.
  const at = endings.indexOf('ended');
  const ended = programs[at];
  const isAlone = programs[1 - at]?.way === 'recover' || programs[1 - at]?.keep === ended?.keep;
  if (ended?.way === 'recover' && isAlone) {
    assert.deepEqual(disputed, [of[ended.keep], of[ended.keep]], told);
  }
}

type Call = Parameters<Parameters<typeof wrappedMethods>[1]>;

/** Another program, each request of which goes through `call`. */
async function recoveryOf(
  shards: MemoryShards,
  call: (table: string, ...given: Call) => unknown,
): Promise<MapRecovery> {
  const wrap = <T extends object>(port: T): T => {
    const table = port instanceof MemoryTable ? port.table : '';
    return wrappedMethods(port, (...given) => call(table, ...given));
  };
  return (await shards.manager(wrap).open('orders', orderSchema)).unguarded.recovery;
}

describe('two programs that recover a map at the same time', () => {
  it('end no difference by the recovery of another partition', async () => {
    const shards = await damagedShards('shard');
    const { unguarded } = await shards.manager().open('orders', orderSchema);
    const [one, other] = (await unguarded.recovery.plan('map')).differences;
    assert.ok(one !== undefined && other !== undefined);
    const killed = await recoveryOf(shards, async (_table, _name, send) => {
      if ((await unguarded.state()).phase === 'handing-over') throw new Killed();
      return send();
    });
    let isMet = false;
    const late = await recoveryOf(shards, async (table, name, send) => {
      // Its first write in the control table: it has seen that the map is settled.
      if (!isMet && table !== 'orders' && name === 'write') {
        isMet = true;
        await assert.rejects(killed.resolve(one, 'map'), Killed);
      }
      return send();
    });
    await assert.rejects(late.resolve(other, 'map'), StaleMapError);
    assert.ok(isMet);
    await unguarded.cutOver();
    await unguarded.finish();
    const left = await unguarded.recovery.plan('map');
    assert.deepEqual(
      left.differences.map(({ partitionKey }) => partitionKey),
      [other.partitionKey],
    );
  });

  it('keep the side that is said though a writer is faster once', async () => {
    const shards = await damagedShards('shard');
    let conflicts = 0;
    const recovery = await recoveryOf(shards, (table, name, send) => {
      if (table === 'orders' && name === 'transact' && (conflicts += 1) === 1) {
        const reason = new ConditionFailedError('changed', {
          status: 412,
          code: 'UpdateConditionNotSatisfied',
        });
        throw new TransactionFailedError('changed', 0, reason);
      }
      return send();
    });
    await recovery.recover(await recovery.plan('shards'));
    const map = await shards.manager().open('orders', orderSchema);
    await endRecovery(map);
    const amounts = await checkedAmounts(shards, map);
    assert.deepEqual([amounts.get(100), amounts.get(500)], [1, 1]);
  });

  const rounds = byLength({ short: 6, long: 1500 });
  const first = seedFor('shard-recovery-races');
  for (const damage of ['shard', 'control'] as const) {
    for (const isKilled of [false, true]) {
      const what = `after a restored ${damage}${isKilled ? ', one of them killed' : ''}`;
      it(`lose no order and leave one owner, ${what}`, costly(), async (t) => {
        t.diagnostic(`seeds from ${first}`);
        for (let round = 0; round < rounds; round += 1) {
          await runOnce(first + round, damage, isKilled);
        }
      });
    }
  }
});
