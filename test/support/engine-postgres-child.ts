import { systemClock } from '../../src/base/clock.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import { serveStore } from '../../src/kv/conformance/remote-store.js';

// Opens the schema in the second argument of the database in the first, and serves it. The third:
// how commits are applied.
const [url = '', schema = '', form] = process.argv.slice(2);
const commitForm = form === 'transaction' ? form : 'function';

serveStore(await openPostgresStore({ url, schema, commitForm, clock: systemClock }));
