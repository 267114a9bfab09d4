// Runs the compiled tests with node's runner. Arguments are substrings of the file paths to run;
// with none, the whole suite runs in its short form, which draws a part of the costly tests and of
// some files (drawn-files.js); `--others` runs the other part of these files.
// `--long` runs the tests that have a long form in that: all costly ones, more rounds, steps and
// runs of properties, and files named `.long.`, which have no short form. `--long --part 2/8` runs
// the second of eight parts of these (long-parts.js), and the files that are named as well. Files
// named `.extras.test.js` need what `npm run extras` installs; without it they are left out and
// named. Files named `.postgres.` run when they are named, as `npm run test:postgres` does.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawnFiles } from './drawn-files.js';
import { longForms } from './long-forms.js';
import { filesOfPart, parsePart } from './long-parts.js';
import { grouped } from './test-groups.js';

const root = fileURLToPath(new URL('../dist/', import.meta.url));
const { isLong, isOthers, part, wanted } = argumentsOf(process.argv.slice(2));
// Of the files and tests that a run has, and of their seeds (test/support/sim-settings.ts).
const drawSeed = drawSeedOf(process.env.TABULARIUM_TEST_DRAW);
if (isOthers && !process.env.TABULARIUM_TEST_DRAW) {
  process.stderr.write(
    'Set TABULARIUM_TEST_DRAW to the number that npm test printed: it says which files that run left out.\n',
  );
  process.exit(1);
}
const hasExtras = existsSync(
  new URL('../extras/node_modules/.installed-lock.json', import.meta.url),
);
const present = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js'))
  .sort();
const hasLongForm = longForms(root);
const asked = part === undefined ? filesFor(wanted) : withPart(part);
const leftOut = hasExtras ? [] : asked.filter((file) => file.endsWith('.extras.test.js'));
const found = asked.filter((file) => !leftOut.includes(file));
const isWhole = !isLong && wanted.length === 0;
const { drawn, others } = drawnFiles(isWhole ? found : [], drawSeed);
const toRun = isOthers ? others : isWhole ? drawn : found;
// A run of named files, and the long form, give every file a process of its own.
const files =
  isLong || wanted.length > 0 ? toRun.map((file) => join(root, file)) : grouped(root, toRun);

function argumentsOf(given) {
  const isLong = given.includes('--long');
  const isOthers = given.includes('--others');
  const rest = given.filter((argument) => argument !== '--long' && argument !== '--others');
  const at = rest.indexOf('--part');
  if (at < 0) return { isLong, isOthers: isOthers && !isLong && rest.length === 0, wanted: rest };
  const part = parsePart(rest[at + 1] ?? '');
  if (!isLong || part === undefined) {
    process.stderr.write(
      '--part takes a part of the long forms: npm run test:long -- --part 2/8\n',
    );
    process.exit(1);
  }
  return { isLong, isOthers: false, part, wanted: rest.toSpliced(at, 2) };
}

/** The seed that is asked for, or else a fresh one. One that makes no sense ends the process. */
function drawSeedOf(text) {
  if (text === undefined || text === '') return String(randomInt(2 ** 31));
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return text;
  process.stderr.write(
    `TABULARIUM_TEST_DRAW must be a whole number, as a run of the tests prints it, not '${text}'.\n`,
  );
  return process.exit(1);
}

/** The files whose paths contain one of these texts; without any, those that run by themselves. */
function filesFor(texts) {
  return present
    .filter((file) => texts.length === 0 || texts.some((text) => file.includes(text)))
    .filter((file) => texts.length > 0 || !file.includes('.postgres.'))
    .filter((file) => (isLong ? hasLongForm(file) : texts.length > 0 || !file.includes('.long.')));
}

/** The files of a part, and those that are named. */
function withPart({ part, parts }) {
  const files = new Set(filesOfPart(filesFor([]), part, parts));
  if (wanted.length > 0) for (const file of filesFor(wanted)) files.add(file);
  return [...files].sort();
}

/** Says, last of all, which files were not run and how to run them. */
function tellLeftOut() {
  if (!isOthers && others.length > 0) {
    process.stderr.write(
      `Not drawn: ${others.length} files (scripts/drawn-files.js). They run by\n` +
        `  TABULARIUM_TEST_DRAW=${drawSeed} npm run test:others\n`,
    );
  }
  if (leftOut.length === 0) return;
  const names = leftOut.map((file) => `  ${file.replace(/\.js$/, '.ts')}`);
  process.stderr.write(
    `Left out, because they need Azurite, the legacy client or data sets (npm run extras):\n` +
      `${names.join('\n')}\n`,
  );
}

if (files.length === 0) {
  tellLeftOut();
  process.stderr.write(`No compiled test matches ${wanted.join(', ') || 'anything'}.\n`);
  process.exit(1);
}

/**
 * A file that takes longer waits for something that does not come: it is ended, and fails by its
 * name. Several times what the longest one takes on a slow machine.
 */
const fileLimitMinutes = isLong || wanted.length > 0 ? 60 : 20;

// Twice as many as processors: many files wait for processes and timers most of the time.
const options = [
  '--test',
  `--test-timeout=${fileLimitMinutes * 60_000}`,
  `--test-concurrency=${availableParallelism() * 2}`,
  `--test-reporter=${new URL('source-reporter.js', import.meta.url).href}`,
];
// The runner hands NODE_OPTIONS on to the processes of the files, and not its own arguments.
const longForm = {
  TABULARIUM_TEST_LONG: '1',
  NODE_OPTIONS: `--import=${new URL('many-runs.js', import.meta.url).href}`,
};
// `costly` of test/support/run-length.ts.
const shortForm = wanted.length > 0 ? {} : { TABULARIUM_TEST_SAMPLED: '1' };
process.stderr.write(`Tests draw by TABULARIUM_TEST_DRAW=${drawSeed}.\n`);
const runner = spawn(process.execPath, [...options, ...files], {
  stdio: 'inherit',
  env: {
    ...process.env,
    TABULARIUM_TEST_DRAW: drawSeed,
    ...(isLong ? longForm : shortForm),
  },
});
runner.on('exit', (code, signal) => {
  tellLeftOut();
  process.exit(code ?? (signal === null ? 1 : 2));
});
