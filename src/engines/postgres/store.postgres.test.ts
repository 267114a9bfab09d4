import { describe } from 'node:test';
import { storeConformance } from '../../kv/conformance/index.js';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';

void describe('the PostgreSQL engine', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  for (const commitForm of ['function', 'transaction'] as const) {
    storeConformance({
      name: `the PostgreSQL engine, commits by ${commitForm}`,
      open: (options) => postgresUnderTest({ ...options, commitForm, url: server().url }),
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
