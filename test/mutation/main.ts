import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { planOrExit, seedOr, wholeNumber } from '../support/run-arguments.js';
import { allMutants, draw, sameMutant, sourceFiles, type Mutant } from './mutants.js';
import { ProjectCopy } from './project-copy.js';
import { readReport, showReport, showTrial, writeReport, type MutationReport } from './report.js';
import { mapTests } from './test-map.js';
import { Trials, type Trial } from './trial.js';

// Changes the source deliberately and checks whether a test fails: docs/internals/correctness.md.

const usage = `npm run mutation -- [--sample N] [--seed S] [--files PARTS] [--seconds N] [--report FILE]
npm run mutation -- --again FILE [--report FILE]

  --sample N     how many mutants, 100 by default
  --seed S       of the draw; a fresh one by default
  --files PARTS  only source files whose path contains one of these, separated by commas
  --seconds N    how long the tests of one mutant may take, 60 by default
  --report FILE  writes what was found as JSON, after each mutant
  --again FILE   tries the mutants of an earlier report on the tests as they are now
  --help         shows this
`;

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** A low priority, so that other processes go first. */
const niceness = 5;

interface Plan {
  readonly sample: number;
  readonly seed: number;
  readonly files: readonly string[];
  readonly seconds: number;
  readonly report: string | undefined;
  readonly earlier: MutationReport | undefined;
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}

interface Candidate {
  readonly mutant: Mutant;
  /** The test file that caught it in the earlier run. */
  readonly by?: string | undefined;
}

/** The mutants to try in order; more than the sample, because some will be refused. */
function* candidatesOf({ earlier, files, seed }: Plan): Generator<Candidate> {
  const mutants = allMutants(root, sourceFiles(root, files));
  if (earlier === undefined) {
    for (const mutant of draw(mutants, seed)) yield { mutant };
    return;
  }
  for (const { mutant, by } of earlier.trials) {
    const found = sameMutant(mutants, mutant);
    if (found !== undefined) yield { mutant: found, by };
  }
}

async function run(plan: Plan, copy: ProjectCopy): Promise<MutationReport> {
  const modules = new Set(sourceFiles(root, []).map((file) => file.replace(/\.ts$/, '.js')));
  const tests = await mapTests(copy.root, (module) => modules.has(module), tell);
  const leftOut = tests.filter(({ ending }) => ending !== 'passed');
  for (const { file, ending } of leftOut) tell(`left out, ${ending} on the whole source: ${file}`);
  const trials = new Trials(copy, tests);
  const found: Trial[] = [];
  const wanted = plan.earlier?.trials.length ?? plan.sample;
  const seed = plan.earlier?.seed ?? plan.seed;
  let tried = 0;
  for (const { mutant, by } of candidatesOf(plan)) {
    if (found.length === wanted) break;
    tried += 1;
    const trial = await trials.run(mutant, { seconds: plan.seconds, first: by });
    if (trial.outcome !== 'refused') found.push(trial);
    tell(`${found.length} of ${wanted}: ${showTrial(trial)}`);
    if (plan.report !== undefined) writeReport(plan.report, { seed, trials: found, gone: 0 });
  }
  return { seed, trials: found, gone: plan.earlier === undefined ? 0 : wanted - tried };
}

const names = ['sample', 'seed', 'files', 'seconds', 'report', 'again'] as const;
const plan = planOrExit(usage, names, (given) => ({
  sample: wholeNumber('sample', given.sample ?? '100'),
  seed: seedOr(given.seed),
  files: given.files?.split(',') ?? [],
  seconds: wholeNumber('seconds', given.seconds ?? '60'),
  report: given.report,
  earlier: given.again === undefined ? undefined : readReport(given.again),
}));
setPriority(niceness);
tell(`seed ${plan.earlier?.seed ?? plan.seed}`);
const copy = new ProjectCopy(root);
process.on('exit', () => copy.remove());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
const report = await run(plan, copy);
if (plan.report !== undefined) writeReport(plan.report, report);
tell(`\n${showReport(report)}`);
