import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Row } from '../../src/modeling/index.js';
import { moveShard, PartitionClosedError } from '../../src/modeling/patterns/shard-map/index.js';
import {
  ManagerError,
  ShardClosedError,
  type ManagedMap,
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { rowsIn } from '../../src/modeling/patterns/shard-map-manager/shard-backup.js';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedFor } from '../support/sim-settings.js';
import { emptied, emptyNow, type Emptied } from './support/emptied-shard.js';
import { Order, orderSchema, shardNames } from './support/memory-shards.js';
import { Turns } from './support/turns.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Programs write and read all the time, each by a map and statuses that are up to `refreshMs` old,
// while the account of a shard is lost, restored and attached by programs that are killed, or stand
// still while others go on. Requests go on one at a time, in an order that is drawn.

const refreshMs = 1000;
const customers = [7, 60, 99, 100, 500] as const;
const sharedId = 1;

class Killed extends Error {}

/** What happens to a program. */
interface Fate {
  /** At which of its requests it is killed. */
  readonly diesAt: number;
  /** At which of its requests it stands still, until `stalled` has ended. */
  readonly stallsAt: number;
  readonly stalled: () => Promise<void>;
}

const lives: Fate = { diesAt: Infinity, stallsAt: Infinity, stalled: () => Promise.resolve() };

/** What rows should have, by customer and id. Each row that is not shared has one writer. */
class Model {
  readonly #amounts = new Map<string, number>();

  get(customer: number, id: number): number | undefined {
    return this.#amounts.get(`${customer}:${id}`);
  }

  set(customer: number, id: number, amount: number | undefined): void {
    if (amount === undefined) this.#amounts.delete(`${customer}:${id}`);
    else this.#amounts.set(`${customer}:${id}`, amount);
  }

  /** The rows of a customer are these, as after a restore. */
  reset(customer: number, rows: ReadonlyMap<number, number>): void {
    for (const name of this.#amounts.keys()) {
      if (name.startsWith(`${customer}:`)) this.#amounts.delete(name);
    }
    for (const [id, amount] of rows) this.set(customer, id, amount);
  }

  get all(): readonly string[] {
    return [...this.#amounts].map(([name, amount]) => `${name} ${amount}`).sort();
  }
}

interface World extends Emptied {
  /** The rows of the backup that is restored. */
  readonly backup: readonly Row[];
}

class Simulation {
  readonly world: World;
  readonly random: SimRandom;
  readonly turns: Turns;
  readonly model = new Model();
  readonly #inFlight = new Set<Promise<unknown>>();
  isOver = false;
  acknowledged = 0;

  constructor(world: World, random: SimRandom) {
    this.world = world;
    this.random = random;
    this.turns = new Turns(random);
  }

  /** A program, all of whose requests wait for their turn. */
  program({ diesAt, stallsAt, stalled }: Fate): ShardMapManager {
    let sent = 0;
    const wrap = <T extends object>(port: T): T =>
      wrappedMethods(port, async (method, send) => {
        if (method === 'check') return send();
        await this.turns.wait();
        sent += 1;
        if (sent >= diesAt) throw new Killed();
        if (sent === stallsAt) await stalled();
        this.world.clock.advanceMicros(this.random.int(20_000));
        return send();
      });
    return this.world.shards.manager(wrap, { clock: this.world.clock, refreshMs });
  }

  /** Writes until the simulation is over. */
  async write(number: number): Promise<void> {
    const map = await this.program(lives).open('orders', orderSchema);
    const orders = map.entities(Order);
    const { random, model } = this;
    for (let turn = 1; !this.isOver; turn += 1) {
      const customer = random.pick(customers);
      const isShared = random.chance(0.4);
      const key = { customer, id: isShared ? sharedId : 10 + number };
      const known = model.get(customer, key.id);
      const amount = number * 100_000 + turn;
      const work = async (): Promise<void> => {
        if (isShared) {
          await orders.update(key, (order) => ({ ...order, amount: order.amount + 1 }));
          model.set(customer, sharedId, (model.get(customer, sharedId) ?? NaN) + 1);
        } else if (known === undefined) {
          await orders.insert({ ...key, amount });
          model.set(customer, key.id, amount);
        } else if (random.chance(0.3)) {
          await orders.delete(key, { ifMatch: 'any' });
          model.set(customer, key.id, undefined);
        } else {
          await orders.upsertReplace({ ...key, amount });
          model.set(customer, key.id, amount);
        }
        this.acknowledged += 1;
      };
      const working = work().catch((error: unknown) => {
        // Of these the library says that nothing was applied.
        if (error instanceof ShardClosedError || error instanceof PartitionClosedError) return;
        throw new Error(`customer ${customer}, id ${key.id}`, { cause: error });
      });
      this.#inFlight.add(working);
      await working.finally(() => this.#inFlight.delete(working));
      // One that is refused without a request must not keep others from their turns.
      await this.turns.wait();
    }
  }

  /** As the guide asks before a restore: nobody uses the shard, and no request is under way. */
  async untilUnused(): Promise<void> {
    this.world.clock.advanceMicros(refreshMs * 1000);
    await Promise.all(this.#inFlight);
  }

  /** The account is empty from now on. Its customers have what the backup has. */
  lose(): void {
    const { world, model } = this;
    const kept = new Map<number, Map<number, number>>([100, 500].map((each) => [each, new Map()]));
    for (const { partitionKey, rowKey, properties } of world.backup) {
      const amount = properties['amount']?.value;
      if (typeof amount === 'number') kept.get(Number(partitionKey))?.set(Number(rowKey), amount);
    }
    const west = world.shards.rows('west', 'orders');
    for (const [customer, rows] of kept) {
      const partitionKey = String(customer).padStart(6, '0');
      const isMoved = west.get({ partitionKey, rowKey: '!shard:owner' }) !== undefined;
      if (!isMoved) model.reset(customer, rows);
    }
    emptyNow(world);
  }

  /** Works by programs that may be killed, until one has ended. */
  async work(requests: number, work: (manager: ShardMapManager) => Promise<unknown>) {
    for (;;) {
      const diesAt = this.random.chance(0.6) ? 1 + this.random.int(requests) : Infinity;
      try {
        return await work(this.program({ ...lives, diesAt }));
      } catch (error) {
        if (!isKilled(error)) throw error;
      }
    }
  }
}

function isKilled(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof Killed) return true;
  }
  return false;
}

/** Restores by runs of which some are killed, and others stand still and are superseded. */
async function restore(simulation: Simulation, late: Promise<unknown>[]): Promise<() => void> {
  const { random, world } = simulation;
  const { shards, store, names } = world;
  const restoring = { partitionKey: '!shard-manager', rowKey: 'restore_south' };
  const goOns: (() => void)[] = [];
  for (;;) {
    const resume = shards.control.get(restoring) !== undefined;
    if (!resume && shards.rows('south', 'orders').all.length > 0) break;
    const kind = goOns.length < 3 ? random.weighted({ dies: 3, stalls: 3, lives: 2 }) : 'lives';
    let goOn = (): void => undefined;
    let reached = (): void => undefined;
    const isStalled = new Promise<void>((resolve) => (reached = resolve));
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const at = 1 + random.int(45);
    const fate: Fate = {
      diesAt: kind === 'dies' ? at : Infinity,
      stallsAt: kind === 'stalls' ? at : Infinity,
      stalled: () => {
        reached();
        return gate;
      },
    };
    const run = simulation
      .program(fate)
      .backups.restore(store, names[0], { resume })
      .catch((error: unknown) => {
        if (isKilled(error)) return;
        if (!(error instanceof ManagerError)) throw error;
        assert.match(error.message, superseded);
      });
    if (kind === 'stalls') goOns.push(goOn);
    await Promise.race([run, isStalled]);
    late.push(run);
    // Some go on while the next one runs.
    if (random.chance(0.5)) goOns.shift()?.();
  }
  return () => {
    for (const goOn of goOns) goOn();
  };
}

const superseded =
  /resumed or given up|was changed|is online|is not registered|has rows|has not ended/;

async function operate(simulation: Simulation, late: Promise<unknown>[]): Promise<void> {
  const { random, turns, world } = simulation;
  const open = (manager: ShardMapManager): Promise<ManagedMap<'int'>> =>
    manager.open('orders', orderSchema);
  for (let wait = random.int(60); wait > 0; wait -= 1) await turns.wait();
  let id: string | undefined;
  const moves = random.weighted({ none: 1, whole: 2, part: 3 });
  if (moves !== 'none') {
    const mode = random.pick(['online', 'read-only'] as const);
    const { operations } = await open(simulation.program(lives));
    ({ id } = await operations.begin(moveShard('south', 'west'), { title: 'away', mode }));
    const diesAt = moves === 'part' ? 1 + random.int(90) : Infinity;
    const mover = simulation.program({ ...lives, diesAt });
    const cleanUp = random.chance(0.5);
    const begun = id;
    await open(mover)
      .then(({ operations }) => operations.run(begun, { cleanUp }))
      .catch((error: unknown) => {
        if (!isKilled(error)) throw error;
      });
  }
  await simulation.program(lives).detach('south');
  await simulation.untilUnused();
  simulation.lose();
  const goOn = await restore(simulation, late);
  const isEarly = random.chance(0.5);
  if (isEarly) goOn();
  if (id !== undefined) {
    const begun = id;
    await simulation.work(120, async (manager) => (await open(manager)).operations.run(begun));
  }
  await simulation.work(80, async (manager) =>
    manager.attach('south', [await open(manager)], { keep: 'map', write: true }),
  );
  for (let wait = random.int(200); wait > 0; wait -= 1) await turns.wait();
  goOn();
  await Promise.all(late);
  const { acknowledged } = simulation;
  while (simulation.acknowledged < acknowledged + 20) await turns.wait();
  world.clock.advanceMicros(refreshMs * 1000);
}

async function runOnce(seed: number): Promise<void> {
  const random = new SimRandom(seed);
  const lost = await emptied(0);
  const { manager, store, names } = lost;
  const backup: Row[] = [];
  for await (const row of rowsIn(store.read(`${names[0]}orders.jsonl`))) backup.push(row);
  const world: World = { ...lost, backup };
  // The shard is as it was when it was backed up, and online.
  await manager().backups.restore(store, names[0]);
  const map = await manager().open('orders', orderSchema);
  await manager().attach('south', [map], { keep: 'map', write: true });
  const simulation = new Simulation(world, random);
  for (const customer of customers) {
    const order = await map.entities(Order).get({ customer, id: sharedId });
    simulation.model.set(customer, sharedId, order?.amount);
  }
  const late: Promise<unknown>[] = [];
  await simulation.turns.run([
    operate(simulation, late).finally(() => (simulation.isOver = true)),
    ...[0, 1, 2].map((number) => simulation.write(number)),
  ]);
  await check(simulation);
}

/** Every row is what was acknowledged last, on the one shard that the map leads to. */
async function check({ world, model }: Simulation): Promise<void> {
  const { shards, manager } = world;
  const map = await manager().open('orders', orderSchema);
  const found: string[] = [];
  for await (const { customer, id, amount } of map.entities(Order).queryAll()) {
    found.push(`${customer}:${id} ${amount}`);
  }
  assert.deepEqual(found.sort(), model.all);
  assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
  await map.unguarded.cleanUp();
  const { rows, owners } = await shards.content();
  for (const customer of customers) {
    const home = await map.shardOf(customer);
    const owner = owners.get(String(customer).padStart(6, '0'));
    assert.deepEqual(owner, [home], `owners of ${customer}`);
  }
  for (const [name, holders] of rows) {
    assert.deepEqual(holders, [await map.shardOf(Number(name.split(':')[0]))], name);
  }
  for (const shard of shardNames) {
    const claims = shards.rows(shard, 'orders').all.filter((row) => row.rowKey === '!shard:claim');
    assert.deepEqual(claims, [], `claims in ${shard}`);
  }
}

describe('programs that write while a shard is lost, restored and attached', () => {
  const rounds = byLength({ short: 8, long: 400 });
  const first = seedFor('shard-restore-writers');

  it('lose nothing that was acknowledged since, and write to one shard', costly(), async (t) => {
    t.diagnostic(`seeds from ${first}`);
    for (let round = 0; round < rounds; round += 1) {
      const seed = first + round;
      await runOnce(seed).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error });
      });
    }
  });
});
