import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
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
`;

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** A low priority, so that other processes go first. */
const niceness = 5;

function readPlan() {
  const text = { type: 'string' } as const;
  const options = { sample: text, seed: text, files: text, seconds: text, report: text };
  const { values } = parseArgs({ options: { ...options, again: text } });
  const fresh = String(Math.floor(Math.random() * 2 ** 31));
  return {
    sample: number('sample', values.sample ?? '100'),
    seed: number('seed', values.seed ?? fresh),
    files: values.files?.split(',') ?? [],
    seconds: number('seconds', values.seconds ?? '60'),
    report: values.report,
    earlier: values.again === undefined ? undefined : readReport(values.again),
  };
}

type Plan = ReturnType<typeof readPlan>;

function number(name: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} must be a whole number, not '${text}'`);
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

const plan = planOrExit();
setPriority(niceness);
tell(`seed ${plan.earlier?.seed ?? plan.seed}`);
const copy = new ProjectCopy(root);
process.on('exit', () => copy.remove());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
const report = await run(plan, copy);
if (plan.report !== undefined) writeReport(plan.report, report);
tell(`\n${showReport(report)}`);
