// Keeps node's runner from following every promise of a process, which takes a fifth of the time of
// most tests here. It follows them to know to which test an error belongs that nobody caught.
// Without that the error fails the process, and is printed here with its stack; in a run of the
// named file the runner tells the test as well. To be imported before `node:test` is.
import { createRequire } from 'node:module';
import { inspect } from 'node:util';

const asyncHooks = createRequire(import.meta.url)('node:async_hooks');
const { AsyncResource, createHook } = asyncHooks;

/** What the runner does with each resource. Tests are resources: it needs to know these. */
let ofRunner = { init: undefined };

asyncHooks.createHook = (callbacks) => {
  const caller = new Error('the caller').stack?.split('\n')[2] ?? '';
  if (!caller.includes('node:internal/test_runner/')) return createHook(callbacks);
  ofRunner = callbacks;
  return createHook({});
};

asyncHooks.AsyncResource = class extends AsyncResource {
  constructor(type, options) {
    super(type, options);
    ofRunner.init?.(this.asyncId(), type, this.triggerAsyncId(), this);
  }
};

/** The runner has listeners as well, but not until the end of the process. */
for (const event of ['uncaughtExceptionMonitor', 'unhandledRejection']) {
  process.on(event, (error) => {
    process.exitCode = 1;
    process.stderr.write(`Nobody caught in a group of test files: ${inspect(error)}\n`);
  });
}
