import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { costly } from '../../../test/support/run-length.js';
import { systemTimers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { systemRandomness } from '../../base/randomness.js';
import type { Store } from '../../kv/store.js';
import { openMemoryContent } from '../../content/memory/content.js';
import { BlobService } from '../../services/blobs/blob-service.js';
import { QueueService } from '../../services/queues/queue-service.js';
import { TableService } from '../../services/tables/table-service.js';
import { decodeBag } from '../../model/bag/bag.js';
import type { Property } from '../../model/edm/value.js';
import { openTestStore } from '../../../test/support/stores.js';
import {
  SeedError,
  type SeedBlob,
  type SeedData,
  type SeedEntity,
  type SeedValue,
} from './seed-data.js';
import { checkSeedShape } from './seed-shape.js';
import { seed } from './seed.js';

const account = 'acct';

/** The services of a server over a store that fails at a given commit, like a killed process. */
class World {
  readonly #store: Store;
  commits = 0;
  breaksAt = Infinity;
  readonly tables: TableService;
  readonly queues: QueueService;
  readonly blobs: BlobService;

  permitsPublicAccess = true;

  constructor(store: Store) {
    this.#store = store;
    const breaking: Store = {
      get: (key) => store.get(key),
      getMany: (keys) => store.getMany(keys),
      range: (range, options) => store.range(range, options),
      commit: (batch) => this.#commit(batch),
      close: () => store.close(),
    };
    const parts = { store: breaking, clock: forwardClock(systemClock) };
    this.tables = new TableService(parts);
    const random = { ...parts, randomness: systemRandomness };
    this.queues = new QueueService(random);
    const content = openMemoryContent();
    const permitsPublicAccess = () => this.permitsPublicAccess;
    const timers = systemTimers;
    this.blobs = new BlobService({ ...random, content, timers, permitsPublicAccess });
  }

  async seed(data: SeedData) {
    checkSeedShape(data);
    const { tables, queues, blobs } = this;
    return seed({ tables, queues, blobs, accounts: [account, 'other'] }, data);
  }

  async entities(table: string): Promise<Record<string, readonly Property[]>> {
    const { entities } = await this.tables.queryEntities(account, table, {});
    return Object.fromEntries(
      entities.map(({ partitionKey, rowKey, bag }) => [
        `${partitionKey}/${rowKey}`,
        decodeBag(bag),
      ]),
    );
  }

  async texts(queue: string): Promise<string[]> {
    const messages = await this.queues.peekMessages(account, queue, 32);
    return messages.map(({ text }) => text);
  }

  /** The blobs of a container: content, media type, metadata and tags. */
  async blobsOf(container: string): Promise<Record<string, unknown>> {
    const query = { snapshots: false, uncommitted: false, deleted: false, limit: 100 };
    const { items } = await this.blobs.listBlobs({ account, container }, query);
    const found: Record<string, unknown> = {};
    for (const { name: blob } of items) {
      const { properties, body } = await this.blobs.getBlob({ account, container, blob });
      const { headers, metadata, tags } = properties;
      const pieces: Buffer[] = [];
      for await (const piece of body) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      found[blob] = [bytes.toString(), headers.contentType, metadata, tags];
    }
    return found;
  }

  /** Everything that a client can read from the account. */
  async state() {
    const { tables } = await this.tables.queryTables(account, {});
    const { queues } = await this.queues.listQueues(account, { limit: 100 });
    const rows = tables.map(async ({ name }) => [name, await this.entities(name)] as const);
    const texts = Array.from(
      queues,
      async (queue) => [queue, await this.texts(queue.name)] as const,
    );
    const { containers } = await this.blobs.containers.list(account, { limit: 100 });
    const blobs = Array.from(containers, async ({ name, metadata, publicAccess }) => {
      return [name, metadata, publicAccess, await this.blobsOf(name)] as const;
    });
    return [await Promise.all(rows), await Promise.all(texts), await Promise.all(blobs)];
  }

  async #commit(batch: Parameters<Store['commit']>[0]) {
    this.commits += 1;
    if (this.commits >= this.breaksAt) throw new Error('killed');
    return this.#store.commit(batch);
  }
}

async function openWorld(context: TestContext): Promise<World> {
  return new World(await openTestStore('memory', context, systemClock));
}

function rows(partitionKey: string, count: number): SeedEntity[] {
  return Array.from({ length: count }, (_, at) => ({
    PartitionKey: partitionKey,
    RowKey: String(at).padStart(4, '0'),
    Number: at,
  }));
}

async function* streamOf(entities: readonly SeedEntity[]): AsyncGenerator<SeedEntity> {
  yield* entities;
}

async function* piecesOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

function blobWith(blob: SeedBlob, name = 'b'): SeedData {
  return { containers: { photos: { blobs: { [name]: blob } } } };
}

const whole: SeedData = {
  tables: {
    people: { entities: [...rows('a', 150), ...rows('b', 3)], stream: streamOf([]) },
    empty: null,
  },
  queues: {
    work: { metadata: { owner: 'me' }, messages: ['one', 'two', { text: 'three' }] },
    idle: { metadata: { owner: 'you' } },
  },
  containers: {
    photos: {
      metadata: { owner: 'me' },
      publicAccess: 'blob',
      blobs: {
        'notes/hello.txt': 'Hello',
        empty: null,
        picture: {
          base64: 'AAEC',
          tier: 'Cool',
          contentType: 'image/png',
          metadata: { Size: 'small' },
          tags: { project: 'garden' },
        },
        bytes: { bytes: Buffer.from('in bytes'), type: 'page', tier: 'P10' },
        pieces: {
          stream: () => piecesOf('in ', 'pieces'),
          type: 'append',
          metadata: { is: 'log' },
        },
      },
    },
    bare: null,
  },
};

describe('a seed', () => {
  it(
    'makes the same whichever commit it was killed at, when it is done again',
    costly(),
    async (context) => {
      const undisturbed = await openWorld(context);
      await undisturbed.seed(whole);
      const expected = await undisturbed.state();
      assert.ok(undisturbed.commits > 8);
      for (let breaksAt = 1; breaksAt <= undisturbed.commits; breaksAt++) {
        const world = await openWorld(context);
        world.breaksAt = breaksAt;
        await assert.rejects(world.seed(whole), /killed/);
        world.breaksAt = Infinity;
        await world.seed(whole);
        assert.deepEqual(await world.state(), expected, `killed at commit ${breaksAt}`);
      }
    },
  );

  it('leaves what exists as it is', async (context) => {
    const world = await openWorld(context);
    await world.seed({
      tables: { people: { entities: [{ PartitionKey: 'a', RowKey: '0001', Mine: true }] } },
      queues: { work: { metadata: { owner: 'first' }, messages: ['kept'] } },
    });
    const { keptEntities, keptQueues } = await world.seed(whole);
    assert.deepEqual([keptEntities, keptQueues], [1, 1]);
    const people = await world.entities('people');
    assert.deepEqual(people['a/0001'], [
      { name: 'Mine', value: { type: 'Edm.Boolean', value: true } },
    ]);
    assert.equal(Object.keys(people).length, 153);
    assert.deepEqual(await world.texts('work'), ['kept']);
    const { metadata } = await world.queues.getQueue(account, 'work');
    assert.deepEqual(metadata, [['owner', 'first']]);
  });

  it('makes containers with blobs of every kind of content', async (context) => {
    const world = await openWorld(context);
    const { containers, blobs, keptBlobs } = await world.seed(whole);
    assert.deepEqual([containers, blobs, keptBlobs], [2, 5, 0]);
    const plain = 'application/octet-stream';
    assert.deepEqual(await world.blobsOf('photos'), {
      bytes: ['in bytes'.padEnd(512, '\0'), plain, [], []],
      empty: ['', plain, [], []],
      'notes/hello.txt': ['Hello', plain, [], []],
      picture: ['\0\x01\x02', 'image/png', [['Size', 'small']], [['project', 'garden']]],
      pieces: ['in pieces', plain, [['is', 'log']], []],
    });
    const kindOf = async (blob: string) => {
      const { kind, tier } = await world.blobs.getProperties({
        account,
        container: 'photos',
        blob,
      });
      return [kind, tier?.tier];
    };
    assert.deepEqual(await kindOf('picture'), ['block', 'Cool']);
    assert.deepEqual(await kindOf('bytes'), ['page', 'P10']);
    assert.deepEqual(await kindOf('pieces'), ['append', undefined]);
    const { metadata, publicAccess } = await world.blobs.containers.get(
      { account, container: 'photos' },
      {},
    );
    assert.deepEqual([metadata, publicAccess], [[['owner', 'me']], 'blob']);
  });

  it('leaves containers and blobs as they are, or replaces them', async (context) => {
    const world = await openWorld(context);
    await world.seed(whole);
    const photos = {
      metadata: { owner: 'you' },
      publicAccess: 'none',
      blobs: { empty: 'no more', other: 'new' },
    } as const;
    const { keptBlobs } = await world.seed({ containers: { photos } });
    assert.equal(keptBlobs, 1);
    const [, , [, first] = []] = await world.state();
    assert.deepEqual(first?.slice(0, 3), ['photos', [['owner', 'me']], 'blob']);
    const contentOf = async (name: string) => (await world.blobsOf('photos'))[name];
    const plain = 'application/octet-stream';
    assert.deepEqual(await contentOf('empty'), ['', plain, [], []]);
    assert.deepEqual(await contentOf('other'), ['new', plain, [], []]);

    await world.seed({ ifExists: 'replace', containers: { photos } });
    const [, , [, second] = []] = await world.state();
    assert.deepEqual(second?.slice(0, 3), ['photos', [['owner', 'you']], 'none']);
    assert.deepEqual(await contentOf('empty'), ['no more', plain, [], []]);
    assert.equal(Object.keys(await world.blobsOf('photos')).length, 6);
  });

  it('keeps public containers where new ones are refused', async (context) => {
    const world = await openWorld(context);
    await world.seed(whole);
    world.permitsPublicAccess = false;
    const { keptBlobs } = await world.seed(whole);
    assert.equal(keptBlobs, 5);
    const refused = async (data: SeedData, container: string) =>
      assert.rejects(
        world.seed(data),
        (error) => error instanceof SeedError && error.path.join(' ') === `containers ${container}`,
      );
    const fresh = {
      queues: { other: {} },
      containers: { fresh: { publicAccess: 'blob' } },
    } as const;
    const before = await world.state();
    await refused(fresh, 'fresh');
    await refused({ ...whole, ...fresh, ifExists: 'replace' }, 'fresh');
    await refused({ ...whole, ifExists: 'replace' }, 'photos');
    assert.deepEqual(await world.state(), before, 'something was made before it was refused');
    const [, , containers = []] = await world.state();
    const kept = containers.map(([name, , publicAccess]) => [name, publicAccess]);
    assert.deepEqual(kept, [
      ['bare', 'none'],
      ['photos', 'blob'],
    ]);
  });

  it('does not bring messages back that were taken', async (context) => {
    const world = await openWorld(context);
    await world.seed(whole);
    await world.queues.clearMessages(account, 'work');
    await world.seed(whole);
    assert.deepEqual(await world.texts('work'), []);
  });

  it('replaces what exists when it is told to, the last of equal keys in a stream wins', async (context) => {
    const world = await openWorld(context);
    await world.seed({
      tables: { people: { entities: [{ PartitionKey: 'a', RowKey: '0001', Mine: true }] } },
      queues: { work: { messages: ['old'] } },
    });
    const twice = [
      { PartitionKey: 'z', RowKey: '1', Number: 1 },
      { PartitionKey: 'z', RowKey: '1', Number: 2 },
    ];
    await world.seed({
      ...whole,
      ifExists: 'replace',
      tables: { people: { entities: rows('a', 2), stream: streamOf(twice) } },
    });
    const people = await world.entities('people');
    assert.equal(people['a/0001']?.[0]?.name, 'Number');
    assert.deepEqual(people['z/1']?.[0]?.value, { type: 'Edm.Int32', value: 2 });
    assert.deepEqual(await world.texts('work'), ['one', 'two', 'three']);
  });

  it('puts every account where it belongs and counts what it has done', async (context) => {
    const world = await openWorld(context);
    const seen: number[] = [];
    const counts = await world.seed({
      ...whole,
      accounts: { other: { queues: { theirs: { messages: ['m'] } } } },
      progress: ({ entities, messages }) => seen.push(entities + messages),
    });
    const made = { tables: 2, queues: 3, containers: 2, entities: 153, messages: 4, blobs: 5 };
    assert.deepEqual(counts, { ...made, keptEntities: 0, keptQueues: 0, keptBlobs: 0 });
    assert.deepEqual(
      seen,
      seen.toSorted((left, right) => left - right),
    );
    assert.equal(seen.at(-1), 157);
    const theirs = await world.queues.peekMessages('other', 'theirs', 1);
    assert.equal(theirs[0]?.text, 'm');
  });

  const keys = { PartitionKey: 'a', RowKey: '1' };
  const values: readonly [given: SeedValue, type: string, value: unknown][] = [
    ['text', 'Edm.String', 'text'],
    [7, 'Edm.Int32', 7],
    [-2_147_483_648, 'Edm.Int32', -2_147_483_648],
    [2_147_483_648, 'Edm.Int64', 2_147_483_648n],
    [9_007_199_254_740_993n, 'Edm.Int64', 9_007_199_254_740_993n],
    [1.5, 'Edm.Double', 1.5],
    [NaN, 'Edm.Double', NaN],
    [false, 'Edm.Boolean', false],
    [new Date('1601-01-01T00:00:00Z'), 'Edm.DateTime', 504_911_232_000_000_000n],
    [Uint8Array.of(1, 2), 'Edm.Binary', Uint8Array.of(1, 2)],
    [{ type: 'Double', value: 1 }, 'Edm.Double', 1],
    [{ type: 'Edm.Int64', value: '5' }, 'Edm.Int64', 5n],
    [
      { type: 'Guid', value: 'C9DA6455-213D-42C9-9A79-3E9149A57833' },
      'Edm.Guid',
      'c9da6455-213d-42c9-9a79-3e9149a57833',
    ],
  ];
  for (const [given, type, value] of values) {
    it(`stores ${inspect(given)} as ${type}`, async (context) => {
      const world = await openWorld(context);
      await world.seed({ tables: { types: { entities: [{ ...keys, Value: given }] } } });
      const [property] = (await world.entities('types'))['a/1'] ?? [];
      assert.equal(property?.value.type, type);
      const stored = property.value.value;
      assert.deepEqual(stored instanceof Uint8Array ? new Uint8Array(stored) : stored, value);
    });
  }

  it('takes the types of annotations, and leaves out nulls and what answers have', async (context) => {
    const world = await openWorld(context);
    const entity = {
      ...keys,
      'odata.etag': 'W/"x"',
      Timestamp: '2020-01-01T00:00:00Z',
      Nothing: null,
      'Count@odata.type': 'Edm.Int64',
      Count: '12',
    };
    await world.seed({ tables: { types: { entities: [entity] } } });
    assert.deepEqual((await world.entities('types'))['a/1'], [
      { name: 'Count', value: { type: 'Edm.Int64', value: 12n } },
    ]);
  });

  it('stores properties that are named like members of every object', async (context) => {
    const world = await openWorld(context);
    const names = Object.getOwnPropertyNames(Object.prototype);
    const entity: SeedEntity = {
      ...keys,
      ...Object.fromEntries(names.map((name) => [name, name])),
    };
    await world.seed({ tables: { types: { entities: [entity] } } });
    assert.deepEqual(
      (await world.entities('types'))['a/1']?.map(({ name, value }) => [name, value.value]),
      names.map((name) => [name, name]),
    );
  });

  const entityWith = (entity: Readonly<Record<string, unknown>>): SeedData => ({
    tables: { good: null, people: { entities: [{ ...keys, ...entity }] } },
  });
  const refused: readonly [what: string, data: SeedData, path: string, reason: RegExp][] = [
    ['a whole number that is not exact', entityWith({ N: 2 ** 60 }), 'N', /Int64/],
    [
      'an unknown type',
      entityWith({ N: { type: 'Int', value: 1 } }),
      'N.type',
      /must be String, Int32.*not "Int"/,
    ],
    ['a value of another type', entityWith({ N: { type: 'Int32', value: 'x' } }), 'N', /Edm.Int32/],
    ['a list', entityWith({ N: [1] }), 'N', /must be a text, a number.*not a list of 1/],
    ['a name that no property has', entityWith({ 'a b': 1 }), 'a b', /this name/],
    ['an entity whose key is no text', entityWith({ RowKey: 1 }), 'RowKey', /must be a text/],
    [
      'an entity without a key',
      { tables: { t: { entities: [{ RowKey: 'a' }] } } },
      'entities.0',
      /needs the member 'PartitionKey'/,
    ],
    [
      'two entities with the same keys',
      { tables: { people: { entities: [keys, keys] } } },
      'tables.people.entities.1',
      /same keys/,
    ],
    ['a bad table name', { tables: { 'a-b': null } }, 'tables.a-b', /InvalidResourceName/],
    ['a bad queue name', { queues: { A: null } }, 'queues.A', /OutOfRangeInput/],
    ['an unknown account', { accounts: { nope: {} } }, 'accounts.nope', /it has: acct, other/],
    [
      'a text that no message can have',
      { queues: { work: { messages: ['\u0000'] } } },
      'queues.work.messages.0',
      /characters/,
    ],
    [
      'a message that is never visible',
      {
        queues: { work: { messages: [{ text: 'x', visibilitySeconds: 9, timeToLiveSeconds: 9 }] } },
      },
      'queues.work.messages.0',
      /less than the message lives/,
    ],
    ['a bad container name', { containers: { A: null } }, 'containers.A', /OutOfRangeInput/],
    ['a container of the service', { containers: { $logs: null } }, '$logs', /keeps this/],
    ['a blob without a name', blobWith({}, ''), 'blobs.', /InvalidUri/],
    ['a folder in the root', { containers: { $root: { blobs: { 'a/b': '' } } } }, 'a/b', /Uri/],
    ['two contents', blobWith({ text: 'a', base64: '' }), 'blobs.b', /text and base64/],
    ['what is no base64', blobWith({ base64: 'a' }), 'b.base64', /no base64/],
    ['a header in two lines', blobWith({ contentType: 'a\nb' }), 'b.contentType', /header/],
    ['metadata that none can have', blobWith({ metadata: { 'a b': '' } }), 'metadata', /InvalidM/],
    ['a tier of another type', blobWith({ tier: 'P4' }), 'blobs.b.tier', /AccessTierNotSupported/],
    ['an append blob with a tier', blobWith({ type: 'append', tier: 'Hot' }), 'b.tier', /NotSupp/],
    ['a tag that none can have', blobWith({ tags: { a: '!' } }), 'b.tags', /InvalidTag/],
    ['a file in a program', blobWith({ file: 'x' } as object), 'b', /'file'/],
    ['another way', { ifExists: 'fail' as 'skip' }, 'ifExists', /skip or replace/],
  ];
  for (const [what, data, path, reason] of refused) {
    it(`refuses ${what} before it makes anything`, async (context) => {
      const world = await openWorld(context);
      await assert.rejects(world.seed(data), (error: unknown) => {
        assert.ok(error instanceof SeedError);
        assert.ok(error.path.join('.').endsWith(path), error.path.join('.'));
        assert.match(error.reason, reason);
        return true;
      });
      assert.equal(world.commits, 0);
    });
  }

  const misshapen: readonly [data: object, path: string, reason: RegExp][] = [
    [{ tabels: {} }, '', /has no member 'tabels'.*Did you mean 'tables'\?/],
    [{ tables: [] }, 'tables', /must be an object .*, not an empty list/],
    [{ tables: { people: [] } }, 'tables.people', /not an empty list/],
    [{ tables: { people: { entitys: [] } } }, 'people', /Did you mean 'entities'\?/],
    [{ tables: { people: { entities: {} } } }, 'entities', /must be a list, not an object/],
    [{ tables: { people: { entities: [null] } } }, 'entities.0', /an object with .*, not null/],
    [{ tables: { people: { stream: 1 } } }, 'stream', /must be an async iterable, not 1/],
    [{ queues: { work: ['a'] } }, 'queues.work', /not a list of 1/],
    [{ queues: { work: { mesages: ['a'] } } }, 'work', /Did you mean 'messages'\?/],
    [{ queues: { work: { messages: 'a' } } }, 'messages', /must be a list, not "a"/],
    [{ queues: { work: { messages: [{ txt: 'a' }] } } }, 'messages.0', /Did you mean 'text'\?/],
    [{ queues: { work: { messages: [{}] } } }, 'messages.0', /needs the member 'text'/],
    [{ queues: { work: { metadata: { a: 1 } } } }, 'metadata.a', /must be a text, not 1/],
    [{ accounts: { [account]: { tabels: {} } } }, account, /Did you mean 'tables'\?/],
    [{ accounts: [] }, 'accounts', /not an empty list/],
    [{ progress: 1 }, 'progress', /must be a function, not 1/],
  ];
  for (const [data, path, reason] of misshapen) {
    it(`refuses ${JSON.stringify(data)}, which would be left out otherwise`, async (context) => {
      const world = await openWorld(context);
      await assert.rejects(world.seed(data), (error: unknown) => {
        assert.ok(error instanceof SeedError, String(error));
        assert.ok(error.path.join('.').endsWith(path), error.path.join('.'));
        const reasons = [error, ...error.others].map((each) => each.reason).join('\n');
        assert.match(reasons, reason);
        return true;
      });
      assert.equal(world.commits, 0);
    });
  }

  it('tells all mistakes at once, up to a bound', async (context) => {
    const world = await openWorld(context);
    const bad = { ...keys, Number: { type: 'Int32', value: 'x' } } as SeedEntity;
    const data: SeedData = {
      tables: { people: { entities: [bad, keys, keys] }, x: null },
      queues: {
        'Not-Good': null,
        work: { messages: [{ text: 'a', visibilitySeconds: 9, timeToLiveSeconds: 9 }] },
      },
    };
    const pathsOf = async (seeded: SeedData): Promise<string[]> => {
      const error = await world.seed(seeded).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof SeedError);
      return [error, ...error.others].map(({ path }) => path.join('.'));
    };
    assert.deepEqual(await pathsOf(data), [
      'tables.people.entities.0.Number',
      'tables.people.entities.2',
      'tables.x',
      'queues.Not-Good',
      'queues.work.messages.0',
    ]);
    const many = Array.from({ length: 1000 }, () => bad);
    assert.equal((await pathsOf({ tables: { people: { entities: many } } })).length, 20);
    assert.equal(world.commits, 0);
  });

  it('names the entity that the service refuses', async (context) => {
    const world = await openWorld(context);
    const large = { ...keys, RowKey: '2', Text: 'x'.repeat(40_000) };
    await assert.rejects(
      world.seed({ tables: { people: { entities: [keys, large] } } }),
      (error: unknown) => {
        assert.ok(error instanceof SeedError);
        assert.equal(error.entity, large);
        assert.match(error.message, /tables\.people\.entities\.1: PropertyValueTooLarge/);
        return true;
      },
    );
  });
});
