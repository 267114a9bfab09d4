import { drawn, isLong } from '../../support/run-length.js';
import { wrappedMethods } from './wrapped-methods.js';

// Pauses a program at each of its requests, while others do all of their work, and lets it go on.

export interface PauseScenario<World> {
  /** Makes a fresh world before each run. */
  prepare(): Promise<World>;
  /** The work that is paused. What it sends goes through `wrap`. */
  run(world: World, wrap: <T extends object>(port: T) => T): Promise<unknown>;
  /** What others do during the pause. */
  meanwhile(world: World): Promise<unknown>;
  /** Throws for an error of `run` that it may not have. */
  failure(error: unknown): void;
  /** Throws when a promise is broken. `isPaused` is false for the run without a pause. */
  check(world: World, isPaused: boolean): Promise<void>;
}

/** Roughly how many requests the short form tries. */
const shortRequestsMax = 8;

/** Runs the scenario without a pause, and for each request, in the short form some, with one. */
export async function pausedEverywhere<World>(scenario: PauseScenario<World>): Promise<void> {
  const requests = await runPaused(scenario, Infinity);
  const step = isLong ? 1 : Math.ceil(requests / shortRequestsMax);
  for (let request = 1 + drawn(step); request <= requests; request += step) {
    await runPaused(scenario, request);
  }
}

/** Requests that are sent at the same time wait as well. Returns their number. */
async function runPaused<World>(scenario: PauseScenario<World>, at: number): Promise<number> {
  const world = await scenario.prepare();
  let requests = 0;
  let paused: Promise<unknown> | undefined;
  const wrap = <T extends object>(port: T): T =>
    wrappedMethods(port, async (_method, send) => {
      requests += 1;
      if (requests >= at) await (paused ??= scenario.meanwhile(world));
      return send();
    });
  try {
    await scenario.run(world, wrap).catch((error: unknown) => {
      if (paused === undefined) throw error;
      scenario.failure(error);
    });
    await scenario.check(world, paused !== undefined);
  } catch (error) {
    throw new Error(`paused at request ${at} of ${requests}`, { cause: error });
  }
  return requests;
}
