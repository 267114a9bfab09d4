import { setTimeout as pause } from 'node:timers/promises';
import { holdingTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { CommitUnknownError, StoreUnavailableError } from '../../../src/kv/errors.js';
import { openPartitionedStore } from '../../../src/partition/store.js';
import { membersOf } from '../composed-stores.js';
import type { Ledger } from './ledger.js';
import { openAt, type Places } from './places.js';
import { insertion, partitionCount, readTable, rowName, rowOf } from './table.js';

// A front end: writes rows until it is told to stop, then tells what became of them. Arguments: the
// places of the stores as JSON, and its name.

const scanEvery = 150;
const readyAfter = partitionCount + 1;
const [placesText = '', name = ''] = process.argv.slice(2);
const places = JSON.parse(placesText) as Places;

const store = await openPartitionedStore({
  members: membersOf(await openAt(places, 'join')),
  clock: systemClock,
  timers: holdingTimers,
  randomness: systemRandomness,
});
const acknowledged: string[] = [];
const unknown: string[] = [];
const refused: string[] = [];
const problems: string[] = [];
let scans = 0;
const over = new AbortController();
process.once('message', () => over.abort());

for (let count = 0; !over.signal.aborted; count += 1) {
  const partition = count % partitionCount;
  const key = rowOf(partition, `${name}-${count}`);
  const row = rowName(partition, `${name}-${count}`);
  try {
    const result = await store.commit(insertion(partition, `${name}-${count}`));
    if (!result.ok) problems.push(`${row} was there before it was written`);
    acknowledged.push(row);
    // Each partition has rows by then, however slow the machine is.
    if (acknowledged.length === readyAfter) process.send?.('ready');
    if ((await store.get(key))?.value.length !== row.length) {
      problems.push(`${row} was not there behind its acknowledgement`);
    }
  } catch (error) {
    if (error instanceof CommitUnknownError) unknown.push(row);
    else if (error instanceof StoreUnavailableError) refused.push(row);
    else throw error;
  }
  if (count % scanEvery === scanEvery - 1) await scan();
  await pause(1);
}
const ledger: Ledger = { acknowledged, unknown, refused, problems, scans };
process.send?.(ledger, () => process.exit(0));

/** A query over all ranges has each row once, and all that were acknowledged before. */
async function scan(): Promise<void> {
  try {
    const found = await readTable(store);
    scans += 1;
    for (const row of acknowledged) if (!found.has(row)) problems.push(`no ${row} in a query`);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) problems.push(String(error));
  }
}
