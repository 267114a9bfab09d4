import { it } from 'node:test';
import { costly, byLength } from '../support/run-length.js';
import { createServer } from '../../src/app/index.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { WireClient } from '../wire/kit/client.js';
import { withRestarts } from './restarted-server.js';
import { simulate, type Simulation } from './simulation.js';

// How to repeat a failure and how to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_SIM_SEED');
const stepsInMemory = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 300, long: 20_000 }));
// Each write waits for the disk.
const stepsOnDisk = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 400, long: 10_000 }));

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

it(
  `answers every operation as the model does, on disk with restarts (seed ${seed})`,
  costly(),
  () => withRestarts({}, (server) => seeded({ ...server, steps: stepsOnDisk })),
);
