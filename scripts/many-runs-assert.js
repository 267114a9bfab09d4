// fast-check, whose `assert` tries forty times as often.
import * as fc from 'fast-check';

export * from 'fast-check';

const times = 40;
const runsDefault = 100;
/** From the first run; what was tried by then counts. */
const limitMs = 30_000;

export function assert(property, given = {}) {
  return fc.assert(property, {
    interruptAfterTimeLimit: limitMs,
    ...given,
    numRuns: (given.numRuns ?? runsDefault) * times,
  });
}
