import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { createServer, type ServerOptions, type TabulariumServer } from '../../../src/app/index.js';
import { WireClient } from './client.js';

export interface WireFixture {
  readonly server: TabulariumServer;
  readonly client: WireClient;
}

/**
 * A server and a client of it for the tests of a file; closed after the last of them. Entities are
 * kept in memory, or on disk when TABULARIUM_TEST_ENGINE is `lmdb`.
 */
export async function startFixture(options: Partial<ServerOptions> = {}): Promise<WireFixture> {
  const onDisk = process.env['TABULARIUM_TEST_ENGINE'] === 'lmdb';
  const location = onDisk ? mkdtempSync(join(tmpdir(), 'tabularium-wire-')) : undefined;
  const storage: ServerOptions =
    location === undefined ? { inMemory: true } : { location, durability: 'relaxed' };
  const server = await createServer({ ...storage, ...options });
  const client = WireClient.of(server);
  after(async () => {
    client.close();
    await server.close();
    if (location !== undefined) rmSync(location, { recursive: true, force: true });
  });
  return { server, client };
}
