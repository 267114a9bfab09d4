import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  account,
  assertTidy,
  at,
  blobWorld,
  body,
  collected,
  container,
  microsPerDay,
  sample,
  settle,
  type BlobWorld,
} from '../../../test/support/blob-world.js';
import { byLength, costly, drawn } from '../../../test/support/run-length.js';
import { SimRandom } from '../../../test/support/sim-random.js';
import { reopenableStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { BlobKind } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import type { Store } from '../../kv/store.js';
import type { BlobService } from './blob-service.js';
import type { ListedBlob, BlobStateSelector } from './types.js';

// Random operations on blobs of an account that keeps versions, now and then, and perhaps what is
// deleted, against plain maps. A failure prints its seed.

const names = ['a', 'b'];
const lengths = [0, 10, 40_000];
const pageBytes = 512;
const pages = 8;
const retentionDays = 7;

interface ModelState {
  readonly kind: BlobKind;
  readonly content: Buffer;
  readonly metadata: Metadata;
}

interface ModelCurrent extends ModelState {
  readonly versionMicros: number | undefined;
}

interface ModelPast extends ModelState {
  readonly as: 'snapshot' | 'version';
  readonly isDeleted: boolean;
}

interface ModelBlob {
  current: ModelCurrent | undefined;
  /** The state that was deleted without becoming a version, and is kept. */
  deleted: ModelState | undefined;
  past: Map<number, ModelPast>;
}

class Simulation {
  readonly #random: SimRandom;
  readonly #world: BlobWorld;
  readonly #keepsDeleted: boolean;
  readonly #model = new Map<string, ModelBlob>(
    names.map((name) => [name, { current: undefined, deleted: undefined, past: new Map() }]),
  );
  #isVersioned = true;

  constructor(random: SimRandom, store: Store, clock: BlobWorld['clock']) {
    this.#random = random;
    this.#keepsDeleted = random.int(2) === 0;
    const policy = { enabled: this.#keepsDeleted, days: retentionDays, allowPermanentDelete: true };
    this.#world = blobWorld(store, {
      count: 2,
      clock,
      randomness: random,
      retention: () => Promise.resolve(policy),
      versioning: () => this.#isVersioned,
    });
  }

  get #service(): BlobService {
    return this.#random.pick(this.#world.services);
  }

  async run(steps: number): Promise<void> {
    const made = { metadata: [], publicAccess: 'none' } as const;
    await this.#service.containers.create({ account, container }, made);
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      this.#world.clock.advanceMicros(this.#random.int(3));
      if (step % 20 === 19) await this.#checkAll();
    }
    await this.#checkAll();
    await settle(this.#world);
    await assertTidy(this.#world);
    this.#world.clock.advanceMicros(retentionDays * microsPerDay + 60_000_000);
    await settle(this.#world);
    await assertTidy(this.#world);
    for (const blob of this.#model.values()) {
      blob.deleted = undefined;
      for (const [micros, { isDeleted }] of blob.past) if (isDeleted) blob.past.delete(micros);
    }
    await this.#checkAll();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const name = random.pick(names);
    const blob = this.#blob(name);
    const kinds = { put: 5, append: 4, page: 4, change: 8, metadata: 5, snapshot: 4, copy: 5 };
    const ends = { delete: 3, past: 5, undelete: 2, switch: 1, reclaim: 4 };
    const kind = random.weighted({ ...kinds, ...ends });
    switch (kind) {
      case 'put':
        return this.#put(name, blob);
      case 'append':
        return this.#replace(name, blob, emptyLog, () =>
          this.#service.putAppendBlob(at(name), { headers: {}, metadata: [], tags: [] }),
        );
      case 'page':
        return this.#replace(name, blob, emptyDisk, () =>
          this.#service.putPageBlob(at(name), {
            headers: {},
            metadata: [],
            tags: [],
            bytes: pages * pageBytes,
            sequenceNumber: 0n,
          }),
        );
      case 'change':
        return this.#change(name, blob);
      case 'metadata':
        return this.#metadata(name, blob);
      case 'snapshot':
        return this.#snapshot(name, blob);
      case 'copy':
        return this.#copy(name, blob);
      case 'delete':
        return this.#delete(name, blob);
      case 'past':
        return this.#deletePast(name, blob);
      case 'undelete':
        return this.#undelete(name, blob);
      case 'switch':
        this.#isVersioned = !this.#isVersioned;
        return;
      case 'reclaim':
        await this.#service.reclaim({ entriesMax: 1 + random.int(20) });
    }
  }

  #blob(name: string): ModelBlob {
    const blob = this.#model.get(name);
    assert.ok(blob !== undefined);
    return blob;
  }

  async #put(name: string, blob: ModelBlob): Promise<void> {
    const content = sample(this.#random.pick(lengths), this.#random.int(100));
    const metadata: Metadata = [['k', String(this.#random.int(9))]];
    const properties = { headers: {}, metadata, tags: [] };
    await this.#replace(name, blob, { kind: 'block', content, metadata }, () =>
      this.#service.putBlockBlob(at(name), properties, { body: body(content) }),
    );
  }

  /** A write that replaces the blob, or makes it. */
  async #replace(
    name: string,
    blob: ModelBlob,
    made: ModelState,
    write: () => Promise<{ readonly versionMicros?: number }>,
  ): Promise<void> {
    const { versionMicros } = await write();
    const past: ModelPast[] = [];
    const { current, deleted } = blob;
    if (deleted !== undefined) past.push({ ...deleted, as: 'snapshot', isDeleted: true });
    if (current !== undefined && this.#becomesVersion(current)) {
      past.push({ ...current, as: 'version', isDeleted: false });
    } else if (current !== undefined && this.#keepsDeleted) {
      past.push({ ...current, as: 'snapshot', isDeleted: true });
    }
    await this.#notePast(name, blob, past);
    blob.deleted = undefined;
    this.#noteCurrent(blob, made, versionMicros);
  }

  #becomesVersion({ versionMicros }: ModelCurrent): boolean {
    return this.#isVersioned || versionMicros !== undefined;
  }

  #noteCurrent(blob: ModelBlob, made: ModelState, versionMicros: number | undefined): void {
    assert.equal(versionMicros !== undefined, this.#isVersioned, 'a write makes a version');
    const isLater = [...blob.past.keys()].every((micros) => (versionMicros ?? Infinity) > micros);
    assert.ok(isLater, 'ids ascend');
    blob.current = { ...made, versionMicros };
  }

  /** Checks that a write has left this past state, and finds its name. */
  async #notePast(name: string, blob: ModelBlob, past: readonly ModelPast[]): Promise<void> {
    const listed = await this.#listed(name);
    const added = listed.flatMap((item) => {
      const micros = pastMicros(item);
      return micros === undefined || blob.past.has(micros) ? [] : [{ item, micros }];
    });
    assert.equal(added.length, past.length, 'what a write leaves');
    for (const state of past) {
      const found = added.find(
        ({ item }) => (item.version !== undefined) === (state.as === 'version'),
      );
      assert.ok(found !== undefined, state.as);
      blob.past.set(found.micros, state);
    }
  }

  async #listed(name: string): Promise<readonly ListedBlob[]> {
    const states = { snapshots: true, versions: true, deleted: true, uncommitted: true };
    const query = { ...states, prefix: name, limit: 1000 };
    const { items } = await this.#service.listBlobs({ account, container }, query);
    return [...items].flatMap((item) => (item.kind === 'blob' ? [item] : []));
  }

  /** A change in place of an append or a page blob. */
  async #change(name: string, blob: ModelBlob): Promise<void> {
    const { current } = blob;
    if (current === undefined || current.kind === 'block') return;
    const bytes = sample(pageBytes, this.#random.int(100));
    if (current.kind === 'append') {
      await this.#service.appendBlock(at(name), { body: body(bytes) });
      blob.current = { ...current, content: Buffer.concat([current.content, bytes]) };
      return;
    }
    const start = this.#random.int(pages) * pageBytes;
    const bounds = { start, end: start + pageBytes };
    const content = Buffer.from(current.content);
    if (this.#random.int(3) === 0) {
      await this.#service.clearPages(at(name), bounds);
      content.fill(0, bounds.start, bounds.end);
    } else {
      await this.#service.putPages(at(name), bounds, { body: body(bytes) });
      bytes.copy(content, start);
    }
    blob.current = { ...current, content };
  }

  async #metadata(name: string, blob: ModelBlob): Promise<void> {
    const { current } = blob;
    if (current === undefined) return;
    const metadata: Metadata = [['m', String(this.#random.int(9))]];
    const { versionMicros } = await this.#service.setMetadata(at(name), metadata);
    if (this.#becomesVersion(current)) {
      await this.#notePast(name, blob, [{ ...current, as: 'version', isDeleted: false }]);
    }
    this.#noteCurrent(blob, { ...current, metadata }, versionMicros);
  }

  async #snapshot(name: string, blob: ModelBlob): Promise<void> {
    const { current } = blob;
    if (current === undefined) return;
    const { versionMicros } = await this.#service.snapshotBlob(at(name));
    const snapshot = { ...current, as: 'snapshot', isDeleted: false } as const;
    const version = { ...current, as: 'version', isDeleted: false } as const;
    const past = this.#becomesVersion(current) ? [snapshot, version] : [snapshot];
    await this.#notePast(name, blob, past);
    this.#noteCurrent(blob, current, versionMicros);
  }

  async #copy(name: string, blob: ModelBlob): Promise<void> {
    const from = this.#random.pick(names);
    const sources = [...this.#states(this.#blob(from))];
    if (sources.length === 0) return;
    const { selector, state } = this.#random.pick(sources);
    const request = { source: { ...at(from), ...selector }, sourceUrl: 'http://h/x', tags: [] };
    const copy = () => this.#service.copyBlob(at(name), request);
    const kind = blob.current?.kind ?? state.kind;
    if (kind !== state.kind) return assert.rejects(copy(), { code: 'InvalidBlobType' });
    await this.#replace(name, blob, state, copy);
  }

  async #delete(name: string, blob: ModelBlob): Promise<void> {
    const { current } = blob;
    const removed = await this.#outcome(() =>
      this.#service.deleteBlob(at(name), { snapshots: 'include' }),
    );
    assert.equal(removed, current === undefined ? 'BlobNotFound' : 'ok');
    if (current === undefined) return;
    for (const [micros, past] of blob.past) {
      if (past.as === 'snapshot' && !past.isDeleted) this.#drop(blob, micros, past);
    }
    blob.current = undefined;
    if (this.#becomesVersion(current)) {
      await this.#notePast(name, blob, [{ ...current, as: 'version', isDeleted: false }]);
    } else if (this.#keepsDeleted) blob.deleted = current;
  }

  #drop(blob: ModelBlob, micros: number, past: ModelPast): void {
    if (this.#keepsDeleted) blob.past.set(micros, { ...past, isDeleted: true });
    else blob.past.delete(micros);
  }

  async #deletePast(name: string, blob: ModelBlob): Promise<void> {
    if (blob.past.size === 0) return;
    const [micros, past] = this.#random.pick([...blob.past]);
    const address = { ...at(name), ...selectorOf(micros, past) };
    const removed = await this.#outcome(() => this.#service.deleteBlob(address));
    assert.equal(removed, past.isDeleted ? 'BlobNotFound' : 'ok');
    if (!past.isDeleted) return this.#drop(blob, micros, past);
    if (this.#random.int(3) > 0) return undefined;
    await this.#service.deleteBlob(address, { permanently: true });
    blob.past.delete(micros);
  }

  async #undelete(name: string, blob: ModelBlob): Promise<void> {
    const restored = await this.#outcome(() => this.#service.undeleteBlob(at(name)));
    const isThere = blob.current !== undefined || blob.deleted !== undefined;
    const hasVersions = [...blob.past.values()].some(({ as }) => as === 'version');
    assert.equal(restored, isThere || hasVersions ? 'ok' : 'BlobNotFound');
    for (const [micros, past] of blob.past) {
      const comesBack = isThere || past.as === 'version';
      if (comesBack) blob.past.set(micros, { ...past, isDeleted: false });
    }
    if (blob.deleted === undefined) return;
    blob.current = { ...blob.deleted, versionMicros: undefined };
    blob.deleted = undefined;
  }

  async #outcome(operation: () => Promise<unknown>): Promise<string> {
    try {
      await operation();
      return 'ok';
    } catch (error) {
      if (error instanceof StorageError) return error.code;
      throw error;
    }
  }

  /** The readable states of a blob. */
  *#states({
    current,
    past,
  }: ModelBlob): Generator<{ selector: BlobStateSelector; state: ModelState }> {
    if (current !== undefined) {
      yield { selector: {}, state: current };
      const { versionMicros } = current;
      if (versionMicros !== undefined) yield { selector: { versionMicros }, state: current };
    }
    for (const [micros, state] of past) {
      if (!state.isDeleted) yield { selector: selectorOf(micros, state), state };
    }
  }

  async #checkAll(): Promise<void> {
    for (const [name, blob] of this.#model) {
      for (const { selector, state } of this.#states(blob)) {
        const reading = await this.#service.getBlob({ ...at(name), ...selector });
        assert.ok((await collected(reading.body)).equals(state.content), 'content');
        assert.deepEqual(reading.properties.metadata, state.metadata);
        assert.equal(reading.properties.version?.micros, versionIdOf(selector, blob));
      }
      const shown = (await this.#listed(name)).map((item) =>
        [pastMicros(item), item.deleted !== undefined].join(' '),
      );
      const wanted = [...blob.past]
        .toSorted(([left], [right]) => left - right)
        .map(([micros, { isDeleted }]) => [micros, isDeleted].join(' '));
      const isDeleted = blob.deleted !== undefined;
      if (blob.current !== undefined || isDeleted) wanted.push([undefined, isDeleted].join(' '));
      assert.deepEqual(shown, wanted);
    }
  }
}

const emptyLog: ModelState = { kind: 'append', content: Buffer.alloc(0), metadata: [] };
const disk = Buffer.alloc(pages * pageBytes);
const emptyDisk: ModelState = { kind: 'page', content: disk, metadata: [] };

/** The name of a snapshot or a version of the past. */
function pastMicros({ snapshotMicros, version }: ListedBlob): number | undefined {
  return version?.isCurrent === false ? version.micros : snapshotMicros;
}

function selectorOf(micros: number, { as }: ModelPast): BlobStateSelector {
  return as === 'version' ? { versionMicros: micros } : { snapshotMicros: micros };
}

function versionIdOf({ snapshotMicros, versionMicros }: BlobStateSelector, { current }: ModelBlob) {
  if (snapshotMicros !== undefined) return undefined;
  return versionMicros ?? current?.versionMicros;
}

async function simulate(seed: number, steps: number): Promise<void> {
  const clock = manualClock();
  await using opened = await reopenableStore.memory(clock);
  try {
    await new Simulation(new SimRandom(seed), opened.store(), clock).run(steps);
  } catch (error) {
    throw new Error(`with the seed ${seed}`, { cause: error });
  }
}

describe('random operations on blobs with versions', () => {
  it('keep what an account is to keep, and leave nothing behind', costly(), async () => {
    const rounds = byLength({ short: 6, long: 200 });
    const first = drawn(1_000_000);
    for (let round = 0; round < rounds; round += 1) {
      await simulate(first + round, byLength({ short: 120, long: 400 }));
    }
  });
});
