import { after } from 'node:test';
import { createServer, type ServerOptions, type TabulariumServer } from '../../../src/app/index.js';
import { WireClient } from './client.js';

export interface WireFixture {
  readonly server: TabulariumServer;
  readonly client: WireClient;
}

/** A server in memory and a client of it for the tests of a file; closed after the last of them. */
export async function startFixture(options: Partial<ServerOptions> = {}): Promise<WireFixture> {
  const server = await createServer({ inMemory: true, ...options });
  const client = WireClient.of(server);
  after(async () => {
    client.close();
    await server.close();
  });
  return { server, client };
}
