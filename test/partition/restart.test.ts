import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { jobResult, operationEnd } from '../../src/cli/partition/waiting.js';
import { isVerifyResult } from '../../src/http/control/job-results.js';
import type { CliProcess } from '../support/cli-process.js';
import {
  connectionStringOf,
  endpointOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';
import { SteadyWriters } from './steady-writers.js';

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const kills = byLength({ short: 1, long: 6 });
const rowsBetween = 100;
/** A move that nobody ends would be waited for without an end. */
const limits = { ...costly(), timeout: 60_000 + kills * 120_000 };
/** The time in which a move of so few rows is somewhere on its way, about. */
const moveMs = 150;

void describe(`a server that is killed while it moves a range (seed ${seed})`, () => {
  void it('ends the move by itself when it is started again', limits, async (t) => {
    const random = new SimRandom(seed);
    await using folder = await temporaryDirectory();
    const place = (name: string) => ({ location: join(folder.path, name) });
    const config = join(folder.path, 'tabularium.json');
    await writeFile(config, JSON.stringify({ ...place('home'), stores: { b: place('b') } }));
    const start = (ports: readonly string[]) => startCli(['--config', config, ...ports]);
    let server = await start(['--control-port', '0']);
    const ports = portsOf(server);
    const control = new RemotePartitions(Number(endpointOf(server, 'Control').port));
    const writers = await SteadyWriters.start(connectionStringOf(server), 'orders');
    try {
      await writers.more(rowsBetween);
      const split = await control.split(2, 'table/devstoreaccount1/orders/m');
      assert.equal((await operationEnd(control, split.operation)).state, 'done');
      for (let kill = 0; kill < kills; kill += 1) {
        const { range, store } = await lastRange(control);
        const target = store === 'home' ? 'b' : 'home';
        await control.move(range, target);
        // The first one has hardly begun.
        await pause(kill === 0 ? 0 : random.int(moveMs));
        server.child.kill('SIGKILL');
        await server.result;
        server = await start(ports);
        while ((await control.list()).operations.length > 0) await pause(20);
        const ended = await movesEnded(server);
        t.diagnostic(ended > 0 ? 'killed on its way' : 'killed at its end');
        assert.ok(kill > 0 || ended === 1, 'it was over before it was killed');
        assert.equal((await lastRange(control)).store, target);
        await writers.more(rowsBetween);
      }
    } finally {
      await writers.stop();
    }
    const { job } = await control.verify({});
    assert.deepEqual(await jobResult(control, job, isVerifyResult), { findings: [], repaired: [] });
    await writers.check();
    assert.equal(await stopCli(server), 0);
  });
});

function portsOf(server: CliProcess): readonly string[] {
  const port = (label: Parameters<typeof endpointOf>[1]) => endpointOf(server, label).port;
  const own = ['--table-port', port('Tables'), '--queue-port', port('Queues')];
  return [...own, '--blob-port', port('Blobs'), '--control-port', port('Control')];
}

/** Moves that this process has ended. */
async function movesEnded(server: CliProcess): Promise<number> {
  const { port } = endpointOf(server, 'Control');
  const metrics = await (await fetch(`http://127.0.0.1:${port}/partitions/metrics`)).text();
  return Number(/_ops_total\{kind="move",result="done"\} (\d+)/.exec(metrics)?.[1] ?? 0);
}

async function lastRange(control: RemotePartitions) {
  const last = (await control.list()).ranges.at(-1);
  assert.ok(last !== undefined);
  return last;
}
