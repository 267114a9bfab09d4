import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(
  new URL('../../../node_modules/azurite/dist/src/blob/main.js', import.meta.url),
);

/** The name and key that the emulators publish for their one account. */
const account = 'devstoreaccount1';
const accountKey =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

const options = [
  '--blobHost=127.0.0.1',
  '--blobPort=0',
  '--inMemoryPersistence',
  '--skipApiVersionCheck',
  '--disableTelemetry',
  '--silent',
];

export interface StartedBlobs extends AsyncDisposable {
  /** For `BlobServiceClient.fromConnectionString`. */
  readonly connectionString: string;
}

/** Azurite's blob service in a process of its own, in memory, on a free port. */
export async function startAzuriteBlobs(): Promise<StartedBlobs> {
  const child = spawn(process.execPath, [program, ...options], {
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ended = once(child, 'close');
  const origin = new Promise<string>((resolve, reject) => {
    const read = (chunk: unknown): void => {
      output += String(chunk);
      const listening = /successfully listens on (\S+)/.exec(output)?.[1];
      if (listening !== undefined) resolve(listening);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('close', () => reject(new Error(`Azurite ended before it listened:\n${output}`)));
  });
  const endpoint = `${await origin}/${account}`;
  return {
    connectionString: `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${accountKey};BlobEndpoint=${endpoint};`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
