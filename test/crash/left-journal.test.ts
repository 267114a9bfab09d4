import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ServerProcess } from '../support/crash-server.js';
import { Faults, syncCalls } from '../support/faults/faults.js';
import { withoutFaults } from '../support/faults/shim.js';
import { costly } from '../support/run-length.js';

const counted = { calls: syncCalls, action: { kind: 'count' } } as const;

/** A directory with the journal of a server that was killed, and the syncs of what starts there. */
async function leftJournal(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-left-journal-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const location = join(folder, 'data');
  const faults = await Faults.make();
  t.after(() => faults[Symbol.asyncDispose]());
  const first = await ServerProcess.start(location);
  const client = first.client();
  await client.send({ method: 'POST', path: '/Tables', body: '{"TableName":"kept"}' });
  client.close();
  await first.end('SIGKILL');
  assert.ok(existsSync(join(location, 'journal')));
  /** How many syncs of such a path a start makes. */
  const syncsOfStart = async (path: string, flags: readonly string[] = []): Promise<number> => {
    faults.set({ ...counted, path });
    const server = await ServerProcess.start(location, { env: faults.env, flags });
    const [{ seen } = { seen: 0 }] = faults.counts();
    const again = server.client();
    assert.match((await again.send({ path: '/Tables' })).text, /"TableName":"kept"/);
    again.close();
    await server.end('SIGKILL');
    return seen;
  };
  return { location, syncsOfStart };
}

describe('the journal of a server that was killed', { skip: withoutFaults }, () => {
  it('is durable before the next one builds on it', costly(), async (t) => {
    const { syncsOfStart } = await leftJournal(t);
    assert.ok((await syncsOfStart('/1.old/')) > 0);
  });

  it(
    'is durable in the data file before a server without syncs takes it away',
    costly(),
    async (t) => {
      const { location, syncsOfStart } = await leftJournal(t);
      const relaxed = ['--durability', 'relaxed'];
      assert.ok((await syncsOfStart('data.mdb', relaxed)) > 0);
      assert.equal(existsSync(join(location, 'journal')), false);
      assert.equal(await syncsOfStart('data.mdb', relaxed), 0, 'it makes none by itself');
    },
  );
});
