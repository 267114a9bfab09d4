import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { extraFile } from './extras.js';

export type AzuriteService = 'blob' | 'queue' | 'table';

const endpointNames: Readonly<Record<AzuriteService, string>> = {
  blob: 'BlobEndpoint',
  queue: 'QueueEndpoint',
  table: 'TableEndpoint',
};

/** The name and key that the emulators publish for their one account. */
const account = 'devstoreaccount1';
const accountKey =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

export interface StartedAzurite extends AsyncDisposable {
  /** For `fromConnectionString` of the clients. */
  readonly connectionString: string;
}

/** Ports tried: another process may take one before Azurite does. */
const portsMax = 5;

/**
 * Starts a service of Azurite in its own process on a free port. It works in memory, or in a given
 * directory, to which everything is written by its end.
 */
export async function startAzurite(
  service: AzuriteService,
  location?: string,
): Promise<StartedAzurite> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await startOnFreePort(service, location);
    } catch (error) {
      if (tried >= portsMax || !String(error).includes('EADDRINUSE')) throw error;
    }
  }
}

async function startOnFreePort(
  service: AzuriteService,
  location: string | undefined,
): Promise<StartedAzurite> {
  const program = extraFile(`azurite/dist/src/${service}/main.js`);
  const port = await freePort();
  const options = [
    `--${service}Host=127.0.0.1`,
    `--${service}Port=${port}`,
    location === undefined ? '--inMemoryPersistence' : `--location=${location}`,
    '--skipApiVersionCheck',
    '--disableTelemetry',
    '--silent',
  ];
  const child = spawn(process.execPath, [program, ...options], {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ended = once(child, 'close');
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: unknown): void => {
      output += String(chunk);
      if (/successfully (listens|started) on /.test(output)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('close', () => reject(new Error(`Azurite ended before it listened:\n${output}`)));
  });
  const endpoint = `${endpointNames[service]}=http://127.0.0.1:${port}/${account}`;
  return {
    connectionString: `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${accountKey};${endpoint};`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The table service does not report its port, so a free one is chosen here. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
