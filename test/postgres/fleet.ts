import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerProcess } from '../support/crash-server.js';
import { eventually } from '../chaos/finding.js';

/** Several servers on one database, which share a directory for the bytes of large blobs. */
export class Fleet implements AsyncDisposable {
  readonly location: string;
  readonly #url: string;
  readonly #servers: ServerProcess[] = [];

  private constructor(url: string, location: string) {
    this.#url = url;
    this.location = location;
  }

  static async start(url: string, count: number): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-fleet-'));
    const fleet = new Fleet(url, folder);
    try {
      const starts = Array.from({ length: count }, () => fleet.#start());
      fleet.#servers.push(...(await Promise.all(starts)));
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  get servers(): readonly ServerProcess[] {
    return this.#servers;
  }

  at(index: number): ServerProcess {
    const server = this.#servers[index];
    if (server === undefined) throw new Error(`there is no server ${index}`);
    return server;
  }

  /** Kills a server. Its connections end, and what it had begun in the database may go on. */
  async kill(index: number): Promise<void> {
    await this.at(index).end('SIGKILL');
  }

  /** Starts a server in the place of one that has ended. */
  async replace(index: number): Promise<void> {
    this.#servers[index] = await this.#start();
  }

  /** Resolves when all servers say that they are healthy. */
  async becomesHealthy(): Promise<void> {
    await eventually('all servers are healthy', async () => {
      const answers = await Promise.all(this.#servers.map(isHealthy));
      return answers.every(Boolean);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.end('SIGKILL')));
    await rm(this.location, { recursive: true, force: true });
  }

  #start(): Promise<ServerProcess> {
    const flags = ['--engine', 'postgres'];
    // Keeps the address off the list of processes, as people should.
    const env = { TABULARIUM_POSTGRES_URL: this.#url };
    return ServerProcess.start(this.location, { flags, env });
  }
}

async function isHealthy(server: ServerProcess): Promise<boolean> {
  const client = server.client();
  try {
    const { status } = await client.send({ target: '/healthz', auth: 'none' });
    return status === 200;
  } finally {
    client.close();
  }
}
