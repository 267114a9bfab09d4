import { SimRandom } from '../support/sim-random.js';
import { within } from './finding.js';
import type { Outcome, Scenario } from './scenario.js';

/** A round that takes longer hangs. */
const roundMs = 10 * 60_000;

export interface Round {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly result: Outcome | 'finding' | 'skipped';
  /** The finding, or why the round was skipped. */
  readonly text: string;
}

/** One round of one scenario. Never rejects. */
export async function runRound(scenario: Scenario, seed: number): Promise<Round> {
  const { skip = false } = scenario;
  if (skip !== false) return { scenario, seed, result: 'skipped', text: skip };
  try {
    const run = scenario.run(new SimRandom(seed));
    const result = await within(`${nameOf(scenario)} ends`, run, roundMs);
    return { scenario, seed, result, text: '' };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { scenario, seed, result: 'finding', text };
  }
}

export function nameOf({ area, name }: Scenario): string {
  return `${area}/${name}`;
}

/** The command that repeats a round. What depends on time may need several tries. */
export function repeatLine({ scenario, seed }: Round): string {
  return `npm run chaos -- --only ${nameOf(scenario)} --seed ${seed} --rounds 1`;
}
