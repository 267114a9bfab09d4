import { parseArgs } from 'node:util';
import { protections, type Without } from './sim-store.js';
import { simulate } from './simulation.js';
import { Violation } from './violation.js';

// The long form of the simulated moves, splits and merges: docs/internals/partition.md.

const usage = `npm run sim:partition -- [--seeds N] [--seed S] [--without PROTECTION]

  --seeds N             how many runs, 300 by default
  --seed S              of the first; each has the next. A fresh one by default
  --without PROTECTION  leaves out ${protections.join(', ')}: it should be found soon
  --help                shows this
`;

interface Plan {
  readonly seeds: number;
  readonly seed: number;
  readonly without: Without | undefined;
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} must be a whole number, not '${text}'`);
}

function protection(text: string | undefined): Without | undefined {
  const found = protections.find((each) => each === text);
  if (text === undefined || found !== undefined) return found;
  throw new Error(`--without must be one of ${protections.join(', ')}, not '${text}'`);
}

function readPlan(): Plan {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string' },
      without: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const fresh = String(Math.floor(Math.random() * 2 ** 31));
  return {
    seeds: number('seeds', values.seeds ?? '300'),
    seed: number('seed', values.seed ?? fresh),
    without: protection(values.without),
  };
}

/** Exits with 2 when the arguments make no sense. */
function planOrExit(): Plan {
  try {
    return readPlan();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}

const { seeds, seed, without } = planOrExit();
const progressSeeds = 100;
const sums = { calls: 0, movers: 0, ended: 0 };
const told = () => `${sums.calls} calls, ${sums.movers} movers, ${sums.ended} operations ended`;
for (let count = 0; count < seeds; count += 1) {
  try {
    const run = await simulate({ seed: seed + count, ...(without && { without }) });
    sums.calls += run.calls;
    sums.movers += run.movers;
    sums.ended += run.ended;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const rest = without === undefined ? '' : ` --without ${without}`;
    process.stdout.write(`seed ${count + 1} of ${seeds}: ${text}\n`);
    // A protection that is left out is found by a broken promise only.
    if (without !== undefined && !(error instanceof Violation)) continue;
    process.stdout.write(`npm run sim:partition -- --seeds 1 --seed ${seed + count}${rest}\n`);
    process.exit(1);
  }
  if ((count + 1) % progressSeeds === 0) {
    process.stdout.write(`${count + 1} of ${seeds} seeds, ${told()}\n`);
  }
}
process.stdout.write(`${seeds} seeds from ${seed}, ${told()}, no finding\n`);
