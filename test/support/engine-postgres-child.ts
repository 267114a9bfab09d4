import { systemClock } from '../../src/base/clock.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import { serveStore } from '../../src/kv/conformance/remote-store.js';
import type { FormOptions } from './engine-postgres.js';

// Opens the schema in the second argument of the database in the first, and serves it. The third:
// `FormOptions`, as JSON.
const [url = '', schema = '', form = '{}'] = process.argv.slice(2);
const options = JSON.parse(form) as FormOptions;

serveStore(await openPostgresStore({ url, schema, ...options, clock: systemClock }));
