import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemTimers } from '../../base/async/timers.js';
import { it } from '../../base/conformance/limited-test.js';
import { StoreWriteError } from '../../kv/errors.js';
import { CacheFilling } from './cold/cache-filling.js';
import { StoreCondition } from './condition.js';
import { filesOf, openEnvironment } from './environment.js';
import { ThreadIngester } from './thread-ingester.js';

/** As `Worker` does when the process may have no further thread. */
function startThread(): never {
  throw new Error('pthread_create: EAGAIN');
}

async function environmentOf(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-threads-'));
  t.after(() => rm(directory, { recursive: true }));
  const environment = openEnvironment(directory, { sync: false });
  t.after(() => environment.root.close());
  const options = { files: filesOf(directory), timers: systemTimers, events: {} };
  const condition = new StoreCondition(environment, options);
  t.after(() => condition.close());
  return { directory, condition };
}

it('an ingestion for which there is no thread writes nothing, and the store goes on', async (t) => {
  const { directory, condition } = await environmentOf(t);
  const own = { directory, sync: false, ownerRecord: Buffer.of(1), startThread };
  const ingester = new ThreadIngester({ ...own, which: 'all', condition, timers: systemTimers });
  const entry = { key: Buffer.from('key'), value: Buffer.from('value'), version: 1 };
  await assert.rejects(ingester.ingest({ entries: [entry], deletes: [], floor: 0 }), (error) => {
    assert.ok(error instanceof StoreWriteError);
    return /no thread can be started: pthread_create: EAGAIN/.test(error.message);
  });
  assert.equal(condition.failure, undefined);
  await ingester.close();
});

it('a store whose cache no thread can fill is told so, and closes', async () => {
  const told: unknown[] = [];
  const file = { path: 'data.mdb', bytesMax: 1 };
  const filling = new CacheFilling(file, (error) => void told.push(error), startThread);
  assert.match(String(told), /pthread_create: EAGAIN/);
  await filling.close();
});
