import { parseArgs } from 'node:util';
import { LinearizabilityRound } from './rounds.js';

// The long form of the linearizability checks: docs/internals/correctness.md.

const usage = `npm run linearizability -- [--rounds N] [--seed S]

  --rounds N  how many rounds, 100 by default
  --seed S    of the first round; each round has the next. A fresh one by default
`;

function number(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} must be a whole number, not '${text}'`);
}

function readPlan(): { readonly rounds: number; readonly seed: number } {
  const { values } = parseArgs({
    options: { rounds: { type: 'string' }, seed: { type: 'string' } },
  });
  const fresh = String(Math.floor(Math.random() * 2 ** 31));
  return {
    rounds: number('rounds', values.rounds ?? '100'),
    seed: number('seed', values.seed ?? fresh),
  };
}

/** Exits with 2 when the arguments make no sense. */
function planOrExit(): ReturnType<typeof readPlan> {
  try {
    return readPlan();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    return process.exit(2);
  }
}

const plan = planOrExit();
const total = { histories: 0, operations: 0, unanswered: 0, kills: 0 };
const failed: number[] = [];
for (let round = 0; round < plan.rounds; round += 1) {
  const seed = plan.seed + round;
  try {
    const checked = await new LinearizabilityRound(seed).run();
    total.histories += checked.histories;
    total.operations += checked.operations;
    total.unanswered += checked.unanswered;
    total.kills += checked.kills;
    process.stdout.write(
      `round ${round + 1} of ${plan.rounds}, seed ${seed}: ${JSON.stringify(checked)}\n`,
    );
  } catch (error) {
    failed.push(seed);
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stdout.write(`round ${round + 1} of ${plan.rounds}, seed ${seed}: ${text}\n`);
  }
}
process.stdout.write(`${JSON.stringify(total)}, ${failed.length} findings\n`);
for (const seed of failed) {
  process.stdout.write(`npm run linearizability -- --rounds 1 --seed ${seed}\n`);
}
process.exit(failed.length === 0 ? 0 : 1);
