import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ServerProcess } from '../crash-server.js';
import { temporaryDirectory } from '../cli-server.js';
import type { WireClient } from '../../wire/kit/client.js';
import { syncCalls, writeCalls, type FaultAction } from './faults.js';
import { withoutFaults } from './shim.js';
import { startWithFaults } from './start-with-faults.js';
import { costly } from '../run-length.js';

/** So that each commit writes to the data file before it is acknowledged. */
const unjournaled = { flags: ['--journal', 'off'] } as const;

const onData = { path: 'data.mdb', calls: [...writeCalls, ...syncCalls] } as const;

async function createTable(client: WireClient, name: string): Promise<number> {
  const body = JSON.stringify({ TableName: name });
  return (await client.send({ method: 'POST', path: '/Tables', body })).status;
}

void describe('injected faults', { skip: withoutFaults }, () => {
  void it('sees the calls by which the engine and the program write', costly(), async () => {
    await using directory = await temporaryDirectory();
    const count = { kind: 'count' } as const;
    const rules = [
      { calls: ['pwrite'] as const, path: 'data.mdb', action: count },
      { calls: ['writev'] as const, path: 'data.mdb', action: count },
      { calls: ['fdatasync'] as const, path: 'data.mdb', action: count },
      { calls: ['open'] as const, path: 'data.mdb', action: count },
      { calls: ['rename'] as const, path: '/format', action: count },
      { calls: ['open'] as const, path: '/nowhere', action: count },
    ];
    await using faulty = await startWithFaults(join(directory.path, 'data'), { rules });
    const seen = faulty.faults.counts().map(({ seen }) => seen > 0);
    assert.deepEqual(seen, [true, true, true, true, true, false]);
  });

  void it(
    'fails calls from the next one on, as often as asked, and lets all pass again',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      await using faulty = await startWithFaults(join(directory.path, 'data'), unjournaled);
      const client = faulty.server.client();
      assert.equal(await createTable(client, 'before'), 201);
      const fail = { kind: 'fail', error: 'ENOSPC' } as const;
      faulty.faults.set({ path: 'data.mdb', calls: ['pwrite', 'writev'], action: fail, times: 1 });
      // Refused, or without a response because the server ends.
      assert.notEqual(await createTable(client, 'during').catch(() => 'closed'), 201);
      assert.equal(faulty.faults.counts()[0]?.hit, 1);
      faulty.faults.clear();
      assert.deepEqual(faulty.faults.counts(), []);
      client.close();
    },
  );

  void it('holds a call up until the rules change', costly(), async () => {
    await using directory = await temporaryDirectory();
    await using faulty = await startWithFaults(join(directory.path, 'data'), unjournaled);
    const client = faulty.server.client();
    faulty.faults.set({ ...onData, action: { kind: 'delay', ms: 600_000 } });
    const created = createTable(client, 'late');
    await faulty.faults.hit();
    faulty.faults.clear();
    assert.equal(await created, 201);
    client.close();
  });

  void it(
    'ends the process at a call, and tells calls of other processes apart',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const location = join(directory.path, 'data');
      for (const when of ['before', 'after', 'halfway'] as const) {
        await using faulty = await startWithFaults(location, unjournaled);
        const client = faulty.server.client();
        const action: FaultAction = { kind: 'end', when };
        faulty.faults.set({ ...onData, action, pid: 1 });
        assert.equal(await createTable(client, `kept${when}`), 201);
        faulty.faults.set({ ...onData, action, pid: faulty.server.pid, after: 1 });
        await assert.rejects(createTable(client, `unknown${when}`), /closed without/);
        assert.deepEqual((await faulty.server.end('SIGKILL')).signal, 'SIGKILL');
      }
      const server = await ServerProcess.start(location);
      const client = server.client();
      const kept = (await client.send({ path: '/Tables' })).items
        .map((item) => String(item['TableName']))
        .filter((name) => name.startsWith('kept'));
      client.close();
      await server.end('SIGKILL');
      assert.deepEqual(kept, ['keptafter', 'keptbefore', 'kepthalfway']);
    },
  );
});
