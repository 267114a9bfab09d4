// Runs the compiled tests with node's runner. Arguments are substrings of the
// file paths to run; with none, the whole suite runs. Files named `.extras.test.js` need what
// `npm run extras` installs; without it they are left out and named.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../dist/', import.meta.url));
const wanted = process.argv.slice(2);
const hasExtras = existsSync(
  new URL('../extras/node_modules/.installed-lock.json', import.meta.url),
);
const asked = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js'))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort();
const leftOut = hasExtras ? [] : asked.filter((file) => file.endsWith('.extras.test.js'));
const files = asked.filter((file) => !leftOut.includes(file)).map((file) => join(root, file));

/** Says, last of all, which files were not run and how to run them. */
function tellLeftOut() {
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

const runner = spawn(
  process.execPath,
  ['--enable-source-maps', '--test', '--test-concurrency=2', '--test-reporter=spec', ...files],
  { stdio: 'inherit' },
);
runner.on('exit', (code, signal) => {
  tellLeftOut();
  process.exit(code ?? (signal === null ? 1 : 2));
});
