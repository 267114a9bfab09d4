// Movies by genre, with index tables by director, by distributor and director, and by decade: the
// three strategies, over the 3,201 movies of the package vega-datasets.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TableClient } from '@azure/data-tables';
import { bulk, defineEntity, double, key, openTable, string, writesOf } from 'tabularium/modeling';
import { indexedEntitiesOf, indexTable, withIndexes } from 'tabularium/modeling/indexes';
import {
  outboxOf,
  relayOf,
  tableRegistryOf,
  toHandlers,
} from 'tabularium/modeling/transactional-outbox';

const Movie = defineEntity({
  type: 'Movie',
  properties: {
    genre: string(),
    name: string(),
    released: string(),
    decade: string().computed(
      { released: string() },
      ({ released }) => `${released.slice(0, 3)}0s`,
    ),
    director: string().optional(),
    distributor: string().optional(),
    rating: double().optional(),
  },
  partitionKey: (p) => key`${p.genre}`,
  rowKey: (p) => key`${p.name}_${p.released}`,
});

const MovieIndexes = withIndexes(Movie, {
  // Partly normalised: the rating at once, the rest by a second look-up.
  director: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.director}`,
    rowKey: (p) => key`${p.name}_${p.released}`,
    include: ['rating'],
  }),
  // Normalised, with a composite key.
  distributor: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.distributor}`,
    rowKey: (p) => key`${p.director}_${p.released}_${p.name}`,
    include: [],
  }),
  // Full copy, of some.
  westerns: indexTable({
    partitionKey: (p) => key`${p.decade}`,
    rowKey: (p) => key`${p.released}_${p.name}`,
    when: ({ genre }) => genre === 'Western',
  }),
});

interface RawMovie {
  readonly Title: string | number | null;
  readonly 'Release Date': string;
  readonly 'Major Genre': string | null;
  readonly Director: string | null;
  readonly Distributor: string | null;
  readonly 'IMDB Rating': number | null;
}

function movieOf(raw: RawMovie) {
  return {
    genre: raw['Major Genre'] ?? 'Unknown',
    name: String(raw.Title ?? ''),
    released: new Date(`${raw['Release Date']} UTC`).toISOString().slice(0, 10),
    director: raw.Director,
    distributor: raw.Distributor,
    rating: raw['IMDB Rating'],
  };
}

// About 3,200 movies of the package vega-datasets, which `npm run extras` installs.
const file = new URL(
  '../../../extras/node_modules/vega-datasets/data/movies.json',
  import.meta.url,
);
const raw = JSON.parse(readFileSync(fileURLToPath(file), 'utf8')) as readonly RawMovie[];
const movies = raw.map(movieOf);

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const names = ['movies', 'moviesbydirector', 'moviesbydistributor', 'westerns', 'moviesoutbox'];
const clients = names.map((name) =>
  TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true }),
);
for (const client of clients) await client.createTable();
try {
  const requests: string[] = [];
  const observer = ({ kind, table }: { kind: string; table: string }) =>
    requests.push(`${kind} of ${table}`);
  const [table, director, distributor, westerns, partitions] = clients.map((client) =>
    openTable(client, { observer }),
  );
  if (!table || !director || !distributor || !westerns || !partitions) throw new Error('tables');
  const registry = tableRegistryOf(partitions, table.table);
  const library = indexedEntitiesOf(MovieIndexes, {
    table,
    tables: { director, distributor, westerns },
    outbox: outboxOf({ table, registry }),
  });
  const relay = relayOf({ table, registry, dispatch: toHandlers([library.handler]) });

  // The facts in bulk, the indexes behind them.
  const write = writesOf(Movie);
  const { applied } = await bulk(
    table,
    movies.map((movie) => write.insert(movie)),
  );
  console.log(`${applied} movies`);
  for (const index of ['director', 'distributor', 'westerns'] as const) {
    let written = 0;
    for await (const page of library.backfill(index)) {
      if (page.phase === 'fill') written += page.written;
      else break;
    }
    console.log(`  ${written} rows by ${index}`);
  }

  // Partly normalised: one query tells title, genre and rating.
  requests.length = 0;
  const spielberg = library.by.director.query({ partition: { director: 'Steven Spielberg' } });
  const found = await spielberg.toArray({ max: 100 });
  const best = found.toSorted((left, right) => (right.rating ?? 0) - (left.rating ?? 0));
  console.log(`Steven Spielberg: ${found.length} movies, ${requests.splice(0).join(', ')}`);
  for (const { name, genre, rating } of best.slice(0, 3))
    console.log(`  ${name} (${genre}) ${rating}`);

  // Normalised: the index finds the keys, the movies are read one by one, many at a time.
  const eastwood = library.by.distributor.query({
    partition: { distributor: 'Warner Bros.' },
    prefix: { director: 'Clint Eastwood' },
  });
  console.log(`Clint Eastwood for Warner Bros.: ${eastwood.plan.class}`);
  for await (const { released, name, genre } of library.by.distributor.entities(eastwood)) {
    console.log(`  ${released} ${name} (${genre})`);
  }

  // Full copy: everything in one look-up, in the order of release.
  requests.length = 0;
  const nineties = library.by.westerns.query({ partition: { decade: '1990s' } });
  const titles = (await nineties.toArray({ max: 100 })).map(({ name }) => name);
  console.log(`Westerns of the 1990s: ${titles.length}, ${requests.splice(0).join(', ')}`);

  // The indexes follow the movies.
  const [first] = best;
  if (first === undefined) throw new Error('no movie');
  await library.merge(first, { rating: 10 }, { ifMatch: 'any' });
  await relay.sweep();
  const again = await library.by.director.get({ ...first, director: 'Steven Spielberg' });
  console.log(`${again?.name} has ${again?.rating} now`);
} finally {
  for (const client of clients) await client.deleteTable();
}
