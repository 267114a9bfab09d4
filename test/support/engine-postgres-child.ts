import { systemClock } from '../../src/base/clock.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import { serveStore } from '../../src/kv/conformance/remote-store.js';

// Opens the schema in the second argument of the database in the first, and serves it.
const [url = '', schema = ''] = process.argv.slice(2);

serveStore(await openPostgresStore({ url, schema, clock: systemClock }));
