import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { temporaryLocation } from '../../test/support/engine-lmdb.js';
import { systemTimers, type Timers } from '../base/async/timers.js';
import { systemClock } from '../base/clock.js';
import { dataFile } from '../engines/lmdb/directory/file-kinds.js';
import { openLmdbStore } from '../engines/lmdb/store.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { WireClient } from '../../test/wire/kit/client.js';
import { QueueWireClient } from '../../test/wire/kit/queue-client.js';
import { propertyBagOf } from '../model/bag/bag-builder.js';
import type { ServedStore } from '../kv/served-store.js';
import { TableService } from '../services/tables/table-service.js';
import { startServer } from './server.js';
import { costly } from '../../test/support/run-length.js';

/** Less than the interval at which the server looks for garbage without being told. */
const soonMsMax = 1_000;
const looksMax = 1_000;

/** Timers of which those with a delay above `soonMsMax` never fire. */
const soonTimers: Timers = {
  start: (delayMs, callback, argument) =>
    delayMs <= soonMsMax
      ? systemTimers.start(delayMs, callback, argument)
      : { close: () => undefined },
};

async function world(t: TestContext) {
  const store = await openMemoryStore({ clock: systemClock });
  const server = await startServer(
    { inMemory: true, tablePort: 0, queuePort: 0, timers: soonTimers },
    'exclusive',
    () => Promise.resolve(store),
  );
  const tables = WireClient.of(server);
  const queues = QueueWireClient.of(server);
  t.after(() => {
    tables.close();
    queues.close();
    return server.close();
  });
  // Lets the first look pass, which finds nothing.
  await setTimeout(200);
  return { store, tables, queues };
}

/** Resolves when no value contains the marker any more. */
async function gone(store: ServedStore, marker: string): Promise<void> {
  const everything = { start: new Uint8Array() };
  const options = { limit: 10_000, bytesMax: 1 << 30 };
  for (let looks = 0; ; looks += 1) {
    const { entries } = await store.range(everything, options);
    if (entries.every(({ value }) => !Buffer.from(value).includes(marker))) return;
    assert.ok(looks < looksMax, 'nothing sweeps it');
    await setTimeout(10);
  }
}

describe('what a server sweeps', () => {
  it('is deleted as soon as its table is', async (t) => {
    const { store, tables } = await world(t);
    await tables.createTable('data');
    const row = { PartitionKey: 'p', RowKey: 'r', Text: 'garbage' };
    assert.equal((await tables.insert('data', row)).status, 201);
    await tables.send({ method: 'DELETE', path: "/Tables('data')" });
    await gone(store, 'garbage');
  });

  it('is deleted as soon as its queue is cleared or deleted', async (t) => {
    const { store, queues } = await world(t);
    const body = '<QueueMessage><MessageText>garbage</MessageText></QueueMessage>';
    await queues.send({ method: 'PUT', path: '/jobs' });
    for (const path of ['/jobs/messages', '/jobs']) {
      assert.equal(
        (await queues.send({ method: 'POST', path: '/jobs/messages', body })).status,
        201,
      );
      assert.equal((await queues.send({ method: 'DELETE', path })).status, 204);
      await gone(store, 'garbage');
    }
  });

  it('makes room: the data file does not grow when as much is put again', costly(), async (t) => {
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
    t.after(async () => {
      await store.close();
      await remove();
    });
    const service = new TableService({ store, clock: systemClock });
    const text = { type: 'Edm.String', value: 'x'.repeat(1_000) } as const;
    const properties = propertyBagOf([{ name: 'Text', value: text }]);
    const sizes: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      await service.createTable('acct', 'data');
      for (let partition = 0; partition < 20; partition += 1) {
        const operations = Array.from({ length: 100 }, (_, row) => ({
          kind: 'insert' as const,
          entity: { partitionKey: `p${partition}`, rowKey: `r${row}`, properties },
        }));
        await service.transact('acct', 'data', operations);
      }
      sizes.push(statSync(join(directory, dataFile)).size);
      await service.deleteTable('acct', 'data');
      while ((await service.reclaim({ entriesMax: 512 })).more);
    }
    const [first = 0] = sizes;
    assert.ok(first > 2_000_000, `${first} bytes hold the rows`);
    assert.ok(Math.max(...sizes) < 1.3 * first, `sizes: ${sizes.join(', ')}`);
  });
});
