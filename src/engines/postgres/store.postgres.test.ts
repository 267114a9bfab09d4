import { after, before, describe } from 'node:test';
import { storeConformance } from '../../kv/conformance/index.js';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import {
  startPostgres,
  withoutPostgres,
  type PostgresServer,
} from '../../../test/support/postgres-server.js';
import { invariant } from '../../base/invariant.js';

void describe('the PostgreSQL engine', { skip: withoutPostgres }, () => {
  let server: PostgresServer | undefined;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.dispose());

  for (const commitForm of ['function', 'transaction'] as const) {
    storeConformance({
      name: `the PostgreSQL engine, commits by ${commitForm}`,
      open: (options) => {
        invariant(server !== undefined, 'the server has been started');
        return postgresUnderTest({ ...options, commitForm, url: server.url });
      },
      modelRuns: 15,
      capabilities: {
        persistent: true,
        processes: true,
        groupsCommits: true,
        versionsGlobal: false,
        member: true,
      },
    });
  }
});
