import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { blobsOf, commitStaged, crashContainer, runBlobLoad, type BlobLoad } from './blob-load.js';
import { settleBlobs } from './blob-settle.js';
import { sweepEverything } from './blob-sweep.js';
import { startFast } from './fast-blobs.js';
import { someWork } from './some-work.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', byLength({ short: 1, long: 20 }));
const connections = 6;

it(
  `keeps every blob whole and no orphan when it is killed ${rounds} times under load (seed ${seed})`,
  costly(),
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-blob-crash-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const random = new SimRandom(seed);
    const workers = blobsOf(connections);
    const all = workers.flat();
    // Each start keeps versions or keeps no more, has a journal or has none.
    const start = () => {
      const flags: string[] = [];
      if (random.chance(0.5)) flags.push('--blob-versioning');
      if (random.chance(0.3)) flags.push('--journal', 'off');
      return startFast(folder, flags);
    };
    let server = await start();
    let acknowledged = 0;
    try {
      const first = server.client();
      await first.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
      first.close();
      for (let round = 1; round <= rounds; round += 1) {
        const load: BlobLoad = { random, isOver: false, surprises: [], acknowledged: 0 };
        const running = server;
        const client = () => running.client();
        const done = Promise.all(workers.map((own) => runBlobLoad(load, client(), own)));
        await pause(random.between(50, 500));
        const isLast = round === rounds;
        if (isLast) await someWork(server.process, () => acknowledged + load.acknowledged, rounds);
        const { output } = await server.process.end('SIGKILL');
        load.isOver = true;
        await done;
        assert.deepEqual(load.surprises, [], `round ${round}\n${output}`);
        server = await start();
        const again = server.client();
        await settleBlobs(again, all);
        load.isOver = false;
        await commitStaged(load, again, all);
        await settleBlobs(again, all);
        assert.deepEqual(load.surprises, [], `blocks of round ${round}`);
        again.close();
        acknowledged += load.acknowledged;
      }
    } finally {
      await server.process.end('SIGKILL');
    }
    const extents = await sweepEverything(join(folder, 'data'));
    t.diagnostic(`${acknowledged} acknowledged writes over ${rounds} kills, ${extents} extents`);
    assert.ok(acknowledged > rounds, 'the load did something');
  },
);
