// Checks format and lint side by side: the one uses one processor, the other is done long before it.
// What is well formatted is remembered by its content, so that the next check reads what changed.
import { spawn } from 'node:child_process';

const checks = [
  'prettier --check . --cache --cache-strategy content',
  'oxlint --type-aware --deny-warnings',
];

/** Runs a program to its end, then shows what it has said; true when it found nothing. */
function passes(line) {
  const [program, ...args] = line.split(' ');
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
