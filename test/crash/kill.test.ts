import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { costly, byLength } from '../support/run-length.js';
import { ServerProcess } from '../support/crash-server.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import type { WireClient } from '../wire/kit/client.js';
import { Ledger } from './ledger.js';
import { createMainTable, runLoad, type Load } from './load.js';
import { settle } from './settle.js';
import { someWork } from './some-work.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', byLength({ short: 1, long: 20 }));
const roundsOfStops = byLength({ short: 1, long: 5 });
const connections = 8;

function clientsOf(server: ServerProcess): WireClient[] {
  return Array.from({ length: connections }, () => server.client());
}

/** How the next server of a data directory is started. */
const starts: Readonly<Record<string, (random: SimRandom) => readonly string[]>> = {
  'with a journal': () => [],
  'without one': () => ['--journal', 'off'],
  'with a journal, and without one or by workers in between': (random) =>
    random.weighted({ '--journal on': 4, '--journal off': 1, '--workers 2': 1 }).split(' '),
};

for (const [how, flagsOf] of Object.entries(starts)) {
  const times = `${rounds} times under load (seed ${seed})`;
  it(`keeps every promise ${how} when it is killed ${times}`, costly(), (t) =>
    killRounds(t, flagsOf),
  );
}

async function killRounds(t: TestContext, flagsOf: (random: SimRandom) => readonly string[]) {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-crash-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const ledger = new Ledger();
  const random = new SimRandom(seed);
  const start = () => ServerProcess.start(join(directory, 'data'), { flags: flagsOf(random) });
  let server = await start();
  try {
    await createMainTable(server.client(), ledger);
    for (let round = 1; round <= rounds; round += 1) {
      const load: Load = { ledger, random, isOver: false, surprises: [] };
      const done = runLoad(load, clientsOf(server));
      await pause(random.between(20, 700));
      if (round === rounds) await someWork(server, () => ledger.acknowledged, rounds);
      await server.end('SIGKILL');
      load.isOver = true;
      await done;
      assert.deepEqual(load.surprises, [], `round ${round}`);
      server = await start();
      const client = server.client();
      await settle(ledger, client);
      client.close();
    }
    t.diagnostic(`${ledger.acknowledged} acknowledged writes over ${rounds} kills`);
    assert.ok(ledger.acknowledged > rounds, 'the load did something');
  } finally {
    await server.end('SIGKILL');
  }
}

it(
  `loses nothing and ends with 0 when SIGTERM stops it under load (seed ${seed})`,
  costly(),
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-stop-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const ledger = new Ledger();
    const random = new SimRandom(seed);
    let server = await ServerProcess.start(directory);
    try {
      await createMainTable(server.client(), ledger);
      for (let round = 0; round < roundsOfStops; round += 1) {
        const load: Load = { ledger, random, isOver: false, surprises: [] };
        const done = runLoad(load, clientsOf(server));
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
  },
);
