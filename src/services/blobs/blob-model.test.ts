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
  md5Of,
  sample,
  settle,
  type BlobWorld,
} from '../../../test/support/blob-world.js';
import { byLength, costly, drawn } from '../../../test/support/run-length.js';
import { SimRandom } from '../../../test/support/sim-random.js';
import { engineNames, reopenableStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import type { BlockReference, BlockSource } from '../../model/blobs/block-list.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { StoreBusyError } from '../../kv/errors.js';
import type { Store } from '../../kv/store.js';
import type { BlobService } from './blob-service.js';

// Random operations of several processes against plain maps, with commits that fail. A failure
// prints its seed.

const names = ['a', 'a/b', 'b\0', 'ü'];
const blockIds = ['1', '2', '3'];
const lengths = [0, 1, 5_000, 32_768, 32_769, 90_000];

interface ModelBlock {
  readonly id: string;
  readonly bytes: Buffer;
}

/** A blob by the rules of the protocol. */
interface ModelBlob {
  committed: { blocks: readonly ModelBlock[]; content: Buffer; metadata: Metadata } | undefined;
  uncommitted: Map<string, Buffer>;
}

class Simulation {
  readonly #random: SimRandom;
  readonly #world: BlobWorld;
  #model = new Map<string, ModelBlob>();
  #failing = 0;

  constructor(random: SimRandom, store: Store, clock: BlobWorld['clock']) {
    this.#random = random;
    const commits = (inner: Store): Store => ({
      ...bound(inner),
      commit: async (batch) => {
        if (this.#failing > 0 && random.int(3) === 0) {
          this.#failing -= 1;
          throw new StoreBusyError();
        }
        return inner.commit(batch);
      },
    });
    this.#world = blobWorld(store, { count: 2, clock, randomness: random, commits });
  }

  async run(steps: number): Promise<void> {
    await this.#create();
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      this.#world.clock.advanceMicros(this.#random.int(3) * 1_000_000);
      if (step % 50 === 49) await this.#checkAll();
    }
    await this.#checkAll();
    this.#failing = 0;
    await settle(this.#world);
    await assertTidy(this.#world);
    await this.#checkAll();
  }

  async #create(): Promise<void> {
    const address = { account, container };
    await this.#service.containers.create(address, { metadata: [], publicAccess: 'none' });
    this.#model = new Map();
  }

  get #service(): BlobService {
    return this.#random.pick(this.#world.services);
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const name = random.pick(names);
    const blob = this.#model.get(name);
    switch (
      random.weighted({
        put: 4,
        block: 8,
        list: 5,
        metadata: 2,
        delete: 2,
        reclaim: 4,
        fail: 2,
        drop: 1,
      })
    ) {
      case 'put':
        return this.#put(name);
      case 'block':
        return this.#block(name, blob);
      case 'list':
        return this.#list(name, blob);
      case 'metadata':
        return this.#metadata(name, blob);
      case 'delete': {
        const deleted = await this.#outcome(() => this.#service.deleteBlob(at(name)));
        if (deleted === 'failed') return;
        assert.equal(deleted, blob === undefined ? 'BlobNotFound' : 'ok');
        this.#model.delete(name);
        return;
      }
      case 'reclaim':
        await this.#outcome(() => this.#service.reclaim({ entriesMax: 1 + random.int(20) }));
        return;
      case 'fail':
        this.#failing = 1 + random.int(3);
        return;
      case 'drop':
        if (random.int(5) > 0) return;
        this.#failing = 0;
        await this.#service.containers.delete({ account, container }, {});
        await this.#create();
        return;
    }
  }

  async #put(name: string): Promise<void> {
    const content = sample(this.#random.pick(lengths), this.#random.int(100));
    const metadata = this.#newMetadata();
    const done = await this.#outcome(() =>
      this.#service.putBlockBlob(
        at(name),
        { headers: {}, metadata, tags: [] },
        { body: body(content) },
      ),
    );
    if (done === 'failed') return;
    assert.equal(done, 'ok');
    this.#model.set(name, {
      committed: { blocks: [], content, metadata },
      uncommitted: new Map(),
    });
  }

  async #block(name: string, blob: ModelBlob | undefined): Promise<void> {
    const id = this.#random.pick(blockIds);
    const bytes = sample(1 + this.#random.pick(lengths), this.#random.int(100));
    const done = await this.#outcome(() =>
      this.#service.putBlock(at(name), { id: Buffer.from(id) }, { body: body(bytes) }),
    );
    if (done === 'failed') return;
    assert.equal(done, 'ok');
    const changed = blob ?? { committed: undefined, uncommitted: new Map<string, Buffer>() };
    changed.uncommitted.set(id, bytes);
    this.#model.set(name, changed);
  }

  async #list(name: string, blob: ModelBlob | undefined): Promise<void> {
    const sources: readonly BlockSource[] = ['committed', 'uncommitted', 'latest', 'latest'];
    const wanted = Array.from({ length: this.#random.int(7) }, () => ({
      source: this.#random.pick(sources),
      id: this.#random.pick(blockIds),
    }));
    const found = wanted.map(({ source, id }) => findBlock(blob, source, id));
    const metadata = this.#newMetadata();
    const blocks = wanted.map(({ source, id }): BlockReference => ({
      source,
      id: Buffer.from(id),
    }));
    const done = await this.#outcome(() =>
      this.#service.putBlockList(at(name), { headers: {}, metadata, tags: [], blocks }),
    );
    if (done === 'failed') return;
    const isThere = found.every((block) => block !== undefined);
    assert.equal(done, isThere ? 'ok' : 'InvalidBlockList');
    if (!isThere) return;
    const content = Buffer.concat(found.map(({ bytes }) => bytes));
    this.#model.set(name, {
      committed: { blocks: found, content, metadata },
      uncommitted: new Map(),
    });
  }

  async #metadata(name: string, blob: ModelBlob | undefined): Promise<void> {
    const metadata = this.#newMetadata();
    const done = await this.#outcome(() => this.#service.setMetadata(at(name), metadata));
    if (done === 'failed') return;
    assert.equal(done, blob?.committed === undefined ? 'BlobNotFound' : 'ok');
    if (blob?.committed !== undefined) blob.committed = { ...blob.committed, metadata };
  }

  #newMetadata(): Metadata {
    return [['k', `${this.#random.int(1000)}`]];
  }

  /** `ok`, the code of a refusal, or `failed` when the store did. */
  async #outcome(operation: () => Promise<unknown>): Promise<string> {
    try {
      await operation();
      return 'ok';
    } catch (error) {
      if (error instanceof StorageError) return error.code;
      if (error instanceof StoreBusyError) return 'failed';
      throw error;
    }
  }

  async #checkAll(): Promise<void> {
    for (const name of names) await this.#check(name);
  }

  async #check(name: string): Promise<void> {
    const { committed, uncommitted } = this.#model.get(name) ?? {};
    const service = this.#service;
    const read = () => service.getBlob(at(name));
    if (committed === undefined) {
      assert.equal(await this.#outcome(read), 'BlobNotFound');
    } else {
      const reading = await read();
      const found = await collected(reading.body);
      assert.ok(found.equals(committed.content), `content of ${name}`);
      assert.deepEqual(reading.properties.metadata, committed.metadata);
      if (committed.blocks.length === 0 && reading.properties.headers.contentMd5 !== undefined) {
        assert.deepEqual(Buffer.from(reading.properties.headers.contentMd5), md5Of(found));
      }
      await this.#checkRange(service, name, committed.content);
    }
    if (committed === undefined && uncommitted === undefined) return;
    const { blocks } = await service.getBlockList(at(name), 'all');
    const shown = (part: typeof blocks.committed = []) =>
      part.map(({ id, bytes }) => `${Buffer.from(id).toString()}:${bytes}`);
    const wanted = (part: readonly ModelBlock[]) =>
      part.map(({ id, bytes }) => `${id}:${bytes.length}`);
    assert.deepEqual(shown(blocks.committed), wanted(committed?.blocks ?? []));
    const waiting = [...(uncommitted ?? [])].map(([id, bytes]) => ({ id, bytes }));
    assert.deepEqual(shown(blocks.uncommitted), wanted(waiting).toSorted());
  }

  async #checkRange(service: BlobService, name: string, content: Buffer): Promise<void> {
    if (content.length === 0) return;
    const first = this.#random.int(content.length);
    const last = first + this.#random.int(content.length);
    const { body: found } = await service.getBlob(at(name), { range: { first, last } });
    const wanted = content.subarray(first, last + 1);
    assert.ok((await collected(found)).equals(wanted), `${first} to ${last} of ${name}`);
  }
}

function findBlock(
  blob: ModelBlob | undefined,
  source: BlockSource,
  id: string,
): ModelBlock | undefined {
  const bytes = blob?.uncommitted.get(id);
  if (source !== 'committed' && bytes !== undefined) return { id, bytes };
  if (source === 'uncommitted') return undefined;
  // A list may have made a committed block and a new one of the same id parts of the blob.
  return blob?.committed?.blocks.findLast((block) => block.id === id);
}

/** The methods of a store, so that some can be replaced. */
function bound(store: Store): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    commit: (batch) => store.commit(batch),
    close: () => store.close(),
  };
}

async function simulate(engine: EngineName, seed: number, steps: number): Promise<void> {
  const clock = manualClock();
  await using opened = await reopenableStore[engine](clock);
  try {
    await new Simulation(new SimRandom(seed), opened.store(), clock).run(steps);
  } catch (error) {
    throw new Error(`with the seed ${seed}`, { cause: error });
  }
}

for (const engine of engineNames) {
  describe(`random operations on blobs over ${engine}`, () => {
    it(
      'have the outcome that the protocol gives them, and leave nothing behind',
      costly(),
      async () => {
        const rounds = byLength({ short: 3, long: 100 });
        const first = drawn(1_000_000);
        for (let round = 0; round < rounds; round += 1) {
          await simulate(engine, first + round, byLength({ short: 250, long: 600 }));
        }
      },
    );
  });
}
