import { describe, it } from 'node:test';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { sampled } from '../support/run-length.js';
import { killAt, points } from './kill/kills.js';

void describe(
  'processes that are killed while they work on a range',
  { skip: withoutPostgres, timeout: 400_000 },
  () => {
    const servers = [postgresOfSuite(), postgresOfSuite()];

    void it('lose nothing over two databases, and others end their work', async () => {
      const at = servers.map((server) => server().url);
      await killAt({ kind: 'postgres', at }, sampled(points));
    });
  },
);
