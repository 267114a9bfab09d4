import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { invariant } from '../../src/base/invariant.js';
import { eventually } from '../chaos/finding.js';
import {
  blobsOf,
  commitStaged,
  crashContainer,
  runBlobLoad,
  type BlobLoad,
} from '../crash/blob-load.js';
import { settleBlobs } from '../crash/blob-settle.js';
import { startPostgres, withoutPostgres, type PostgresServer } from '../support/postgres-server.js';
import { byLength, isLong } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';
import { Fleet } from './fleet.js';

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const kills = byLength({ short: 2, long: 20 });
const blockBlob = { 'x-ms-blob-type': 'BlockBlob' };
/** The longest that a server stays unswept that was killed, and some time to do it. */
const sweptWithinMs = 90_000;

void describe(`large blobs of several servers (seed ${seed})`, { skip: withoutPostgres }, () => {
  let database: PostgresServer | undefined;
  let servers: Fleet | undefined;
  before(async () => {
    database = await startPostgres();
    servers = await Fleet.start(database.url, 2);
    const client = servers.at(0).blobClient();
    await client.expect(201, { method: 'PUT', path: `/${crashContainer}?restype=container` });
    client.close();
  });
  after(async () => {
    await servers?.[Symbol.asyncDispose]();
    await database?.dispose();
  });
  const fleet = (): Fleet => {
    invariant(servers !== undefined, 'the servers have been started');
    return servers;
  };

  void it('are read, copied, changed and deleted by each of them, whoever stored them', async () => {
    const [first, second] = [fleet().at(0).blobClient(), fleet().at(1).blobClient()];
    for (const length of [32_769, 1_000_000, 9_000_000]) {
      const path = `/${crashContainer}/of-${length}`;
      const body = Buffer.alloc(length, `bytes of ${length}`);
      await first.expect(201, { method: 'PUT', path, headers: blockBlob, body });
      assert.ok((await second.expect(200, { path })).body.equals(body));
      const copy = `${path}-copy`;
      const source = `http://127.0.0.1:${fleet().at(1).blobPort}/devstoreaccount1${path}`;
      await second.expect(202, {
        method: 'PUT',
        path: copy,
        headers: { 'x-ms-copy-source': source },
      });
      const other = Buffer.alloc(length, 'other');
      await second.expect(201, { method: 'PUT', path, headers: blockBlob, body: other });
      assert.ok((await first.expect(200, { path })).body.equals(other));
      await first.expect(202, { method: 'DELETE', path });
      assert.equal((await second.send({ path })).status, 404);
      assert.ok((await first.expect(200, { path: copy })).body.equals(body));
    }
    first.close();
    second.close();
  });

  void it(`stay whole over ${kills} kills of a server under load, and leave no orphan`, async (t) => {
    const random = new SimRandom(seed);
    const everybody = blobsOf(8);
    const own = [everybody.slice(0, 4), everybody.slice(4)];
    const all = everybody.flat();
    let acknowledged = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const load: BlobLoad = { random, isOver: false, surprises: [], acknowledged: 0 };
      const loads = own.map((workers, index) =>
        Promise.all(
          workers.map((blobs) => runBlobLoad(load, fleet().at(index).blobClient(), blobs)),
        ),
      );
      await pause(random.between(200, 600));
      const victim = kill % 2;
      await fleet().kill(victim);
      // The other one goes on.
      await pause(100);
      load.isOver = true;
      await Promise.all(loads);
      assert.deepEqual(load.surprises, []);
      acknowledged += load.acknowledged;
      await fleet().replace(victim);
      const client = fleet()
        .at(1 - victim)
        .blobClient();
      await settleBlobs(client, all);
      load.isOver = false;
      await commitStaged(load, client, all);
      await settleBlobs(client, all);
      assert.deepEqual(load.surprises, []);
      client.close();
    }
    t.diagnostic(`${acknowledged} acknowledged writes`);
    assert.ok(acknowledged > kills);
    if (!isLong) return;
    const sessions = join(fleet().location, 'content', 'sessions');
    // What the dead have left is looked at by the living.
    await eventually(
      'sessions of killed servers are swept',
      async () => (await readdir(sessions)).length === fleet().servers.length,
      sweptWithinMs,
    );
    const client = fleet().at(0).blobClient();
    await settleBlobs(client, all);
    client.close();
  });
});
