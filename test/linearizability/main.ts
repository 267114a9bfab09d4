import { planOrExit, seedOr, wholeNumber } from '../support/run-arguments.js';
import { LinearizabilityRound } from './rounds.js';

// The long form of the linearizability checks: docs/internals/correctness.md.

const usage = `npm run linearizability -- [--rounds N] [--seed S]

  --rounds N  how many rounds, 100 by default
  --seed S    of the first round; each round has the next. A fresh one by default
  --help      shows this
`;

const plan = planOrExit(usage, ['rounds', 'seed'], (given) => ({
  rounds: wholeNumber('rounds', given.rounds ?? '100'),
  seed: seedOr(given.seed),
}));
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
