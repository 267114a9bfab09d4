import { after, before } from 'node:test';
import { invariant } from '../../src/base/invariant.js';
import { startPostgres, type PostgresServer } from './postgres-server.js';

/**
 * A server that all tests of a suite use, from the hook before the first to the one behind the
 * last.
 */
export function postgresOfSuite(): () => PostgresServer {
  let server: PostgresServer | undefined;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.dispose());
  return () => {
    invariant(server !== undefined, 'the server has been started');
    return server;
  };
}
