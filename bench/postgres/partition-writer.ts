// Commits rows to one partition of a database: `partition-writer.js URL SCHEMA NAME SECONDS`. Sends
// the rate.
import { systemClock } from '../../src/base/clock.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import { closedLoop } from '../engine/closed-loop.js';
import { insertion, keyOf } from './rows.js';

const [, , url = '', schema = '', name = '', seconds = '1'] = process.argv;
const callers = 128;
const warmupMs = 500;
/** Rows of a process are in front of or behind those of the others. */
const firstRow = Number(name) * 100_000_000;

const store = await openPostgresStore({ url, schema, clock: systemClock });
let rows = 0;
const call = async (): Promise<number> => {
  rows += 1;
  const { ok } = await store.commit(insertion(keyOf('one', firstRow + rows)));
  if (!ok) throw new Error('A row that was not there was found.');
  return 1;
};
await closedLoop(call, { callers, durationMs: warmupMs });
const { opsPerSecond } = await closedLoop(call, { callers, durationMs: Number(seconds) * 1000 });
await store.close();
process.send?.(opsPerSecond);
process.disconnect();
