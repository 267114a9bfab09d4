import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { byLength } from '../support/run-length.js';
import { createServer } from '../../src/app/index.js';
import { systemClock, type Clock } from '../../src/base/clock.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { WireClient } from '../wire/kit/client.js';
import { simulate, type Simulation } from './simulation.js';

// How to repeat a failure and how to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_SIM_SEED');
const stepsInMemory = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 600, long: 20_000 }));
// Each write waits for the disk.
const stepsOnDisk = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 400, long: 10_000 }));

const hourMicros = 3600 * 1_000_000;

async function seeded(simulation: Omit<Simulation, 'random'>): Promise<void> {
  try {
    await simulate({ ...simulation, random: new SimRandom(seed) });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Repeat with TABULARIUM_SIM_SEED=${seed} TABULARIUM_SIM_STEPS=${simulation.steps}\n${reason}`,
      { cause: error },
    );
  }
}

it(`answers every operation as the model does, in memory (seed ${seed})`, async () => {
  const server = await createServer({ inMemory: true });
  const client = WireClient.of(server);
  try {
    await seeded({ client, steps: stepsInMemory });
  } finally {
    client.close();
    await server.close();
  }
});

it(`answers every operation as the model does, on disk with restarts (seed ${seed})`, async () => {
  const location = await mkdtemp(join(tmpdir(), 'tabularium-sim-'));
  let restarts = 0;
  // At each restart the clock is an hour behind: versions must rise nevertheless.
  const clock: Clock = {
    ...systemClock,
    nowMicros: () => systemClock.nowMicros() - restarts * hourMicros,
  };
  const options = { location, clock, checkClockSkew: false };
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
    await seeded({ client, steps: stepsOnDisk, restart, restarts: 5 });
  } finally {
    client.close();
    await server.close();
    await rm(location, { recursive: true, force: true });
  }
});
