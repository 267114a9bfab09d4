import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInView } from './process.js';

const tests = fileURLToPath(new URL('../../test/interop/javascript', import.meta.url));

function testFiles() {
  const names = readdirSync(tests).filter((name) => name.endsWith('.test.js'));
  return names.map((name) => join(tests, name));
}

export const javascript = {
  name: 'javascript',
  clients: ['@azure/data-tables', '@azure/storage-queue'],
  missing: () => undefined,
  prepare: () => true,
  run: (env) =>
    runInView(process.execPath, ['--test', '--test-reporter=spec', ...testFiles()], { env }),
};
