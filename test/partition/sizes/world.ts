import assert from 'node:assert/strict';
import { holdingTimers } from '../../../src/base/async/timers.js';
import { manualClock } from '../../../src/base/clock.js';
import { openMemoryStore } from '../../../src/engines/memory/store.js';
import { partitionPrefix } from '../../../src/kv/partition-prefix.js';
import type { Put } from '../../../src/kv/store.js';
import { appendString } from '../../../src/kv/tuple.js';
import { Catalogue } from '../../../src/partition/catalogue.js';
import { guardKey, mapKey, rangeKey } from '../../../src/partition/keys.js';
import { RangeMeter } from '../../../src/partition/load/range-meter.js';
import { Members } from '../../../src/partition/members.js';
import { Operations } from '../../../src/partition/operations/operations.js';
import { encodeGuardRow, encodeMapRow, encodeRangeRow } from '../../../src/partition/rows.js';
import { openPartitionedStore } from '../../../src/partition/store.js';
import { SimRandom } from '../../support/sim-random.js';
import { admitted } from '../composed-stores.js';
import { CountingStore } from './counting-store.js';

export interface Sizes {
  readonly ranges: number;
  readonly stores: number;
  readonly frontEnds: number;
  readonly seed: number;
}

/** Each range has as many partitions. */
const partitionsEach = 4;

/** A catalogue of many ranges over many stores in memory, with a clock that stands still. */
export class SizedWorld {
  readonly clock = manualClock();
  readonly random: SimRandom;
  readonly stores: readonly CountingStore[];
  readonly members: Members;
  readonly catalogue: Catalogue;
  readonly operations: Operations;
  readonly partitions: number;

  private constructor(sizes: Sizes, stores: readonly CountingStore[]) {
    this.random = new SimRandom(sizes.seed);
    this.stores = stores;
    this.partitions = sizes.ranges * partitionsEach;
    const named = stores.map(({ store }, index) => [`s${index}`, store] as const);
    this.members = new Members('s0', new Map(named));
    this.catalogue = new Catalogue(this.members.home);
    this.operations = new Operations({
      catalogue: this.catalogue,
      members: this.members,
      clock: this.clock,
      timers: holdingTimers,
      pauseMillisMax: 1_000,
      pageEntriesMax: 1_000,
      // The balancer splits ranges of a key space that is full already.
      limits: { rangesMax: 2 * sizes.ranges },
    });
  }

  /** `storesUsed`: how many have ranges in the beginning. */
  static async make(sizes: Sizes, storesUsed = sizes.stores): Promise<SizedWorld> {
    const { clock } = { clock: manualClock() };
    const stores: CountingStore[] = [];
    for (let count = 0; count < sizes.stores; count += 1) {
      stores.push(new CountingStore(await openMemoryStore({ clock })));
    }
    const world = new SizedWorld(sizes, stores);
    await admitted(world.members);
    await world.#fill(sizes.ranges, storesUsed);
    return world;
  }

  get home(): CountingStore {
    const [home] = this.stores;
    assert.ok(home !== undefined);
    return home;
  }

  prefixAt(partition: number) {
    return partitionPrefix('tables', 'account', 2, String(partition).padStart(7, '0'));
  }

  keyAt(partition: number) {
    return appendString(this.prefixAt(partition), 'row');
  }

  openFrontEnd(meter = new RangeMeter(this.randomness)) {
    const { members, clock, randomness } = this;
    return openPartitionedStore({ members, clock, timers: holdingTimers, randomness, meter });
  }

  get randomness() {
    const { random } = this;
    return { bytes: (count: number) => random.bytes(count), uuid: () => random.uuid() };
  }

  async #fill(ranges: number, storesUsed: number): Promise<void> {
    const rows: Put[] = [];
    const guards = this.stores.map((): Put[] => []);
    const guard = encodeGuardRow({ state: 'serving', epoch: 1, operation: 0, token: 0 });
    for (let index = 0; index < ranges; index += 1) {
      const id = index + 1;
      const at = index % storesUsed;
      const start = index === 0 ? Buffer.alloc(0) : this.prefixAt(index * partitionsEach);
      const isLast = index === ranges - 1;
      const end = isLast ? undefined : this.prefixAt((index + 1) * partitionsEach);
      const row = { id, start, end, store: `s${at}`, epoch: 1, operation: 0 };
      rows.push({ key: rangeKey(id), value: encodeRangeRow(row) });
      guards[at]?.push({ key: guardKey(id), value: guard });
    }
    rows.push({ key: mapKey, value: encodeMapRow({ version: 1, nextId: ranges + 1 }) });
    const perCommit = 1_000;
    for (let from = 0; from < rows.length; from += perCommit) {
      const puts = rows.slice(from, from + perCommit);
      await this.members.home.commit({ checks: [], puts, deletes: [] });
    }
    for (const [index, puts] of guards.entries()) {
      await this.stores[index]?.store.fence({ checks: [], puts, deletes: [] });
    }
  }
}
