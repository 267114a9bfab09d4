import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '../../src/app/backend.js';
import { openData } from '../../src/app/open-data.js';
import { settingsOf } from '../../src/app/settings.js';
import { manualClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { contentFolder } from '../../src/content/files/content-directory.js';
import {
  extentsFolder,
  idOf,
  isOwnerFile,
  placeNamed,
} from '../../src/content/files/extent-place.js';
import { defaultLimits } from '../../src/http/pipeline/limits.js';
import { BlobService } from '../../src/services/blobs/blob-service.js';
import { account, assertTidy, settle } from '../support/blob-world.js';
import { fastClockEnv, ServerProcess } from '../support/crash-server.js';
import { manualTimers } from '../support/manual-timers.js';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { blobsOf, commitStaged, crashContainer, runBlobLoad, type BlobLoad } from './blob-load.js';
import { settleBlobs } from './blob-settle.js';
import { someWork } from './some-work.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', byLength({ short: 1, long: 20 }));
const connections = 6;
const key = Buffer.alloc(64, 7).toString('base64');
const weekMicros = 8 * 24 * 3600 * 1_000_000;

/**
 * What was replaced is freed after half a minute, which is half a second here: the sweep is killed
 * as well.
 */
const clockFactor = 60;
const env = fastClockEnv(clockFactor);

/** What a request may take, in time of the machine as without the fast clock. */
const limits = Object.fromEntries(
  (
    ['headersTimeoutMs', 'requestTimeoutMs', 'responseTimeoutMs', 'operationTimeoutMs'] as const
  ).map((name) => [name, defaultLimits[name] * clockFactor]),
);

/** Signs by the clock of a server that was begun at a moment of this process. */
function clientOf(server: ServerProcess, begunMs: number): BlobWireClient {
  const now = () => new Date(begunMs + (Date.now() - begunMs) * clockFactor);
  return new BlobWireClient(server.blobPort, { account, key, now });
}

/** The extents that are on the disk. */
async function extentsIn(directory: string): Promise<Set<string>> {
  const root = join(directory, contentFolder, extentsFolder);
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const ids = files
    .filter((entry) => entry.isFile() && !isOwnerFile(entry.name))
    .map(({ parentPath, name }) => {
      const [session = ''] = parentPath.slice(root.length + 1).split('/');
      const place = placeNamed(session, name);
      assert.ok(place !== undefined, `${parentPath}/${name} is an extent`);
      return idOf(place);
    });
  return new Set(ids);
}

/** Sweeps a week later: what is there is named, and what is named is there. */
async function sweepEverything(directory: string): Promise<number> {
  const settings = settingsOf({ location: directory });
  const { randomness } = settings;
  const data = await openData(settings, () => openStore(settings, 'exclusive'));
  try {
    const { store, content } = data;
    const clock = manualClock(settings.storageClock.nowMicros() + weekMicros);
    const timers = manualTimers();
    const options = { store, content, clock: forwardClock(clock), randomness, timers };
    const services = [new BlobService(options)];
    await settle({ clock, services });
    const ids = await extentsIn(directory);
    await assertTidy({ store, content: { ids } });
    return ids.size;
  } finally {
    await data.close();
  }
}

it(
  `keeps every blob whole and no orphan when it is killed ${rounds} times under load (seed ${seed})`,
  costly(),
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-blob-crash-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const directory = join(folder, 'data');
    const config = join(folder, 'config.yaml');
    await writeFile(config, JSON.stringify({ limits }));
    const random = new SimRandom(seed);
    const workers = blobsOf(connections);
    const all = workers.flat();
    // Each start keeps versions or keeps no more, has a journal or has none.
    let begunMs = 0;
    const start = () => {
      begunMs = Date.now();
      const flags = ['--config', config, '--account', `${account}:${key}`];
      if (random.chance(0.5)) flags.push('--blob-versioning');
      if (random.chance(0.3)) flags.push('--journal', 'off');
      return ServerProcess.start(directory, { flags, env });
    };
    let server = await start();
    let acknowledged = 0;
    try {
      const first = clientOf(server, begunMs);
      await first.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
      first.close();
      for (let round = 1; round <= rounds; round += 1) {
        const load: BlobLoad = { random, isOver: false, surprises: [], acknowledged: 0 };
        const [running, runningMs] = [server, begunMs];
        const client = () => clientOf(running, runningMs);
        const done = Promise.all(workers.map((own) => runBlobLoad(load, client(), own)));
        await pause(random.between(50, 500));
        const isLast = round === rounds;
        if (isLast) await someWork(server, () => acknowledged + load.acknowledged, rounds);
        const { output } = await server.end('SIGKILL');
        load.isOver = true;
        await done;
        assert.deepEqual(load.surprises, [], `round ${round}\n${output}`);
        server = await start();
        const again = clientOf(server, begunMs);
        await settleBlobs(again, all);
        load.isOver = false;
        await commitStaged(load, again, all);
        await settleBlobs(again, all);
        assert.deepEqual(load.surprises, [], `blocks of round ${round}`);
        again.close();
        acknowledged += load.acknowledged;
      }
    } finally {
      await server.end('SIGKILL');
    }
    const extents = await sweepEverything(directory);
    t.diagnostic(`${acknowledged} acknowledged writes over ${rounds} kills, ${extents} extents`);
    assert.ok(acknowledged > rounds, 'the load did something');
  },
);
