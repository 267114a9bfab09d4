import { systemClock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { serveStore } from '../../src/kv/conformance/remote-store.js';
import { withLateGuards } from './late-guards.js';

// Opens the data directory in the first argument, as `join` or `exclusive`, and serves it,
// correctly or `with late guards`.
const [directory = '', sharing, writes] = process.argv.slice(2);

const store = await openLmdbStore({
  directory,
  clock: systemClock,
  sharing: sharing === 'join' ? 'join' : 'exclusive',
});
serveStore(writes === 'with late guards' ? withLateGuards(store) : store);
