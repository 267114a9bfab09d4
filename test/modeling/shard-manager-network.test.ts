import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ModelError } from '../../src/modeling/index.js';
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
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { byLength } from '../support/run-length.js';
import { BadNetwork, Tally, type BadProcess } from './support/bad-network.js';
import { impatientTimers } from './support/impatient-timers.js';
import { filledShards, Order, orderSchema, shardNames } from './support/memory-shards.js';
import { MemoryRows } from './support/memory-table.js';

// Programs that write, and others that begin, run and cancel operations on the same map, on a bad
// network, with a copy of the control table. The short form has the same few seeds in each run.

const rounds = byLength({ short: 3, long: 150 });
const firstSeed = byLength({ short: 1, long: Math.floor(Math.random() * 1e9) });

const customers = [7, 60, 99, 100, 500];
const modes: readonly OperationMode[] = ['online', 'offline', 'read-only'];

/** Several tries; what the library refuses or leaves open ends a try. */
async function tries(count: number, attempt: () => Promise<unknown>): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    try {
      await attempt();
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
    }
  }
}

const isOpen = ({ status }: Operation): boolean => status !== 'completed' && status !== 'cancelled';
const open = (manager: ShardMapManager) => manager.open('orders', orderSchema);

function drawnChange({ random }: BadNetwork, map: ManagedMap<'int'>): RoutingChange {
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

async function check(network: BadNetwork): Promise<void> {
  const { random } = network;
  const { shards } = await filledShards();
  const copy = new MemoryRows();
  const managerOf = ({ table }: BadProcess): ShardMapManager => {
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
  };
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
  await map.unguarded.cleanUp();
  const { rows, owners } = await shards.content();
  for (const customer of customers) {
    const home = await map.shardOf(customer);
    assert.deepEqual(rows.get(`${customer}:1`), [home], `${customer}`);
    // What was closed is opened with its next write.
    const owning = owners.get(String(customer).padStart(6, '0')) ?? [home];
    assert.deepEqual(owning, [home], `${customer}`);
    const found = await map.entities(Order).get({ customer, id: 1 });
    // Each has one order of the amount 1 to begin with.
    assert.equal(tallies.get(customer)?.fault((found?.amount ?? 0) - 1), undefined);
  }
  assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
}

describe('operations of several programs on a bad network', () => {
  it('come to an end, whoever has begun, run or cancelled them, and lose no write', async () => {
    for (let seed = firstSeed; seed < firstSeed + rounds; seed += 1) {
      try {
        await check(new BadNetwork(seed));
      } catch (error) {
        throw new Error(`with the seed ${seed}`, { cause: error });
      }
    }
  });
});
