import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { TableService } from '../../src/services/tables/table-service.js';
import { ServerProcess } from '../support/crash-server.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';
import { byLength, sampled } from '../support/run-length.js';
import { costly } from '../support/run-length.js';
import { insertOperation } from '../wire/kit/batch.js';
import type { WireClient } from '../wire/kit/client.js';
import { readEverything } from './inspect.js';
import { sendGroup } from './load.js';

const seed = seedSetting('TABULARIUM_CRASH_SEED');

/** Removed last of all: the hook of a test that ends its server runs behind those before it. */
const directories: string[] = [];
after(() => Promise.all(directories.map((each) => rm(each, { recursive: true, force: true }))));

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-leftovers-'));
  directories.push(directory);
  return directory;
}

async function fill(client: WireClient, table: string, count: number): Promise<void> {
  const created = await client.send({
    method: 'POST',
    path: '/Tables',
    body: JSON.stringify({ TableName: table }),
  });
  assert.equal(created.status, 201, created.text);
  for (let first = 0; first < count; first += 100) {
    const operations = Array.from({ length: Math.min(100, count - first) }, (_, index) =>
      insertOperation(table, {
        PartitionKey: `p${first}`,
        RowKey: String(index),
        serial: first + index,
        pad: 'x'.repeat(500),
      }),
    );
    assert.equal((await sendGroup(client, operations)).status, 202);
  }
}

it(
  'starts over a lock file and temporary files that a crash left in pieces',
  costly(),
  async (t) => {
    const directory = await temporary();
    let server = await ServerProcess.start(directory);
    t.after(() => server.end('SIGKILL'));
    await fill(server.client(), 'kept', 150);
    for (const bytes of sampled([0, 1, 100, 4096], 1)) {
      await server.end('SIGKILL');
      await truncate(join(directory, 'data.mdb-lock'), bytes);
      await writeFile(join(directory, 'format.new-torn'), '{"prod');
      await writeFile(join(directory, 'lock-torn.sock'), '');
      server = await ServerProcess.start(directory);
      const client = server.client();
      const { rows } = await readEverything(client);
      assert.equal(rows.size, 150);
      client.close();
    }
    await server.end('SIGKILL');
    await rm(join(directory, 'data.mdb-lock'));
    server = await ServerProcess.start(directory);
    assert.equal((await readEverything(server.client())).rows.size, 150);
  },
);

it('refuses a directory whose format file is torn, and says so', costly(), async () => {
  const directory = await temporary();
  const server = await ServerProcess.start(directory);
  await server.end('SIGKILL');
  await truncate(join(directory, 'format'), 10);
  await assert.rejects(
    ServerProcess.start(directory),
    /ended with 1:[^]*does not say which format/,
  );
  await rm(join(directory, 'format'));
  await assert.rejects(ServerProcess.start(directory), /ended with 1:[^]*not a data directory/);
  assert.ok((await readdir(directory)).includes('data.mdb'), 'nothing was removed');
});

it(
  `goes on freeing a dropped table however often it is killed meanwhile (seed ${seed})`,
  costly(),
  async (t) => {
    const directory = await temporary();
    const random = new SimRandom(seed);
    const rounds = byLength({ short: 2, long: 6 });
    const droppedRows = rounds * 1000;
    let server = await ServerProcess.start(directory);
    t.after(() => server.end('SIGKILL'));
    const client = server.client();
    await fill(client, 'kept', 200);
    await fill(client, 'dropped', droppedRows);
    assert.equal((await client.send({ method: 'DELETE', path: "/Tables('dropped')" })).status, 204);
    await fill(client, 'dropped', 100);
    client.close();
    for (let round = 0; round < rounds; round += 1) {
      await server.end('SIGKILL');
      server = await ServerProcess.start(directory);
      const { tables, rows } = await readEverything(server.client());
      assert.deepEqual(tables, ['dropped', 'kept']);
      assert.equal(rows.size, 300, 'nothing of the old table shows, nothing else is lost');
      await pause(random.between(0, 120));
    }
    await server.end('SIGTERM');
    await assertNothingLeft(directory, 300);
  },
);

/** Reclaims everything that can be reclaimed, and checks how many entities still take space. */
async function assertNothingLeft(directory: string, entities: number): Promise<void> {
  const store = await openLmdbStore({ directory, clock: systemClock });
  try {
    const service = new TableService({ store, clock: systemClock });
    while ((await service.reclaim({ entriesMax: 1000 })).more);
    const { entries } = await store.range(
      { start: Uint8Array.of(0) },
      { limit: 10_000, bytesMax: 100 << 20 },
    );
    const large = entries.filter(({ value }) => value.length > 500);
    // The server has written rows of metrics as well.
    const filled = large.filter(({ value }) => !Buffer.from(value).includes('TotalIngress'));
    assert.equal(filled.length, entities);
  } finally {
    await store.close();
  }
}
