import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { ServerOptions, TabulariumServer } from '../../../src/app/index.js';
import { startDurableServer, startServer } from '../../support/start-server.js';
import { WireClient } from './client.js';

export interface WireFixture {
  readonly server: TabulariumServer;
  readonly client: WireClient;
}

/**
 * A server and a client of it for the tests of a file; closed after the last of them, when nothing
 * unexpected may have been logged. Entities are kept in memory, or on disk when
 * TABULARIUM_TEST_ENGINE is `lmdb`.
 */
export async function startFixture(options: ServerOptions = {}): Promise<WireFixture> {
  const onDisk = process.env['TABULARIUM_TEST_ENGINE'] === 'lmdb';
  const started = onDisk
    ? await startDurableServer({ durability: 'relaxed', ...options })
    : await startServer(options);
  const client = WireClient.of(started.server);
  after(async () => {
    client.close();
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, [], 'the server logged errors');
  });
  return { server: started.server, client };
}
