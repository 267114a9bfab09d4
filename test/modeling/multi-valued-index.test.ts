import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  list,
  string,
  writesOf,
  type KeyPart,
  type NumberKeyField,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  indexEntity,
  indexTable,
  samePartition,
  withIndexes,
  type Drift,
} from '../../src/modeling/patterns/indexes/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const Movie = defineEntity({
  type: 'Movie',
  properties: {
    genre: string(),
    name: string(),
    year: int32(),
    actors: list<string>().optional(),
  },
  partitionKey: (p) => key`${p.genre}`,
  rowKey: (p) => key`${p.name}`,
});

const MovieIndexes = withIndexes(Movie, {
  actor: indexTable({
    each: { actor: 'actors' },
    partitionKey: (p) => key`${p.actor}`,
    rowKey: (p) => key`${p.name}`,
    include: ['year'],
  }),
  cast: samePartition({
    each: { actor: 'actors' },
    rowKey: (p) => key`cast_${p.actor}_${p.name}`,
    include: [],
  }),
  credits: indexEntity({
    place: 'other-partition',
    each: { actor: 'actors' },
    partitionKey: (p) => key`credits_${p.actor}`,
    rowKey: () => key`movies`,
  }),
});

interface Places {
  readonly table: TableGateway;
  readonly actor: TableGateway;
}

function open({ table, actor }: Places) {
  return indexedEntitiesOf(MovieIndexes, {
    table,
    tables: { actor },
    outbox: testOutbox(table),
  });
}

async function newPlaces(): Promise<Places> {
  const [table, actor] = [await tables.newTable(), await tables.newTable()];
  return { table: table.gateway, actor: actor.gateway };
}

const drama = { genre: 'Drama' };
const apollo = { ...drama, name: 'Apollo 13', year: 1995 };
const gump = { ...drama, name: 'Forrest Gump', year: 1994 };

async function settled(places: Places): Promise<readonly Drift[]> {
  const library = open(places);
  await drainOutbox(places.table, library.handler);
  const drifts: Drift[] = [];
  for await (const page of library.verify()) drifts.push(...page.drifts);
  return drifts;
}

/** The movies of an actor, through each index. */
async function moviesOf(places: Places, actor: string): Promise<readonly string[]> {
  const library = open(places);
  const rows = await library.by.actor.query({ partition: { actor } }).toArray({ max: 99 });
  const found = rows.map(({ name, year }) => `${name} ${year}`);
  const beside = library.by.cast.query({ partition: drama, prefix: { actor } });
  const names = (await beside.toArray({ max: 99 })).map(({ name }) => name);
  assert.deepEqual(
    names,
    rows.map(({ name }) => name),
  );
  const listed = await library.by.credits.keys({ actor });
  assert.deepEqual(
    listed.map(({ name }) => name),
    names,
  );
  return found;
}

describe('an index over a list', () => {
  it('has a row for each text, with the key of its entity', async () => {
    const places = await newPlaces();
    const library = open(places);
    // A name that is there twice has one row; names may have what keys forbid.
    const actors = ['Tom Hanks', 'Kevin Bacon', 'Tom Hanks', 'A/B #1'];
    await library.insert({ ...apollo, actors });
    await library.insert({ ...gump, actors: ['Tom Hanks'] });
    await library.insert({ ...drama, name: 'None', year: 1 });
    await library.insert({ ...drama, name: 'Nobody', year: 2, actors: [] });
    assert.deepEqual(await settled(places), []);
    assert.deepEqual(await moviesOf(places, 'Tom Hanks'), ['Apollo 13 1995', 'Forrest Gump 1994']);
    assert.deepEqual(await moviesOf(places, 'A/B #1'), ['Apollo 13 1995']);
    const [row] = await library.by.actor.query({ partition: { actor: 'Kevin Bacon' } }).first(1);
    assert.equal(row?.actor, 'Kevin Bacon');
    const entities = library.by.actor.entities(row === undefined ? [] : [row]);
    for await (const movie of entities) assert.deepEqual(movie.actors, actors);
    assert.equal((await library.by.actor.entity({ ...apollo, actor: 'Tom Hanks' }))?.year, 1995);
    let rows = 0;
    for await (const _ of library.by.actor.scanTable()) rows += 1;
    assert.equal(rows, 4);
  });

  it('follows a change, a deletion and every way to write', costly(), async () => {
    const places = await newPlaces();
    const library = open(places);
    await library.insert({ ...apollo, actors: ['Tom Hanks', 'Kevin Bacon'] });
    await settled(places);
    await library.update(apollo, (movie) => ({ ...movie, actors: ['Kevin Bacon', 'Ed Harris'] }));
    assert.deepEqual(await settled(places), []);
    assert.deepEqual(await moviesOf(places, 'Tom Hanks'), []);
    assert.deepEqual(await moviesOf(places, 'Ed Harris'), ['Apollo 13 1995']);
    const movies = entitiesOf(Movie, library.table);
    await movies.merge(apollo, { year: 1996 }, { ifMatch: 'any' });
    assert.deepEqual(await settled(places), []);
    assert.deepEqual(await moviesOf(places, 'Kevin Bacon'), ['Apollo 13 1996']);
    const writes = writesOf(Movie);
    const crowd = Array.from({ length: 30 }, (_, id) => ({
      ...drama,
      name: `Movie ${id}`,
      year: id,
      actors: [`Star ${id % 3}`, 'Extra', `Actor ${id}`, `Actor ${id + 1}`],
    }));
    await bulk(
      library.table,
      crowd.map((each) => writes.insert(each)),
    );
    await library.delete(apollo, { ifMatch: 'any' });
    assert.deepEqual(await settled(places), []);
    assert.equal((await moviesOf(places, 'Extra')).length, 30);
    assert.deepEqual(await moviesOf(places, 'Actor 1'), ['Movie 0 0', 'Movie 1 1']);
    assert.deepEqual(await moviesOf(places, 'Kevin Bacon'), []);
  });

  it(
    'is in step after a crash at every request of a change and of its worker',
    costly(),
    async () => {
      await crashEverywhere<Places>({
        prepare: async () => {
          const places = await newPlaces();
          await open(places).insert({ ...apollo, actors: ['Tom Hanks', 'Kevin Bacon'] });
          await settled(places);
          return places;
        },
        run: async (places, doomed) => {
          const doomedPlaces = wrapped(places, doomed);
          const library = open(doomedPlaces);
          await library.merge(apollo, { actors: ['Kevin Bacon', 'Ed Harris'] }, { ifMatch: 'any' });
          await drainOutbox(doomedPlaces.table, library.handler);
        },
        recover: async (places) => {
          await settled(places);
        },
        check: async (places) => {
          assert.deepEqual(await settled(places), []);
          const left = await moviesOf(places, 'Tom Hanks');
          const joined = await moviesOf(places, 'Ed Harris');
          assert.equal(left.length + joined.length, 1);
          assert.equal((await moviesOf(places, 'Kevin Bacon')).length, 1);
        },
      });
    },
  );

  it(
    'is filled for what is there already, and finds rows that are missing or left over',
    costly(),
    async () => {
      const places = await newPlaces();
      const plain = entitiesOf(Movie, places.table);
      await plain.insert({ ...apollo, actors: ['Tom Hanks', 'Kevin Bacon', 'Bill Paxton'] });
      await plain.insert({ ...gump, actors: ['Tom Hanks', 'Robin Wright'] });
      const library = open(places);
      for (const index of ['actor', 'cast', 'credits'] as const) {
        for await (const page of library.backfill(index)) assert.deepEqual(page.drifts, []);
      }
      assert.deepEqual(await settled(places), []);
      assert.equal((await moviesOf(places, 'Tom Hanks')).length, 2);
      // A program that does not know the indexes.
      await plain.merge(apollo, { actors: ['Ed Harris'] }, { ifMatch: 'any' });
      const drifts = await settled(places);
      const kinds = (index: string) =>
        drifts
          .filter((each) => each.index === index)
          .map(({ kind }) => kind)
          .sort();
      for (const index of ['actor', 'cast', 'credits']) {
        assert.deepEqual(kinds(index), ['dangling', 'dangling', 'dangling', 'missing'], index);
      }
      for await (const page of library.rebuild()) assert.deepEqual(page.drifts, []);
      assert.deepEqual(await settled(places), []);
      assert.deepEqual(await moviesOf(places, 'Kevin Bacon'), []);
    },
  );

  it('says when one entity has more rows than its transaction holds, and writes nothing', async () => {
    const places = await newPlaces();
    const library = open(places);
    const actors = Array.from({ length: 99 }, (_, id) => `Extra ${id}`);
    const refused = { name: 'TooLargeError', message: /another partition or table/ };
    await assert.rejects(library.insert({ ...apollo, actors }), refused);
    const movies = entitiesOf(Movie, library.table);
    await assert.rejects(movies.insert({ ...apollo, actors }), refused);
    assert.equal(await library.get(apollo), undefined);
  });

  it('has a row for each whole number, in the order of the numbers', async () => {
    const { gateway: table } = await tables.newTable();
    const Run = defineEntity({
      type: 'Run',
      properties: { show: string(), seasons: list<number>() },
      partitionKey: () => key`shows`,
      rowKey: (p) => key`${p.show}`,
    });
    const indexed = withIndexes(Run, {
      season: samePartition({
        each: { season: 'seasons' },
        rowKey: (p) => key`season_${p.season.offset()}_${p.show}`,
        include: [],
      }),
      shows: indexEntity({
        place: 'same-partition',
        each: { season: 'seasons' },
        rowKey: (p) => key`shows_${p.season.offset()}`,
      }),
    });
    const library = indexedEntitiesOf(indexed, { table });
    await library.insert({ show: 'Dallas', seasons: [10, 9, -1, 9] });
    await library.insert({ show: 'Columbo', seasons: [9] });
    const rows = await library.by.season.query({ partition: {} }).toArray({ max: 9 });
    const found = rows.map(({ season, show }) => [season, show]);
    assert.deepEqual(found, [
      [-1, 'Dallas'],
      [9, 'Columbo'],
      [9, 'Dallas'],
      [10, 'Dallas'],
    ]);
    await library.update({ show: 'Dallas' }, (run) => ({ ...run, seasons: [11] }));
    const nines = await library.by.shows.keys({ season: 9 });
    assert.deepEqual(nines, [{ show: 'Columbo' }]);
    const part = library.insert({ show: 'Part', seasons: [1.5] });
    await assert.rejects(part, /1.5 is no 32-bit whole number/);
    for await (const { drifts } of library.verify()) assert.deepEqual(drifts, []);
  });

  it('refuses declarations that give no row for an item', () => {
    const refused: readonly (readonly [object, string, RegExp])[] = [
      [{ actor: 'actors' }, 'x', /does not use 'actor'/],
      [{ name: 'actors' }, 'name', /has a property of that name/],
      [{ digit: 'year' }, 'digit', /'year' is none/],
      [{ one: 'actors', other: 'actors' }, 'one', /one list, not of several/],
    ];
    const mixed = samePartition({
      each: { actor: 'actors' as never },
      rowKey: (p: Readonly<Record<string, NumberKeyField<string, number> & KeyPart>>) =>
        p['actor'] === undefined ? key`x` : key`x_${p['actor']}_${p['actor'].padded(4)}`,
    });
    assert.throws(
      () => withIndexes(Movie, { mixed }),
      /a text in one place of the key and a number/,
    );
    for (const [each, used, message] of refused) {
      const rowKey = (p: Readonly<Record<string, KeyPart>>) => {
        const part = p[used];
        return part === undefined ? key`x` : key`x_${part}`;
      };
      const index = samePartition({ each: each as Readonly<Record<string, never>>, rowKey });
      assert.throws(() => withIndexes(Movie, { index }), message);
    }
  });
});

function wrapped({ table, actor }: Places, doomed: Doomed): Places {
  return { table: doomed.wrap(table), actor: doomed.wrap(actor) };
}
