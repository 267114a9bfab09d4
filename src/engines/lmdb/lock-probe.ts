import { openEnvironment, openReadOnly } from './environment.js';
import { lockHolders } from './lock-wait.js';

// A process that has the lock of a data file for a moment: `lock-probe.js DIRECTORY`. It prints who
// may have it until then, and is killed when that takes too long.
const [directory = ''] = process.argv.slice(2);
const reading = openReadOnly(directory);
process.stdout.write(`${lockHolders(reading)}\n`);
await reading.close();
const { root } = openEnvironment(directory, { sync: true });
await root.close();
