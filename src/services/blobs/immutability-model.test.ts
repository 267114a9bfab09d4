import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  collected,
  container,
  settle,
  type BlobWorld,
} from '../../../test/support/blob-world.js';
import { byLength, costly } from '../../../test/support/run-length.js';
import { SimRandom } from '../../../test/support/sim-random.js';
import { seedSetting } from '../../../test/support/sim-settings.js';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { Immutability } from '../../model/blobs/immutability.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobService } from './blob-service.js';
import type { NewProperties, SnapshotAddress } from './types.js';

// Random operations, including all that delete, and time: a protected object stays, with its bytes,
// until its policy ends or its protection is removed.

const names = ['a', 'b'];
const microsPerSecond = 1_000_000;
const hour = 3_600 * microsPerSecond;
const retentionHours = 24;
const place = { account, container };

interface Listed {
  readonly address: SnapshotAddress;
  readonly immutability?: Immutability;
  readonly isDeleted: boolean;
}

interface ProtectedObject {
  readonly address: SnapshotAddress;
  /** Its name, its bytes and its protection. Versions and their blob may have the same. */
  readonly shown: string;
  readonly immutability: Immutability;
}

/** The present retention options of accounts. */
interface Options {
  versions: boolean;
  immutability: boolean;
}

class Simulation {
  readonly #random: SimRandom;
  readonly #world: BlobWorld;
  readonly #isOn: Options;
  #contents = 0;
  /** Whose policy or hold the step has changed: it is not compared. */
  #touched: SnapshotAddress | undefined;

  constructor(random: SimRandom, world: BlobWorld, isOn: Options) {
    this.#random = random;
    this.#world = world;
    this.#isOn = isOn;
  }

  get #blobs(): BlobService {
    return this.#random.pick(this.#world.services);
  }

  get #now(): number {
    return this.#world.clock.nowMicros();
  }

  /** A step, and whether what was kept before it is kept after it. Returns how much is kept. */
  async step(): Promise<number> {
    const before = await this.#kept();
    this.#touched = undefined;
    const kind = await this.#act();
    const after = (await this.#kept()).map(({ shown }) => shown);
    const left = [...after];
    for (const kept of before) {
      if (!isKept(kept.immutability, this.#now) || isSame(kept.address, this.#touched)) continue;
      const place = left.indexOf(kept.shown);
      assert.ok(place >= 0, `${kind} has lost ${kept.shown}`);
      left.splice(place, 1);
    }
    return after.length;
  }

  async #act(): Promise<string> {
    const kinds = {
      put: 8,
      append: 2,
      metadata: 2,
      copy: 2,
      snapshot: 3,
      delete: 5,
      undelete: 2,
      policy: 4,
      'no policy': 3,
      hold: 4,
      time: 3,
      sweep: 1,
      option: 1,
      container: 2,
    };
    const kind = this.#random.weighted(kinds);
    try {
      await this.#perform(kind, this.#random.pick(names));
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
    return kind;
  }

  async #perform(kind: string, name: string): Promise<void> {
    const blobs = this.#blobs;
    const address = at(name);
    switch (kind) {
      case 'put':
        await this.#put(address);
        return;
      case 'append':
        await blobs.appendBlock(address, { body: body(this.#content()) });
        return;
      case 'metadata':
        await blobs.setMetadata(address, [['k', this.#content()]]);
        return;
      case 'copy': {
        const source = this.#random.pick(await this.#all(blobs)).address;
        await blobs.copyBlob(address, { source, sourceUrl: 'http://h/x', tags: [] });
        return;
      }
      case 'snapshot':
        await blobs.snapshotBlob(address);
        return;
      case 'delete': {
        const snapshots = this.#random.pick(['include', 'only', undefined] as const);
        if (this.#random.chance(0.4)) {
          await blobs.deleteBlob(address, snapshots === undefined ? {} : { snapshots });
          return;
        }
        const past = this.#random.pick(await this.#all(blobs)).address;
        await blobs.deleteBlob(past, { permanently: this.#random.chance(0.3) });
        return;
      }
      case 'undelete':
        await blobs.undeleteBlob(address);
        return;
      case 'time':
        this.#world.clock.advanceMicros(this.#random.int(40) * hour);
        return;
      case 'sweep':
        await settle(this.#world);
        return;
      case 'option':
        this.#isOn.versions = this.#random.chance(0.5);
        this.#isOn.immutability = this.#random.chance(0.7);
        return;
      case 'container':
        await blobs.containers.delete(place, {});
        await blobs.containers.create(place, { metadata: [], publicAccess: 'none' });
        return;
      default:
        await this.#keep(kind, blobs);
    }
  }

  async #put(address: ReturnType<typeof at>): Promise<void> {
    const policy = { untilSeconds: this.#until(), mode: this.#mode() };
    const immutability = { policy, hasLegalHold: this.#random.chance(0.3) };
    const properties: NewProperties = {
      headers: {},
      metadata: [],
      tags: [],
      ...(this.#random.chance(0.4) && { immutability }),
    };
    if (this.#random.chance(0.2)) await this.#blobs.putAppendBlob(address, properties);
    else await this.#blobs.putBlockBlob(address, properties, { body: body(this.#content()) });
  }

  async #keep(kind: string, blobs: BlobService): Promise<void> {
    const { address, immutability } = this.#random.pick(await this.#all(blobs));
    const isLocked = immutability?.policy?.mode === 'locked';
    const policy = { untilSeconds: this.#until(), mode: this.#mode() };
    const act = {
      policy: () => blobs.setImmutabilityPolicy(address, policy),
      'no policy': () => blobs.deleteImmutabilityPolicy(address),
      hold: () => blobs.setLegalHold(address, this.#random.chance(0.5)),
    }[kind];
    assert.ok(act !== undefined, kind);
    await act();
    this.#touched = address;
    if (!isLocked || kind === 'hold') return;
    const { immutability: after } = await blobs.getProperties(address);
    const { policy: before } = immutability;
    assert.ok(before !== undefined && after?.policy !== undefined, 'a locked policy stays');
    assert.equal(after.policy.mode, 'locked');
    assert.ok(after.policy.untilSeconds >= before.untilSeconds, 'a locked policy is not shortened');
  }

  #content(): string {
    this.#contents += 1;
    return `content ${this.#contents} ${'x'.repeat(this.#random.pick([0, 40_000]))}`;
  }

  #until(): number {
    return Math.ceil(this.#now / microsPerSecond) + (1 + this.#random.int(72)) * 3_600;
  }

  #mode(): 'locked' | 'unlocked' {
    return this.#random.pick(['locked', 'unlocked']);
  }

  /** All that is there: at least one, so that there is something to pick. */
  async #all(blobs: BlobService): Promise<readonly Listed[]> {
    const query = {
      snapshots: true,
      versions: true,
      uncommitted: false,
      deleted: true,
      limit: 999,
    };
    const { items } = await blobs.listBlobs(place, query);
    const found: { address: SnapshotAddress; immutability?: Immutability; isDeleted: boolean }[] =
      [];
    for (const item of items) {
      assert.ok(item.kind === 'blob');
      const { snapshotMicros, version, properties } = item;
      const past =
        snapshotMicros !== undefined
          ? { snapshotMicros }
          : version !== undefined && { versionMicros: version.micros };
      const immutability = properties?.immutability;
      found.push({
        address: { ...at(item.name), ...past },
        ...(immutability !== undefined && { immutability }),
        isDeleted: item.deleted !== undefined,
      });
    }
    return found.length > 0 ? found : [{ address: at('a'), isDeleted: false }];
  }

  /** The objects that are protected now. */
  async #kept(): Promise<ProtectedObject[]> {
    const blobs = this.#blobs;
    const kept: ProtectedObject[] = [];
    for (const { address, immutability, isDeleted } of await this.#all(blobs)) {
      if (immutability === undefined || !isKept(immutability, this.#now)) continue;
      assert.ok(!isDeleted, 'nothing that is protected is deleted');
      const bytes = await collected((await blobs.getBlob(address)).body);
      const shown = `${address.blob} ${bytes.toString().slice(0, 40)} ${JSON.stringify(immutability)}`;
      kept.push({ address, shown, immutability });
    }
    return kept;
  }
}

/** The rule itself: a hold, or a policy that has not ended. */
function isKept({ policy, hasLegalHold }: Immutability, nowMicros: number): boolean {
  return (
    hasLegalHold || (policy !== undefined && policy.untilSeconds * microsPerSecond > nowMicros)
  );
}

function isSame(left: SnapshotAddress, right: SnapshotAddress | undefined): boolean {
  return right !== undefined && JSON.stringify(left) === JSON.stringify(right);
}

async function run(t: TestContext, seed: number, steps: number): Promise<void> {
  const clock = manualClock();
  const random = new SimRandom(seed);
  const isOn = { versions: true, immutability: true };
  const days = retentionHours / 24;
  const keeps = random.chance(0.5);
  const world = blobWorld(await openTestStore('memory', t, clock), {
    clock,
    count: 2,
    randomness: random,
    versioning: () => isOn.versions,
    immutability: () => isOn.immutability,
    retention: () => Promise.resolve({ enabled: keeps, allowPermanentDelete: true, days }),
  });
  const simulation = new Simulation(random, world, isOn);
  const [blobs] = world.services;
  await blobs?.containers.create(place, { metadata: [], publicAccess: 'none' });
  let most = 0;
  for (let step = 0; step < steps; step += 1) most = Math.max(most, await simulation.step());
  assert.ok(most > 0, 'something was kept');
  await settle(world);
  await assertTidy(world);
}

describe('protected blobs', () => {
  const first = seedSetting('TABULARIUM_SIM_SEED');
  const rounds = byLength({ short: 4, long: 200 });
  for (let round = 0; round < rounds; round += 1) {
    it(
      `are there until their protection ends, whatever else is done (seed ${first + round})`,
      costly(),
      (t) => run(t, first + round, 150),
    );
  }
});
