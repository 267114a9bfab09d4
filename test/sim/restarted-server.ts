import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type ServerOptions } from '../../src/app/index.js';
import { systemClock, type Clock } from '../../src/base/clock.js';
import { WireClient } from '../wire/kit/client.js';
import type { Simulation } from './simulation.js';

const hourMicros = 3600 * 1_000_000;

/** Runs a simulation of a server on disk that is started again and again on the same data. */
export async function withRestarts(
  more: Pick<ServerOptions, 'postgresUrl'>,
  simulateIt: (server: Pick<Simulation, 'client' | 'restart' | 'restarts'>) => Promise<void>,
): Promise<void> {
  const location = await mkdtemp(join(tmpdir(), 'tabularium-sim-'));
  let restarts = 0;
  // At each restart the clock is an hour behind: versions must rise nevertheless.
  const clock: Clock = {
    ...systemClock,
    nowMicros: () => systemClock.nowMicros() - restarts * hourMicros,
  };
  const options = { location, ...more, clock, checkClockSkew: false };
  let server = await createServer(options);
  let client = WireClient.of(server);
  const restart = async () => {
    client.close();
    await server.close();
    restarts += 1;
    server = await createServer(options);
    client = WireClient.of(server);
    return client;
  };
  try {
    await simulateIt({ client, restart, restarts: 5 });
  } finally {
    client.close();
    await server.close();
    await rm(location, { recursive: true, force: true });
  }
}
