import { planOrExit, seedOr, wholeNumber } from '../support/run-arguments.js';
import { allScenarios } from './all-scenarios.js';
import { nameOf, repeatLine, runRound, type Round } from './rounds.js';
import { areas, type Scenario } from './scenario.js';

// The long form of the chaos suite: docs/internals/correctness.md.

const usage = `npm run chaos -- [--minutes N | --rounds N] [--seed S] [--only NAMES]

  --minutes N   runs for so long, to the end of the last round; 10 by default
  --rounds N    runs so many rounds instead
  --seed S      of the first round; each round has the next. A fresh one by default
  --only NAMES  areas (${areas.join(', ')}) or scenarios (such as disk/full), separated by commas
  --help        shows this
`;

function chosen(only: string | undefined): readonly Scenario[] {
  if (only === undefined) return allScenarios;
  return only.split(',').flatMap((wanted) => {
    const found = allScenarios.filter((each) => each.area === wanted || nameOf(each) === wanted);
    if (found.length > 0) return found;
    const known = allScenarios.map(nameOf).join(', ');
    throw new Error(`there is no scenario '${wanted}'; there are: ${known}`);
  });
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** One line for each scenario: how many rounds had each outcome. */
function tellSummary(scenarios: readonly Scenario[], rounds: readonly Round[]): void {
  const results = ['goes on', 'ends clearly', 'starts again', 'skipped', 'finding'] as const;
  const cells = (first: string, rest: readonly (string | number)[]) =>
    [first.padEnd(30), ...rest.map((cell) => String(cell).padStart(12))].join(' ');
  tell(`\n${cells('scenario', ['rounds', ...results])}`);
  for (const scenario of scenarios) {
    const own = rounds.filter((round) => round.scenario === scenario);
    const counts = results.map((result) => own.filter((round) => round.result === result).length);
    tell(cells(nameOf(scenario), [own.length, ...counts]));
  }
}

const plan = planOrExit(usage, ['minutes', 'rounds', 'seed', 'only'], (given) => {
  const rounds = given.rounds === undefined ? Infinity : wholeNumber('rounds', given.rounds);
  const minutes = given.minutes ?? (rounds === Infinity ? '10' : undefined);
  return {
    scenarios: chosen(given.only),
    seed: seedOr(given.seed),
    rounds,
    endMs: minutes === undefined ? Infinity : Date.now() + wholeNumber('minutes', minutes) * 60_000,
  };
});
const rounds: Round[] = [];
const started = Date.now();
while (rounds.length < plan.rounds && Date.now() < plan.endMs) {
  const scenario = plan.scenarios[rounds.length % plan.scenarios.length];
  if (scenario === undefined) break;
  const roundStarted = Date.now();
  const round = await runRound(scenario, plan.seed + rounds.length);
  rounds.push(round);
  const seconds = ((Date.now() - roundStarted) / 1000).toFixed(1);
  const minutes = ((Date.now() - started) / 60_000).toFixed(1);
  tell(`${minutes} min  ${nameOf(scenario)}, seed ${round.seed}: ${round.result} (${seconds} s)`);
  if (round.result === 'finding') tell(`${round.text}\n  repeat: ${repeatLine(round)}`);
}
tellSummary(plan.scenarios, rounds);
const findings = rounds.filter(({ result }) => result === 'finding');
tell(`\n${rounds.length} rounds, ${findings.length} findings`);
for (const finding of findings) tell(repeatLine(finding));
process.exit(findings.length === 0 ? 0 : 1);
