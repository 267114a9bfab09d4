import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../base/invariant.js';
import { openAgain } from './environment.js';
import { writeAtOnce } from './write-transaction.js';

// The entry point of the thread that holds the lock of the data file: see `OpeningHolds`.

export interface HoldThreadData {
  readonly directory: string;
  readonly sync: boolean;
  /** One number, which is not 0 when the lock is to be released. */
  readonly released: Int32Array;
}

export type HoldThreadReply = 'held';

const { directory, sync, released } = workerData as HoldThreadData;
const port = parentPort;
invariant(port !== null, 'this module runs in a thread of its own');
const environment = openAgain(directory, { sync });
writeAtOnce(environment.root, () => {
  port.postMessage('held' satisfies HoldThreadReply);
  Atomics.wait(released, 0, 0);
});
await environment.root.close();
port.close();
