import { serveStore } from '../../../dist/src/kv/conformance/remote-store.js';
import { openCassandraStore } from './index.js';
import { cluster } from './test-stores.js';

// A process beside the one of a test: serves the store that its argument names.

const [, , store = ''] = process.argv;
serveStore(await openCassandraStore({ ...cluster, store }));
