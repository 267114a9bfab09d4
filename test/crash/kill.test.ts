import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ServerProcess } from '../support/crash-server.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { stampOf } from '../sim/model.js';
import { entityPath, type WireClient } from '../wire/kit/client.js';
import { readEverything } from './inspect.js';
import { Ledger } from './ledger.js';
import { createMainTable, mainTable, work, type Load } from './load.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', 20);
const connections = 8;

/** Runs the load on fresh connections; resolves when it has ended. */
async function runLoad(server: ServerProcess, load: Load): Promise<void> {
  const clients = Array.from({ length: connections }, () => server.client());
  await Promise.all(clients.map((client, worker) => work(load, worker, client)));
  for (const client of clients) client.close();
}

async function settle(ledger: Ledger, client: WireClient): Promise<void> {
  const before = ledger.highest;
  assert.deepEqual(ledger.settle(await readEverything(client)), []);
  const response = await client.send({
    method: 'PUT',
    path: entityPath(mainTable, 'probe', 'probe'),
    body: JSON.stringify({ serial: ledger.nextSerial(), pad: '' }),
  });
  assert.equal(response.status, 204, response.text);
  const etag = response.header('ETag') ?? '';
  assert.ok(stampOf(etag) > before, `${etag} is not above ${before}`);
  assert.ok(stampOf(etag) > ledger.highest, `${etag} is not above ${ledger.highest}`);
  await client.send({
    method: 'DELETE',
    path: entityPath(mainTable, 'probe', 'probe'),
    headers: { 'If-Match': etag },
  });
  ledger.note(etag);
}

it(`keeps every promise when it is killed ${rounds} times under load (seed ${seed})`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-crash-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const ledger = new Ledger();
  const random = new SimRandom(seed);
  let server = await ServerProcess.start(join(directory, 'data'));
  try {
    await createMainTable(server.client(), ledger);
    for (let round = 1; round <= rounds; round += 1) {
      const load: Load = { ledger, random, isOver: false, surprises: [] };
      const done = runLoad(server, load);
      await pause(random.between(20, 700));
      await server.end('SIGKILL');
      load.isOver = true;
      await done;
      assert.deepEqual(load.surprises, [], `round ${round}`);
      server = await ServerProcess.start(join(directory, 'data'));
      const client = server.client();
      await settle(ledger, client);
      client.close();
    }
    t.diagnostic(`${ledger.acknowledged} acknowledged writes over ${rounds} kills`);
    assert.ok(ledger.acknowledged > rounds, 'the load did something');
  } finally {
    await server.end('SIGKILL');
  }
});

it(`loses nothing and ends with 0 when SIGTERM stops it under load (seed ${seed})`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-stop-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const ledger = new Ledger();
  const random = new SimRandom(seed);
  let server = await ServerProcess.start(directory);
  try {
    await createMainTable(server.client(), ledger);
    for (let round = 0; round < 3; round += 1) {
      const load: Load = { ledger, random, isOver: false, surprises: [] };
      const done = runLoad(server, load);
      await pause(random.between(50, 500));
      const exit = await server.end('SIGTERM');
      await done;
      assert.deepEqual({ code: exit.code, signal: exit.signal }, { code: 0, signal: null });
      assert.deepEqual(load.surprises, []);
      server = await ServerProcess.start(directory);
      const client = server.client();
      await settle(ledger, client);
      client.close();
    }
  } finally {
    await server.end('SIGKILL');
  }
});
