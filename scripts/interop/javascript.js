import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInView, succeeds } from './process.js';

const tests = fileURLToPath(new URL('../../test/interop/javascript', import.meta.url));

/** Whether an earlier run has installed what the lock file names. */
function isInstalled() {
  const installed = join(tests, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  return versionsIn(installed) === versionsIn(join(tests, 'package-lock.json'));
}

/** The packages of a lock file that are installed, each with its version. */
function versionsIn(file) {
  const { packages } = JSON.parse(readFileSync(file, 'utf8'));
  const wanted = Object.entries(packages).filter(([path, { peer }]) => path !== '' && !peer);
  return JSON.stringify(wanted.map(([path, { version }]) => [path, version]));
}

function testFiles() {
  const names = readdirSync(tests).filter((name) => name.endsWith('.test.js'));
  return names.map((name) => join(tests, name));
}

export const javascript = {
  name: 'javascript',
  clients: [
    '@azure/data-tables',
    '@azure/storage-queue',
    '@azure/storage-blob',
    '@auth/azure-tables-adapter',
  ],
  missing: () => undefined,
  prepare: () => isInstalled() || succeeds('npm', ['ci', '--no-progress'], { cwd: tests }),
  run: (env) =>
    runInView(process.execPath, ['--test', '--test-reporter=spec', ...testFiles()], { env }),
};
