import { systemClock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { serveStore } from '../../src/kv/conformance/remote-store.js';

// A process that opens the data directory named first, as `join` or `exclusive`, and serves it.
const [directory = '', sharing] = process.argv.slice(2);

serveStore(
  await openLmdbStore({
    directory,
    clock: systemClock,
    sharing: sharing === 'join' ? 'join' : 'exclusive',
  }),
);
