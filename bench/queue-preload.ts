// Fills a queue of a running server: `queue-preload.js DIRECTORY ACCOUNT QUEUE COUNT`. It works on
// the server's data directory beside it, without HTTP, so that a million messages take a minute.
import { systemClock } from '../src/base/clock.js';
import { forwardClock } from '../src/base/forward-clock.js';
import { systemRandomness } from '../src/base/randomness.js';
import { openLmdbStore } from '../src/engines/lmdb/store.js';
import { QueueService } from '../src/services/queues/queue-service.js';
import { messageText } from './queue-workloads.js';

const [, , directory = '', account = '', queue = '', count = '0'] = process.argv;
/** The number of commits that share one sync. */
const inFlight = 512;
const progressMessages = 100_000;
const timeToLiveSeconds = 604_800;

const clock = forwardClock(systemClock);
const store = await openLmdbStore({ directory, clock, sharing: 'join', durability: 'relaxed' });
const service = new QueueService({ store, clock, randomness: systemRandomness });
const message = { text: messageText, visibilitySeconds: 0, timeToLiveSeconds };

let begun = 0;
async function putAll(): Promise<void> {
  while (begun < Number(count)) {
    begun += 1;
    if (begun % progressMessages === 0) process.stderr.write(`${queue}: ${begun} of ${count}\n`);
    await service.putMessage(account, queue, message);
  }
}

await Promise.all(Array.from({ length: inFlight }, putAll));
await store.close();
