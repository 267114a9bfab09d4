import { startAzurite } from './azurite.js';
import { startServer } from './start-server.js';

export interface StartedBlobs extends AsyncDisposable {
  /** For `fromConnectionString` of the clients. */
  readonly connectionString: string;
}

/**
 * Starts the blob service that the patterns with blobs are tested with: this server's, in memory.
 * With `TABULARIUM_TEST_BLOBS=azurite` it is Azurite's, as `npm run test:azurite` asks for.
 */
export async function startBlobs(): Promise<StartedBlobs> {
  if (process.env['TABULARIUM_TEST_BLOBS'] === 'azurite') return startAzurite('blob');
  const started = await startServer();
  return {
    connectionString: started.server.connectionString(),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
