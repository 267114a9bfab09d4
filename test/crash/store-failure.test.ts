import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import {
  connectionStringOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import type { CliProcess } from '../support/cli-process.js';
import { syncCalls, writeCalls } from '../support/faults/faults.js';
import { withoutFaults } from '../support/faults/shim.js';
import { startCliWithFaults } from '../support/faults/start-with-faults.js';
import { sampled, costly } from '../support/run-length.js';

function tableOf(server: CliProcess): TableClient {
  return TableClient.fromConnectionString(connectionStringOf(server), 'rows', {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
}

const rowsMax = 200;

/** Writes until the store has failed; returns the keys of the acknowledged rows. */
async function writeUntil(table: TableClient, hasFailed: () => boolean): Promise<string[]> {
  const kept: string[] = [];
  for (let at = 0; at < rowsMax && !hasFailed(); at += 1) {
    const row = { partitionKey: 'p', rowKey: `r${at}` };
    await table.upsertEntity(row).then(
      () => kept.push(row.rowKey),
      () => undefined,
    );
  }
  assert.ok(hasFailed());
  return kept;
}

const diskFails = {
  path: 'data.mdb',
  calls: ['pwrite'],
  action: { kind: 'fail', error: 'EIO' },
  after: 1,
  times: 1,
} as const;
const failed = 'the store has failed';

/** What makes the store of one process fail, by how it is started. */
const failures = {
  'with a journal': {
    flags: [],
    // A frame, and the zeros that should annul it.
    rule: { ...diskFails, path: '/journal/', calls: writeCalls, times: 2 },
  },
  'without one': { flags: ['--journal', 'off'], rule: diskFails },
};

void describe('a storage engine that cannot go on', { skip: withoutFaults }, () => {
  for (const [how, { flags, rule }] of sampled(Object.entries(failures), 1)) {
    void it(
      `ends a server ${how} by a code of its own, and nothing acknowledged is lost`,
      costly(),
      async () => {
        await using directory = await temporaryDirectory();
        const location = join(directory.path, 'data');
        await using faulty = await startCliWithFaults(['--location', location, ...flags]);
        const { server, faults } = faulty;
        const table = tableOf(server);
        await table.createTable();
        faults.set(rule);
        const kept = await writeUntil(table, () => server.stderr.includes(failed));
        const { code, signal } = await server.result;
        assert.ok(code === 74 || signal === 'SIGKILL', `${code} ${signal}`);
        const next = await startCli(['--location', location, ...flags]);
        for (const rowKey of kept) await tableOf(next).getEntity('p', rowKey);
        assert.equal(await stopCli(next), 0);
      },
    );
  }

  void it(
    'ends a worker, which is replaced, and keeps no other from writing',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const location = join(directory.path, 'data');
      await using faulty = await startCliWithFaults(['--location', location, '--workers', '2']);
      const { server, faults } = faulty;
      await server.printed('a worker listens', 2);
      const table = tableOf(server);
      await table.createTable();
      faults.set(diskFails);
      const kept = await writeUntil(table, () => server.stderr.includes(failed));
      await server.printed('a worker listens', 3);
      for (const rowKey of kept) await table.getEntity('p', rowKey);
      await table.upsertEntity({ partitionKey: 'p', rowKey: 'again' });
      assert.equal(await stopCli(server), 0);
    },
  );
});

void describe('a disk that fails while a server stops', { skip: withoutFaults }, () => {
  for (const flags of sampled([[], ['--workers', '2'], ['--durability', 'relaxed']], 1))
    void it(
      `loses nothing, and is told of in the log: start ${flags.join(' ')}`,
      costly(),
      async () => {
        await using directory = await temporaryDirectory();
        const args = ['--location', join(directory.path, 'data'), ...flags];
        await using faulty = await startCliWithFaults(args);
        const { server, faults } = faulty;
        const table = tableOf(server);
        await table.createTable();
        await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
        const action = { kind: 'fail', error: 'EIO' } as const;
        faults.set({ path: 'data.mdb', calls: [...writeCalls, ...syncCalls], action });
        assert.equal(await stopCli(server), 0, server.stderr);
        assert.match(server.stderr, /"level":40,.*"the data directory is left as after a crash/);
        assert.doesNotMatch(server.stderr, /^error:/m);
        const next = await startCli(args);
        await tableOf(next).getEntity('p', 'r');
        assert.equal(await stopCli(next), 0);
      },
    );
});
