import { openEnvironment, openReadOnly } from './environment.js';
import { lockHolders } from './lock-wait.js';

// Takes the lock of a data file for a moment: `lock-probe.js DIRECTORY`. Prints the current holders
// and then waits for the lock; the parent kills it on timeout.
const [directory = ''] = process.argv.slice(2);
const reading = openReadOnly(directory);
process.stdout.write(`${lockHolders(reading)}\n`);
await reading.close();
const { root } = openEnvironment(directory, { sync: true });
await root.close();
