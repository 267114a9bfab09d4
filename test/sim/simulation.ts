import type { SimRandom } from '../support/sim-random.js';
import type { WireClient } from '../wire/kit/client.js';
import { getEntity, writeEntity } from './entity-steps.js';
import { runGroup } from './group-steps.js';
import { runQuery } from './query-steps.js';
import { createTable, dropTable, getTable, listTables } from './table-steps.js';
import { World } from './world.js';

const steps = {
  createTable,
  dropTable,
  getTable,
  listTables,
  getEntity,
  writeEntity,
  runGroup,
  runQuery,
};

const weights: Readonly<Record<keyof typeof steps, number>> = {
  createTable: 4,
  dropTable: 1,
  getTable: 1,
  listTables: 1,
  getEntity: 20,
  writeEntity: 60,
  runGroup: 12,
  runQuery: 25,
};

export interface Simulation {
  readonly random: SimRandom;
  readonly client: WireClient;
  readonly steps: number;
  /** Closes the server and starts it on the same data; resolves with a client of the new one. */
  readonly restart?: () => Promise<WireClient>;
  readonly restarts?: number;
}

/** A step with another outcome than the model's, and the steps before it. */
export class SimulationError extends Error {
  constructor(step: number, name: string, history: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`step ${step} (${name}): ${reason}\nThe last requests:\n${history}`, { cause });
  }
}

/** Random operations in sequence, on a server and on its model. */
export async function simulate(simulation: Simulation): Promise<void> {
  const { random, restart, restarts = 0 } = simulation;
  const world = new World(random, simulation.client);
  const restartEvery = Math.ceil(simulation.steps / (restarts + 1));
  for (let step = 1; step <= simulation.steps; step += 1) {
    const name = random.weighted(weights);
    try {
      await steps[name](world);
      if (restart !== undefined && step % restartEvery === 0) world.client = await restart();
    } catch (error) {
      throw new SimulationError(step, name, world.history, error);
    }
  }
}
