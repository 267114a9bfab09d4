import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { StoreUnavailableError } from '../../../src/kv/errors.js';
import { Balancer } from '../../../src/partition/balancer/balancer.js';
import { loadKey } from '../../../src/partition/keys.js';
import { encodeLoadRow } from '../../../src/partition/load/load-rows.js';
import { RangeMeter, type MeasuredRange } from '../../../src/partition/load/range-meter.js';
import type { BeginResult } from '../../../src/partition/operations/operations.js';
import type { RangeMap } from '../../../src/partition/range-map.js';
import type { PartitionedStore } from '../../../src/partition/store.js';
import { SizedWorld, type Sizes } from './world.js';

// The partition layer at sizes that no machine here can run: its real code over stores in memory,
// whose calls are counted. See docs/internals/partition.md.

const usage = `npm run sim:partition-sizes -- [--ranges N] [--stores N] [--front-ends N] [--seed S]\n`;
/** Front ends that are open at once: each has a map of its own. */
const atOnce = 50;
const roundMicros = 15_000_000;

function sizesOf(): Sizes {
  const { values } = parseArgs({
    options: {
      ranges: { type: 'string', default: '10000' },
      stores: { type: 'string', default: '250' },
      'front-ends': { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
    },
  });
  const [ranges, stores, frontEnds, seed] = [
    values.ranges,
    values.stores,
    values['front-ends'],
    values.seed,
  ].map(Number);
  const all = [ranges, stores, frontEnds, seed];
  if (ranges === undefined || stores === undefined || frontEnds === undefined) return fail();
  if (seed === undefined || all.some((each) => !Number.isSafeInteger(each))) return fail();
  return { ranges, stores, frontEnds, seed };
}

function fail(): never {
  process.stderr.write(usage);
  return process.exit(2);
}

function tell(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function carriedOut(world: SizedWorld, begun: BeginResult): Promise<void> {
  assert.ok(begun.ok);
  await world.operations.carryOut(begun.operation);
}

/** What front ends cost the home store when they start, and when a range changes that all use. */
async function frontEnds(world: SizedWorld, { frontEnds: count, ranges }: Sizes): Promise<void> {
  const groups = Math.ceil(count / atOnce);
  const sums = { start: 0, use: 0, move: 0, split: 0 };
  const rows = { ...sums };
  let startMs = 0;
  const note = (what: keyof typeof sums) => {
    const taken = world.home.take();
    sums[what] += taken.calls;
    rows[what] += taken.rows;
  };
  for (let group = 0; group < groups; group += 1) {
    const opened: PartitionedStore[] = [];
    world.home.take();
    const beganMs = performance.now();
    for (let own = 0; own < atOnce; own += 1) opened.push(await world.openFrontEnd());
    startMs += performance.now() - beganMs;
    note('start');
    // On a store that is not the home store, so that only the catalogue is counted there.
    const { ranges: all } = await world.catalogue.map();
    const range = all.find(({ store, end }) => store !== 's0' && end !== undefined);
    assert.ok(range !== undefined);
    const partition = all.indexOf(range) * 4 + 1;
    const read = () => Promise.all(opened.map((each) => each.get(world.keyAt(partition))));
    world.home.take();
    await read();
    note('use');
    const target = range.store === 's1' ? 's2' : 's1';
    await carriedOut(world, await world.operations.beginMove(range.id, target));
    world.home.take();
    await read();
    note('move');
    await carriedOut(world, await world.operations.beginSplit(range.id, world.prefixAt(partition)));
    world.home.take();
    await read();
    note('split');
    // As before, for the next group.
    const map = await world.catalogue.map();
    const right = map.at(world.keyAt(partition));
    const left = map.before(right.start);
    await carriedOut(world, await world.operations.beginMerge(left.id, right.id));
  }
  const all = groups * atOnce;
  const told = (what: keyof typeof sums) =>
    `${(sums[what] / all).toFixed(1)} calls and ${Math.round(rows[what] / all)} rows a front end`;
  tell(`${all} front ends, ${ranges} ranges; calls of the home store:`);
  tell(`  start          ${told('start')}, ${(startMs / all).toFixed(0)} ms of CPU`);
  tell(`  use of a range ${told('use')}`);
  tell(`  after a move   ${told('move')}`);
  tell(`  after a split  ${told('split')}`);
}

/** One of the stores is gone, then the home store. */
async function losses(world: SizedWorld, { stores }: Sizes): Promise<void> {
  const frontEnd = await world.openFrontEnd();
  const calls = 20_000;
  const partitions = Array.from({ length: calls }, () => world.random.int(world.partitions));
  for (const partition of partitions) await frontEnd.get(world.keyAt(partition));
  const refusedOf = async (lost: number) => {
    const store = world.stores[lost];
    assert.ok(store !== undefined);
    store.isLost = true;
    world.home.take();
    let refused = 0;
    for (const partition of partitions) {
      try {
        await frontEnd.get(world.keyAt(partition));
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        refused += 1;
      }
    }
    store.isLost = false;
    return `${refused} of ${calls} reads refused (1 of ${stores} stores)`;
  };
  const home = world.home;
  tell(`loss of a store: ${await refusedOf(stores - 1)}; the others are not slower`);
  tell(
    `loss of the home store: ${await refusedOf(0)}: its own ranges; no other asks the catalogue`,
  );
  home.take();
}

/** The load of a partition never changes; some have many times that of others. */
function weightsOf(world: SizedWorld): readonly number[] {
  return Array.from({ length: world.partitions }, () => {
    const drawn = world.random.int(1_000);
    return drawn < 10 ? 100 : drawn < 100 ? 10 : 1;
  });
}

/** What all front ends together publish of the ranges as they are. */
function measured(world: SizedWorld, map: RangeMap, weights: readonly number[]): MeasuredRange[] {
  const loads = new Map(map.ranges.map(({ id }) => [id, 0]));
  for (const [partition, weight] of weights.entries()) {
    const { id } = map.at(world.keyAt(partition));
    loads.set(id, (loads.get(id) ?? 0) + weight);
  }
  return map.ranges.map(({ id }) => {
    const calls = loads.get(id) ?? 0;
    const rates = { readsPerSecond: calls, writesPerSecond: 0, longCallsPerSecond: calls };
    const rest = { bytesReadPerSecond: 0, bytesWrittenPerSecond: 0, callMsPerSecond: 0 };
    return { id, ...rates, ...rest, accessed: [] };
  });
}

async function balancing(sizes: Sizes, storesUsed: number, what: string): Promise<void> {
  const world = await SizedWorld.make(sizes, storesUsed);
  const weights = weightsOf(world);
  const meter = new RangeMeter(world.randomness);
  const { members, catalogue, operations, clock, randomness } = world;
  const timers = { start: () => ({ close: () => undefined }) };
  const balancer = new Balancer({
    mode: 'on',
    members,
    catalogue,
    operations,
    meter,
    clock,
    timers,
    randomness,
  });
  const beganMs = performance.now();
  let before = '';
  for (let rounds = 0, quiet = 0; ; rounds += 1) {
    const map = await catalogue.map();
    const ranges = measured(world, map, weights);
    // Several processes: a row has the ranges with the most calls only.
    for (let from = 0; from < ranges.length; from += 1_000) {
      const put = {
        key: loadKey(`p${from}`),
        value: encodeLoadRow(ranges.slice(from, from + 1_000)),
      };
      await members.home.commit({ checks: [], puts: [put], deletes: [] });
    }
    const loads = new Map(members.names.map((name) => [name, 0]));
    for (const [index, { store }] of map.ranges.entries()) {
      loads.set(store, (loads.get(store) ?? 0) + (ranges[index]?.readsPerSecond ?? 0));
    }
    const mean = [...loads.values()].reduce((sum, each) => sum + each, 0) / loads.size;
    const shown = `busiest ${(Math.max(...loads.values()) / mean).toFixed(2)} of the mean, idlest ${(Math.min(...loads.values()) / mean).toFixed(2)}`;
    if (rounds === 0) before = shown;
    clock.advanceMicros(roundMicros);
    const { version } = (await catalogue.mapRow()).row;
    await balancer.round();
    while ((await catalogue.operations()).length > 0) await turn();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    while ((await catalogue.operations()).length > 0) await turn();
    quiet = (await catalogue.mapRow()).row.version === version ? quiet + 1 : 0;
    if (quiet < 3 && rounds < 4_000) continue;
    const minutes = ((rounds - quiet) * roundMicros) / 60_000_000;
    const eachMs = (performance.now() - beganMs) / (rounds + 1);
    tell(`balancing ${what}: ${before}`);
    tell(`  after ${minutes.toFixed(0)} minutes: ${shown}; ${eachMs.toFixed(0)} ms of CPU a plan`);
    return;
  }
}

const sizes = sizesOf();
const world = await SizedWorld.make(sizes);
await frontEnds(world, sizes);
await losses(world, sizes);
await balancing(sizes, sizes.stores, 'ranges laid out evenly');
await balancing(sizes, sizes.stores - 10, 'when 10 stores are added');
