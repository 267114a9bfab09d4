// Runs the official Python clients against this server: `npm run test:interop`. Opt-in, because it
// needs Python and, the first time, a package index. Extra arguments go to unittest.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer } from '../dist/src/app/index.js';

const packages = [
  'azure-data-tables==12.7.0',
  'azure-storage-queue==12.18.1',
  'azure-core==1.41.0',
];
const tests = fileURLToPath(new URL('../test/interop/python', import.meta.url));
/** Named after what is in it, so that another pin makes another one. */
const environment = join(tmpdir(), `tabularium-${packages.join('-').replaceAll('==', '-')}`);
const python = join(environment, process.platform === 'win32' ? 'Scripts/python' : 'bin/python');

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

/** The first of the usual names under which Python 3.9 or newer answers. */
function findPython() {
  const isRecent = 'import sys, venv; sys.exit(sys.version_info < (3, 9))';
  const found = ['python3', 'python'].find(
    (name) => spawnSync(name, ['-c', isRecent]).status === 0,
  );
  return found ?? fail('The interop tests need Python 3.9 or newer with venv; none was found.');
}

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return status === 0;
}

/** Makes the virtual environment unless an earlier run left a whole one. */
function prepareEnvironment() {
  if (existsSync(python) && run(python, ['-c', 'import azure.data.tables, azure.storage.queue']))
    return;
  process.stdout.write(`Installing ${packages.join(', ')} for Python…\n`);
  rmSync(environment, { recursive: true, force: true });
  const made = run(findPython(), ['-m', 'venv', environment]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
  if (!made || !run(python, pip)) fail('The Python environment could not be made; see above.');
}

function runTests(connectionString) {
  return new Promise((resolve) => {
    const args = ['-m', 'unittest', 'discover', '--start-directory', tests];
    const child = spawn(python, [...args, ...process.argv.slice(2)], {
      stdio: 'inherit',
      env: {
        ...process.env,
        TABULARIUM_CONNECTION_STRING: connectionString,
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

prepareEnvironment();
const location = mkdtempSync(join(tmpdir(), 'tabularium-interop-'));
const server = await createServer({ location });
try {
  process.exitCode = await runTests(server.connectionString());
} finally {
  await server.close();
  rmSync(location, { recursive: true, force: true });
}
