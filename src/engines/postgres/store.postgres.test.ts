import { describe } from 'node:test';
import { storeConformance } from '../../kv/conformance/index.js';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';

void describe('the PostgreSQL engine', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  const capabilities = {
    persistent: true,
    processes: true,
    groupsCommits: true,
    versionsGlobal: false,
    member: true,
  };

  // As behind a pooler: nothing is prepared, and the settings are those of the database.
  const unprepared = { commitForm: 'function', parameters: '?prepare=false' } as const;
  for (const { commitForm, parameters } of [
    { commitForm: 'function', parameters: '' },
    { commitForm: 'transaction', parameters: '' },
    unprepared,
    { ...unprepared, commitForm: 'transaction' },
  ] as const) {
    storeConformance({
      name: `the PostgreSQL engine, commits by ${commitForm}${parameters}`,
      open: (options) =>
        postgresUnderTest({ ...options, commitForm, url: `${server().url}${parameters}` }),
      modelRuns: 15,
      capabilities,
    });
  }

  // Its tables lack what only PostgreSQL has, and commits are plain statements.
  storeConformance({
    name: 'the PostgreSQL engine with the tables and rules of CockroachDB',
    open: (options) => postgresUnderTest({ ...options, product: 'CockroachDB', url: server().url }),
    modelRuns: 15,
    capabilities,
  });
});
