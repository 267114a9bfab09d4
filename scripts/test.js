// Runs the compiled tests with node's runner. Arguments are substrings of the
// file paths to run; with none, the whole suite runs.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../dist/', import.meta.url));
const wanted = process.argv.slice(2);
const files = readdirSync(root, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js'))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort()
  .map((file) => join(root, file));

if (files.length === 0) {
  process.stderr.write(`No compiled test matches ${wanted.join(', ') || 'anything'}.\n`);
  process.exit(1);
}

const runner = spawn(
  process.execPath,
  ['--enable-source-maps', '--test', '--test-concurrency=2', '--test-reporter=spec', ...files],
  { stdio: 'inherit' },
);
runner.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 2)));
