// Installs what some benchmarks, tests and examples need beside the server (Azurite, the legacy
// client, data sets) into the folder extras: `npm run extras`. Does nothing when it is there
// already. Their own Node ranges and deprecations are not ours to mend: npm prints errors only.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../extras/', import.meta.url));
const lock = join(folder, 'package-lock.json');
/**
 * A copy of the lock file that was installed; written last, so an install that broke off is none.
 */
const installed = join(folder, 'node_modules', '.installed-lock.json');

function isCurrent() {
  return existsSync(installed) && readFileSync(installed).equals(readFileSync(lock));
}

if (!isCurrent()) {
  process.stderr.write('Installing Azurite, the legacy client and data sets in extras/ (once) …\n');
  const options = ['--loglevel=error', '--prefix', folder];
  const shell = process.platform === 'win32';
  const { status } = spawnSync('npm', ['ci', ...options], { cwd: folder, stdio: 'inherit', shell });
  if (status === 0) copyFileSync(lock, installed);
  else {
    process.stderr.write('They could not be installed: see above. Repeat with: npm run extras\n');
    process.exitCode = 1;
  }
}
