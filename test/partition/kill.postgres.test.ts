import { describe, it } from 'node:test';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { runSql } from '../support/engine-postgres.js';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { byLength, sampled } from '../support/run-length.js';
import { killAt } from './kill/kills.js';
import type { Place, Places } from './kill/places.js';
import { points } from './kill/points.js';
import { killServerAt } from './kill/server-kills.js';

void describe(
  'processes that are killed while they work on a range',
  { skip: withoutPostgres, timeout: byLength({ short: 400_000, long: 3_000_000 }) },
  () => {
    const servers = [postgresOfSuite(), postgresOfSuite()];
    const [server] = servers;

    /** An empty database. */
    async function database(name: string): Promise<Place> {
      const url = server?.().url ?? '';
      await runSql(url, `create database ${name}`);
      return { kind: 'postgres', at: url.replace(/postgres$/, name) };
    }

    /** Works with stores in a directory and in a database. */
    async function withBoth(
      kind: 'lmdb' | 'journaled',
      order: (directory: Place, database: Place) => Places,
      work: (places: Places) => Promise<void>,
    ): Promise<void> {
      const location = await temporaryLocation();
      const places = order({ kind, at: location.directory }, await database(`with_${kind}`));
      try {
        await work(places);
      } finally {
        await location.remove();
      }
    }

    void it('lose nothing over two databases, and others end their work', async () => {
      const places = servers.map((each): Place => ({ kind: 'postgres', at: each().url }));
      await killAt(places, sampled(points));
    });

    void it('lose nothing over a database and a directory', () =>
      withBoth(
        'lmdb',
        (directory, home) => [home, directory],
        (places) => killAt(places, sampled(points)),
      ));

    void it('lose nothing over a directory with a journal and a database', () =>
      withBoth(
        'journaled',
        (home, other) => [home, other],
        (places) => killServerAt(places, sampled(points)),
      ));
  },
);
