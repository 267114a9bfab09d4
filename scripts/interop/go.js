import { fileURLToPath } from 'node:url';
import { answers, runInView, succeeds } from './process.js';

const tests = fileURLToPath(new URL('../../test/interop/go', import.meta.url));

export const go = {
  name: 'go',
  clients: [
    'aztables 1.4.1',
    'azqueue 1.0.1',
    'azblob 1.6.2',
    'Dapr components 1.16.0',
    'objstore of Thanos',
  ],
  missing: () => (answers('go', ['version']) ? undefined : 'it needs Go 1.24 or newer'),
  prepare: () => succeeds('go', ['vet', './...'], { cwd: tests }),
  run: (env) => runInView('go', ['test', '-count=1', './...'], { cwd: tests, env }),
};
