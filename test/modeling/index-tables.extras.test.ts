import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  plain,
  string,
  writesOf,
} from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  indexTable,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { bucketOf } from '../../src/placement/hashes/text-hash.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { assertInStep } from './support/indexed-employees.js';
import { Movie, readMovies, type MovieData } from './support/movies.js';
import { startTables, type ObservedTable } from './support/observed-tables.js';
import { byLength, costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const everyMovie = readMovies();
/** What the tests ask for, which the short form has complete. */
const isAskedFor = ({ genre, director }: MovieData): boolean =>
  genre === 'Western' || director === 'Steven Spielberg' || director === 'Clint Eastwood';
const movies = byLength({
  short: everyMovie.filter((movie, at) => at % 3 === 0 || isAskedFor(movie)),
  long: everyMovie,
});

function isGood({ rating }: { readonly rating?: number | undefined }): boolean {
  return rating !== undefined && rating >= 7;
}

// One of each strategy. The movies have no actors: directors take their place.
const indexes = withIndexes(Movie, {
  director: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.director}`,
    rowKey: (p) => key`${p.name}_${p.released}`,
    include: ['rating'],
  }),
  distributor: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.distributor}`,
    rowKey: (p) => key`${p.director}_${p.released}_${p.name}`,
    include: [],
    when: isGood,
  }),
  decade: indexTable({
    partitionKey: (p) => key`${p.decade}`,
    rowKey: (p) => key`${p.released}_${p.name}`,
    when: ({ genre }) => genre === 'Western',
  }),
});

function matching(condition: (movie: MovieData) => boolean): readonly MovieData[] {
  return movies.filter(condition);
}

function titlesOf(found: readonly { readonly name: string }[]): string[] {
  return found.map(({ name }) => name).sort();
}

describe('index tables of movies', () => {
  let opened: Awaited<ReturnType<typeof open>> | undefined;

  async function open() {
    const main = await tables.newTable();
    const others: Record<'director' | 'distributor' | 'decade', ObservedTable> = {
      director: await tables.newTable(),
      distributor: await tables.newTable(),
      decade: await tables.newTable(),
    };
    const made = writesOf(Movie);
    await bulk(
      main.gateway,
      movies.map((movie) => made.insert(movie)),
    );
    const library = indexedEntitiesOf(indexes, {
      table: main.gateway,
      tables: {
        director: others.director.gateway,
        distributor: others.distributor.gateway,
        decade: others.decade.gateway,
      },
      outbox: testOutbox(main.gateway),
    });
    for (const name of ['director', 'distributor', 'decade'] as const) {
      for await (const { drifts } of library.backfill(name)) assert.deepEqual(drifts, []);
    }
    return { main, others, library };
  }

  before(async () => {
    opened = await open();
  });

  function world() {
    assert.ok(opened !== undefined);
    return opened;
  }

  it('have as many rows as movies with the value', async () => {
    const { library } = world();
    const count = async (query: { toArray(options: { max: number }): Promise<unknown[]> }) =>
      (await query.toArray({ max: 5000 })).length;
    assert.equal(
      await count(library.by.director.scanTable()),
      matching(({ director }) => director !== undefined).length,
    );
    assert.equal(
      await count(library.by.distributor.scanTable()),
      matching(isGood).filter(
        ({ director, distributor }) => director !== undefined && distributor !== undefined,
      ).length,
    );
    assert.equal(
      await count(library.by.decade.scanTable()),
      matching(({ genre }) => genre === 'Western').length,
    );
  });

  it('partly normalised: give common properties at once, and the rest by a second look-up', async () => {
    const { library, main, others } = world();
    const director = 'Steven Spielberg';
    const expected = matching((movie) => movie.director === director);
    main.takeKinds();
    others.director.takeKinds();
    const query = library.by.director.query({ partition: { director } });
    const rows = await query.toArray({ max: 100 });
    assert.deepEqual(others.director.takeKinds(), ['query']);
    assert.deepEqual(main.takeKinds(), []);
    assert.equal(rows.length, 23);
    assert.deepEqual(
      rows.map(({ name, genre, rating }) => `${name} ${genre} ${rating}`).sort(),
      expected.map(({ name, genre, rating }) => `${name} ${genre} ${rating}`).sort(),
    );
    const whole = [];
    for await (const movie of library.by.director.entities(rows)) whole.push(movie);
    assert.deepEqual(
      whole.map(({ name }) => name),
      rows.map(({ name }) => name),
    );
    assert.equal(main.takeKinds().length, 23);
    assert.ok(whole.every(({ distributor }) => distributor !== undefined));
  });

  it('normalised, by a composite key: find by its first part, and by both in order', async () => {
    const { library } = world();
    const distributor = 'Warner Bros.';
    const all = library.by.distributor.query({ partition: { distributor } });
    assert.equal(all.plan.class, 'partition-scan');
    const byDirector = library.by.distributor.query({
      partition: { distributor },
      prefix: { director: 'Clint Eastwood' },
    });
    assert.equal(byDirector.plan.class, 'range');
    const found = await byDirector.toArray({ max: 50 });
    const expected = matching(
      (movie) =>
        movie.distributor === distributor && movie.director === 'Clint Eastwood' && isGood(movie),
    );
    assert.ok(expected.length > 2, `${expected.length} movies`);
    assert.deepEqual(
      found.map(({ released, name }) => `${released} ${name}`),
      expected.map(({ released, name }) => `${released} ${name}`).sort(),
    );
    assert.equal((await all.toArray({ max: 1000 })).length > found.length, true);
    const [first] = found;
    assert.ok(first !== undefined);
    const { director, released, name } = first;
    const movie = await library.by.distributor.entity({ distributor, director, released, name });
    assert.equal(movie?.rating, expected.find((each) => each.name === name)?.rating);
  });

  it('full copies: give everything in one look-up', async () => {
    const { library, main } = world();
    main.takeKinds();
    const query = library.by.decade.query({ partition: { decade: '1990s' } });
    const found = (await query.toArray({ max: 100 })).map((movie) => plain(movie));
    const expected = matching(
      ({ genre, released }) => genre === 'Western' && released.startsWith('199'),
    );
    assert.deepEqual(titlesOf(found), titlesOf(expected));
    for (const { decade, ...movie } of found) {
      assert.equal(decade, '1990s');
      assert.deepEqual(
        movie,
        expected.find(({ name }) => name === movie.name),
      );
    }
    assert.deepEqual(main.takeKinds(), []);
  });

  it('follow the movies', async () => {
    const { library, main } = world();
    const [western] = matching(
      ({ genre, director, released }) =>
        genre === 'Western' && director !== undefined && released.startsWith('199'),
    );
    assert.ok(western !== undefined);
    const { genre, name, released } = western;
    const at = { genre, name, released };
    await library.merge(at, { director: 'C. Eastwood', rating: 10 }, { ifMatch: 'any' });
    await drainOutbox(main.gateway, library.handler);
    const query = library.by.director.query({ partition: { director: 'C. Eastwood' } });
    assert.deepEqual(
      (await query.toArray({ max: 10 })).map(({ name, rating }) => `${name} ${rating}`),
      [`${name} 10`],
    );
    const copy = await library.by.decade.get({ decade: '1990s', ...at });
    assert.equal(copy?.rating, 10);
  });
});

describe('an index table over hashed partitions', () => {
  const buckets = 8;
  const Account = defineEntity({
    type: 'Account',
    properties: {
      id: int32(),
      name: string(),
      shard: string().computed({ id: int32() }, ({ id }) => `s${bucketOf(String(id), buckets)}`),
    },
    partitionKey: (p) => key`${p.shard}`,
    rowKey: (p) => key`${p.id.padded(8)}`,
  });
  const byId = withIndexes(Account, {
    id: indexTable({
      partitionKey: () => key`accounts`,
      rowKey: (p) => key`${p.id.padded(8)}`,
      include: [],
    }),
  });

  it('gives ranges in the order of the plain values, and the shard of each', costly(), async () => {
    const main = await tables.newTable();
    const index = await tables.newTable();
    const accounts = indexedEntitiesOf(byId, {
      table: main.gateway,
      tables: { id: index.gateway },
      outbox: testOutbox(main.gateway),
    });
    for (let id = 0; id < 40; id++) await accounts.insert({ id, name: `name${id}` });
    await drainOutbox(main.gateway, accounts.handler);
    const shards = new Set(
      (await entitiesOf(Account, main.gateway).scanTable().toArray({ max: 99 })).map(
        ({ shard }) => shard,
      ),
    );
    assert.ok(shards.size > 4, `${shards.size} shards`);
    const range = accounts.by.id.query({
      partition: {},
      rowKeyFrom: { id: 10 },
      rowKeyTo: { id: 29 },
    });
    assert.equal(range.plan.class, 'range');
    const names: string[] = [];
    for await (const { name } of accounts.by.id.entities(range)) names.push(name);
    assert.deepEqual(
      names,
      Array.from({ length: 20 }, (_, at) => `name${at + 10}`),
    );
    const row = await accounts.by.id.get({ id: 7 });
    assert.equal(row?.shard, `s${bucketOf('7', buckets)}`);
    await assertInStep(accounts);
  });
});
