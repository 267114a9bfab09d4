import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInView, succeeds } from './process.js';
import { pythonInterpreter } from './python.js';

const name = 'azure-data-tables';
const version = '12.1.0';
const program = fileURLToPath(new URL('../../test/interop/recordings/main.js', import.meta.url));
/** Named after what is in it, so that another version makes another one. */
const folder = join(tmpdir(), `tabularium-recordings-${name}-${version}`);
const recordings = join(folder, `${name}-${version}`, 'tests', 'recordings');

/** Fetches the source distribution into a folder of its own and unpacks it there. */
function fetchInto(target) {
  const python = pythonInterpreter();
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps'];
  const which = ['--no-binary', name, '--dest', target, `${name}==${version}`];
  if (!succeeds(python, [...pip, ...which])) return false;
  const archive = readdirSync(target).find((file) => file.endsWith('.zip'));
  return (
    archive !== undefined &&
    succeeds(python, ['-m', 'zipfile', '-e', join(target, archive), target])
  );
}

/** Recordings of the cloud, which the source distribution of its client for Python has. */
export const recordingsOfCloud = {
  name: 'recordings',
  clients: [`source distribution of ${name}==${version}`],
  missing: () =>
    pythonInterpreter() === undefined
      ? 'fetching them needs Python 3.9 or newer with pip'
      : undefined,

  /** Fetches the recordings unless an earlier run left all of them. */
  prepare() {
    if (existsSync(recordings)) return true;
    const fresh = mkdtempSync(`${folder}-`);
    const fetched = fetchInto(fresh);
    rmSync(folder, { recursive: true, force: true });
    if (fetched) renameSync(fresh, folder);
    else rmSync(fresh, { recursive: true, force: true });
    return fetched;
  },

  run: (env) => runInView(process.execPath, [program, recordings], { env }),
};
