import * as containerSteps from './queue-container-steps.js';
import * as messageSteps from './queue-message-steps.js';
import * as timeSteps from './queue-time-steps.js';
import { QueueWorld, type Servers, type WorldOptions } from './queue-world.js';

const steps = { ...containerSteps, ...messageSteps, ...timeSteps };

const weights: Readonly<Record<keyof typeof steps, number>> = {
  createQueue: 8,
  deleteQueue: 1,
  getQueue: 12,
  setMetadata: 2,
  listQueues: 2,
  listFrom: 1,
  signedIdentifiers: 2,
  putMessage: 50,
  getMessages: 40,
  peekMessages: 20,
  updateMessage: 25,
  deleteMessage: 25,
  clearMessages: 1,
  advance: 40,
  reclaim: 8,
};

export interface QueueSimulation extends WorldOptions {
  readonly steps: number;
  /** Closes the servers and opens new ones on the same data. */
  readonly restart?: () => Promise<Servers>;
  readonly restarts?: number;
}

/** A step with another outcome than the model's, and the steps before it. */
export class QueueSimulationError extends Error {
  constructor(step: number, name: string, history: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`step ${step} (${name}): ${reason}\nThe last operations:\n${history}`, { cause });
  }
}

/** Random operations in sequence, on queue servers and on their model. */
export async function simulateQueues(simulation: QueueSimulation): Promise<QueueWorld> {
  const { random, restart, restarts = 0 } = simulation;
  const world = new QueueWorld(simulation);
  const restartEvery = Math.ceil(simulation.steps / (restarts + 1));
  for (let step = 1; step <= simulation.steps; step += 1) {
    const name = random.weighted(weights);
    try {
      await steps[name](world);
      if (restart !== undefined && step % restartEvery === 0) world.servers = await restart();
    } catch (error) {
      throw new QueueSimulationError(step, name, world.history, error);
    }
  }
  return world;
}
