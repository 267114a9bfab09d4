import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultLimits } from '../../src/http/pipeline/limits.js';
import { account } from '../support/blob-world.js';
import { fastClockEnv, ServerProcess } from '../support/crash-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';

/**
 * What was replaced is freed after half a minute, which is half a second here: the sweep is killed
 * as well.
 */
const clockFactor = 60;
const env = fastClockEnv(clockFactor);
const key = Buffer.alloc(64, 7).toString('base64');

/** What a request may take, in time of the machine as without the fast clock. */
const limits = Object.fromEntries(
  (
    ['headersTimeoutMs', 'requestTimeoutMs', 'responseTimeoutMs', 'operationTimeoutMs'] as const
  ).map((name) => [name, defaultLimits[name] * clockFactor]),
);

/** A server on a fast clock, in a process of its own. */
export interface FastServer {
  readonly process: ServerProcess;
  /** Signs by the clock of the server. */
  client(): BlobWireClient;
}

/** Starts a server on `data` in a folder. */
export async function startFast(folder: string, flags: readonly string[]): Promise<FastServer> {
  const config = join(folder, 'config.yaml');
  await writeFile(config, JSON.stringify({ limits }));
  const begunMs = Date.now();
  const all = ['--config', config, '--account', `${account}:${key}`, ...flags];
  const process = await ServerProcess.start(join(folder, 'data'), { flags: all, env });
  const now = () => new Date(begunMs + (Date.now() - begunMs) * clockFactor);
  return { process, client: () => new BlobWireClient(process.blobPort, { account, key, now }) };
}
