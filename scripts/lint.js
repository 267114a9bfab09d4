// Checks format and lint side by side: a formatter uses one processor, so two of them have half of
// the files each. What is well formatted is remembered by its content, so that the next check reads
// what changed.
import { spawn } from 'node:child_process';

const formatted = (name, ...files) => [
  'prettier',
  '--check',
  ...files,
  '--cache',
  '--cache-strategy=content',
  `--cache-location=node_modules/.cache/prettier/${name}`,
];

const checks = [
  formatted('sources', 'src'),
  formatted('others', '.', '!src'),
  ['oxlint', '--type-aware', '--deny-warnings'],
];

/** Runs a program to its end, then shows what it has said; true when it found nothing. */
function passes([program, ...args]) {
  return new Promise((resolve) => {
    const isWindows = process.platform === 'win32';
    const child = spawn(program, args, { shell: isWindows, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => said.push(part));
    child.on('error', (error) => said.push(Buffer.from(`${program}: ${error.message}\n`)));
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(said));
      resolve(code === 0);
    });
  });
}

const results = await Promise.all(checks.map(passes));
process.exitCode = results.every(Boolean) ? 0 : 1;
