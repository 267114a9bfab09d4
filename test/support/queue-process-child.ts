import { systemClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { workOnQueue } from './queue-process-work.js';
import { SimRandom } from './sim-random.js';

// A process that joins the data directory in the first argument and works on its queue with others.
const [directory = '', seed = '0', messages = '0'] = process.argv.slice(2);
const store = await openLmdbStore({ directory, clock: systemClock, sharing: 'join' });
const service = new QueueService({
  store,
  clock: forwardClock(systemClock),
  randomness: systemRandomness,
});
const outcome = await workOnQueue(service, new SimRandom(Number(seed)), Number(messages));
await store.close();
// Ends only when the outcome, which can be long, has been read.
process.once('message', () => process.disconnect?.());
process.send?.(outcome);
