import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  mergeShards,
  moveShard,
  splitRange,
  type RoutingChange,
} from '../../src/modeling/patterns/shard-map/index.js';
import {
  shardMapManagerOf,
  type ManagedMap,
  type Operation,
  type OperationMode,
  type ShardKeyText,
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import {
  onBadNetworks,
  Tally,
  tries,
  type BadNetwork,
  type BadProcess,
} from './support/bad-network.js';
import { impatientTimers } from './support/impatient-timers.js';
import {
  filledShards,
  Order,
  orderSchema,
  shardNames,
  type MemoryShards,
} from './support/memory-shards.js';
import { MemoryRows } from './support/memory-table.js';
import { costly } from '../support/run-length.js';

// Programs that write, and others that begin, run and cancel operations on the same map, on a bad
// network, with a copy of the control table. The short form has the same few seeds in each run.

const rounds = { short: 3, long: 150 };

const customers = [7, 60, 99, 100, 500];
const modes: readonly OperationMode[] = ['online', 'offline', 'read-only'];

const isOpen = ({ status }: Operation): boolean => status !== 'completed' && status !== 'cancelled';
const open = (manager: ShardMapManager) => manager.open('orders', orderSchema);

function drawnChange(
  { random }: BadNetwork,
  map: ManagedMap<'int'>,
): RoutingChange<ShardKeyText<'int'>> {
  const range = {
    from: map.textOf(random.between(1, 90)),
    before: map.textOf(random.between(91, 600)),
  };
  return random.pick([
    moveShard('north', 'west'),
    moveShard('west', 'south'),
    mergeShards('south', 'north'),
    splitRange(range, random.pick(shardNames)),
  ]);
}

function programOf({ table }: BadProcess, shards: MemoryShards, copy: MemoryRows): ShardMapManager {
  const places = shardNames.map((account) => [
    account,
    { table: (name: string) => table(shards.rows(account, name), name) },
  ]);
  return shardMapManagerOf({
    control: table(shards.control, 'control'),
    controlCopies: [table(copy, 'control')],
    shards: Object.fromEntries(places),
    refreshMs: 0,
    settleMs: 0,
    takeOverMs: 0,
    timers: impatientTimers,
  });
}

/** Every customer has its order on its shard, and on no other. */
async function checkPlaces(shards: MemoryShards, map: ManagedMap<'int'>): Promise<void> {
  await map.unguarded.cleanUp();
  const { rows, owners } = await shards.content();
  for (const customer of customers) {
    const home = await map.shardOf(customer);
    assert.deepEqual(rows.get(`${customer}:1`), [home], `${customer}`);
    // What was closed is opened with its next write.
    const owning = owners.get(String(customer).padStart(6, '0')) ?? [home];
    assert.deepEqual(owning, [home], `${customer}`);
  }
  assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
}

async function checkOperations(network: BadNetwork): Promise<void> {
  const { random } = network;
  const { shards } = await filledShards();
  const copy = new MemoryRows();
  const managerOf = (process: BadProcess) => programOf(process, shards, copy);
  const tallies = new Map(customers.map((customer) => [customer, new Tally()]));
  const writing = () => {
    const process = network.start();
    return process.untilDeath(() =>
      tries(3, async () => {
        const orders = (await open(managerOf(process))).entities(Order);
        await tries(5, async () => {
          const customer = random.pick(customers);
          await tallies
            .get(customer)
            ?.add(() =>
              orders.update({ customer, id: 1 }, (each) => ({ ...each, amount: each.amount + 1 })),
            );
        });
      }),
    );
  };
  const operating = async (): Promise<void> => {
    for (let life = 0; life < 3; life += 1) {
      const process = network.start();
      await process.untilDeath(() =>
        tries(2, async () => {
          const manager = managerOf(process);
          const map = await open(manager);
          const known = (await manager.operations()).find(isOpen);
          const options = {
            title: 'it',
            mode: random.pick(modes),
            target: random.pick(['empty', 'replaced'] as const),
          };
          const { id } = known ?? (await map.operations.begin(drawnChange(network, map), options));
          if (random.chance(0.3)) await map.operations.cancel(id);
          else await map.operations.run(id);
          if (random.chance(0.3)) await manager.publish();
        }),
      );
    }
  };
  await Promise.all([writing(), writing(), operating(), operating()]);
  await network.mend();
  const manager = shards.manager();
  const map = await open(manager);
  for (const { id } of (await manager.operations()).filter(isOpen)) await map.operations.run(id);
  assert.deepEqual((await manager.operations()).filter(isOpen), []);
  assert.equal((await map.map.state()).phase, 'settled');
  await checkPlaces(shards, map);
  for (const customer of customers) {
    const found = await map.entities(Order).get({ customer, id: 1 });
    // Each has one order of the amount 1 to begin with.
    assert.equal(tallies.get(customer)?.fault((found?.amount ?? 0) - 1), undefined);
  }
}

/** A recovery that was killed is ended by the steps of a change. */
async function settle({ unguarded }: ManagedMap<'int'>): Promise<void> {
  if ((await unguarded.state()).phase === 'settled') return;
  await unguarded.cutOver();
  await unguarded.finish();
}

async function checkRecovery(network: BadNetwork): Promise<void> {
  const { random } = network;
  const { shards, map } = await filledShards();
  const copy = new MemoryRows();
  const restored = random.pick(['north', 'south'] as const);
  const earlier = shards.rows(restored, 'orders').copy();
  await map.unguarded.apply(moveShard(restored, 'west'));
  if (random.chance(0.5)) await map.unguarded.cleanUp();
  shards.restore(restored, 'orders', earlier);
  const recovering = async (): Promise<void> => {
    for (let life = 0; life < 3; life += 1) {
      const process = network.start();
      await process.untilDeath(() =>
        tries(3, async () => {
          const opened = await open(programOf(process, shards, copy));
          await settle(opened);
          const { recovery } = opened.unguarded;
          const keep = random.pick(['map', 'shards'] as const);
          const plan = await recovery.plan(keep);
          const [difference] = plan.differences;
          const way = random.between(0, 2);
          if (way === 0) await recovery.recover(plan);
          else if (way === 1) await recovery.rebuildLocal(restored, { write: true });
          else if (difference !== undefined) await recovery.resolve(difference, keep);
        }),
      );
    }
  };
  await Promise.all([recovering(), recovering()]);
  await network.mend();
  const last = await open(shards.manager());
  await settle(last);
  const { recovery } = last.unguarded;
  // Of several shards with one partition a plan has the first.
  for (let plan = await recovery.plan('map'), turns = 0; plan.differences.length > 0; turns += 1) {
    assert.ok(turns < 5, 'it ends');
    await recovery.recover(plan);
    plan = await recovery.plan('map');
  }
  await checkPlaces(shards, last);
}

describe('several programs on a bad network', () => {
  it(
    'bring operations to an end, whoever began, ran or cancelled them, and lose no write',
    costly(),
    () => onBadNetworks(rounds, checkOperations),
  );

  it('recover a shard that was restored, each in its way, and lose no partition', () =>
    onBadNetworks(rounds, checkRecovery));
});
