// Movies by genre, found by actor: an index table with a row for each actor of each movie.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { defineEntity, int32, key, list, openTable, string } from 'tabularium/modeling';
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
    year: int32(),
    director: string(),
    actors: list<string>(),
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
});

const drama = 'Drama';
const comedy = 'Comedy';
const science = 'Science fiction';
const movies = [
  [drama, 'Apollo 13', 1995, 'Ron Howard', 'Tom Hanks, Kevin Bacon, Bill Paxton, Ed Harris'],
  [drama, 'Forrest Gump', 1994, 'Robert Zemeckis', 'Tom Hanks, Robin Wright, Gary Sinise'],
  [drama, 'Cast Away', 2000, 'Robert Zemeckis', 'Tom Hanks, Helen Hunt'],
  [drama, 'The Green Mile', 1999, 'Frank Darabont', 'Tom Hanks, David Morse'],
  [drama, 'Titanic', 1997, 'James Cameron', 'Leonardo DiCaprio, Kate Winslet, Bill Paxton'],
  [drama, 'A Few Good Men', 1992, 'Rob Reiner', 'Tom Cruise, Demi Moore, Kevin Bacon'],
  [drama, 'Good Will Hunting', 1997, 'Gus Van Sant', 'Matt Damon, Robin Williams, Ben Affleck'],
  [comedy, 'Sleepless in Seattle', 1993, 'Nora Ephron', 'Tom Hanks, Meg Ryan'],
  [comedy, "You've Got Mail", 1998, 'Nora Ephron', 'Tom Hanks, Meg Ryan'],
  [comedy, 'When Harry Met Sally…', 1989, 'Rob Reiner', 'Billy Crystal, Meg Ryan'],
  [comedy, 'The Truman Show', 1998, 'Peter Weir', 'Jim Carrey, Ed Harris, Laura Linney'],
  [science, 'Aliens', 1986, 'James Cameron', 'Sigourney Weaver, Michael Biehn, Bill Paxton'],
  [science, 'The Martian', 2015, 'Ridley Scott', 'Matt Damon, Jessica Chastain'],
] as const;

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const clients = ['moviesbygenre', 'moviesbyactor', 'moviepartitions'].map((name) =>
  TableClient.fromConnectionString(connection, name, { allowInsecureConnection: true }),
);
for (const client of clients) await client.createTable();
try {
  const requests: string[] = [];
  const observer = ({ kind, table }: { kind: string; table: string }) =>
    requests.push(`${kind} of ${table}`);
  const [table, actor, partitions] = clients.map((client) => openTable(client, { observer }));
  if (!table || !actor || !partitions) throw new Error('three tables');
  const registry = tableRegistryOf(partitions, table.table);
  const library = indexedEntitiesOf(MovieIndexes, {
    table,
    tables: { actor },
    outbox: outboxOf({ table, registry }),
  });
  const relay = relayOf({ table, registry, dispatch: toHandlers([library.handler]) });

  for (const [genre, name, year, director, actors] of movies) {
    await library.insert({ genre, name, year, director, actors: actors.split(', ') });
  }
  await relay.sweep();

  // One look-up tells name, genre and year of every movie with an actor, whatever its genre.
  requests.length = 0;
  const hanks = library.by.actor.query({ partition: { actor: 'Tom Hanks' } });
  for await (const { name, genre, year } of hanks) console.log(`${year} ${name} (${genre})`);
  console.log(requests.splice(0).join(', '));

  // A second one brings the rest, such as the director.
  const paxton = library.by.actor.query({ partition: { actor: 'Bill Paxton' } });
  for await (const { name, director } of library.by.actor.entities(paxton)) {
    console.log(`Bill Paxton in ${name} by ${director}`);
  }

  // The rows follow the cast.
  await library.update({ genre: 'Drama', name: 'Apollo 13' }, (movie) => ({
    ...movie,
    actors: [...movie.actors.filter((each) => each !== 'Kevin Bacon'), 'Gary Sinise'],
  }));
  await relay.sweep();
  for (const name of ['Kevin Bacon', 'Gary Sinise']) {
    const found = await library.by.actor.query({ partition: { actor: name } }).first(9);
    console.log(`${name}: ${found.map((each) => each.name).join(', ')}`);
  }
  for await (const { drifts } of library.verify()) console.log(`${drifts.length} differences`);
} finally {
  for (const client of clients) await client.deleteTable();
}
