import { systemClock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { TableService } from '../../src/services/tables/table-service.js';
import { SimRandom } from './sim-random.js';
import { runTransfers } from './sim-transfers.js';

// A process that joins the data directory in the first argument and transfers money in it.
const [directory = '', seed = '0', transfers = '0'] = process.argv.slice(2);
const store = await openLmdbStore({ directory, clock: systemClock, sharing: 'join' });
const service = new TableService({ store, clock: systemClock });
const outcome = await runTransfers(service, new SimRandom(Number(seed)), Number(transfers));
await store.close();
process.send?.(outcome);
process.disconnect?.();
