import { fileURLToPath } from 'node:url';
import { runInView } from './process.js';

const tests = fileURLToPath(new URL('../../test/interop/javascript', import.meta.url));

export const javascript = {
  name: 'javascript',
  clients: ['@azure/data-tables', '@azure/storage-queue'],
  missing: () => undefined,
  prepare: () => true,
  run: (env) => runInView(process.execPath, ['--test', `${tests}/`], { env }),
};
