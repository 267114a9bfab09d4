// fast-check, whose `assert` tries forty times as often, with seeds that follow from the number of
// all draws (test/support/sim-settings.ts).
import { seedFor } from '../dist/test/support/sim-settings.js';
import * as fc from 'fast-check';

export * from 'fast-check';

const times = 40;
const runsDefault = 100;
/** From the first run; what was tried by then counts. */
const limitMs = 30_000;

let properties = 0;

export function assert(property, given = {}) {
  properties += 1;
  return fc.assert(property, {
    seed: seedFor(`property ${properties}`),
    interruptAfterTimeLimit: limitMs,
    ...given,
    numRuns: (given.numRuns ?? runsDefault) * times,
  });
}
