import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { CliProcess } from '../support/cli-process.js';
import {
  bannerEnd,
  connectionStringOf,
  freePorts,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import { syncCalls, writeCalls } from '../support/faults/faults.js';
import { withoutFaults } from '../support/faults/shim.js';
import { startCliWithFaults } from '../support/faults/start-with-faults.js';
import { untilEnded, workerPids } from '../support/process-states.js';
import { costly } from '../support/run-length.js';

/** Stops a worker in the middle of a commit, so that it keeps the lock, and kills its primary. */
async function leaveLocked(
  location: string,
): Promise<AsyncDisposable & { readonly pids: number[] }> {
  const faulty = await startCliWithFaults(['--location', location, '--workers', '2']);
  const { server, faults } = faulty;
  await server.printed('"msg":"a worker listens"', 2);
  const pids = workerPids(server);
  const action = { kind: 'delay', ms: 600_000 } as const;
  faults.set({ path: 'data.mdb', calls: [...writeCalls, ...syncCalls], action });
  const table = TableClient.fromConnectionString(connectionStringOf(server), 'held', {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
  const writing = table.createTable().catch(() => undefined);
  await faults.hit();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  server.child.kill('SIGKILL');
  return {
    pids,
    async [Symbol.asyncDispose]() {
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // The test has already ended it.
        }
      }
      await untilEnded(pids);
      await writing;
      await faulty[Symbol.asyncDispose]();
    },
  };
}

function start(location: string): CliProcess {
  return new CliProcess(['start', ...freePorts, '--location', location]);
}

const isLong = process.env['TABULARIUM_LOCK_WAIT'] === 'whole';

void describe('a start while a stopped process holds the lock', { skip: withoutFaults }, () => {
  void it('says for whom it waits, and goes on when that has ended', costly(), async () => {
    await using directory = await temporaryDirectory();
    const location = join(directory.path, 'data');
    await using locked = await leaveLocked(location);
    const server = start(location);
    const started = server.printed(bannerEnd).then(() => 'started' as const);
    assert.notEqual(await Promise.race([server.printed('held by process'), started]), 'started');
    const [, named = ''] = /held by process ([\d or]+)/.exec(server.stderr) ?? [];
    const holders = named.split(' or ').map(Number);
    assert.ok(holders.length > 0 && holders.every((pid) => locked.pids.includes(pid)), named);
    for (const pid of locked.pids) process.kill(pid, 'SIGKILL');
    await started;
    assert.equal(await stopCli(server), 0);
  });

  const skip = isLong ? false : 'takes half a minute: TABULARIUM_LOCK_WAIT=whole';
  void it('gives up as documented, with its name', { skip }, async () => {
    await using directory = await temporaryDirectory();
    const location = join(directory.path, 'data');
    await using locked = await leaveLocked(location);
    const { code, signal, stderr } = await start(location).result;
    assert.match(stderr, /error: .*its lock was not free for 30 s, held by process \d+/);
    // A thread of it that waits for the lock may prevent a normal exit.
    assert.ok(code === 1 || signal === 'SIGKILL', `${code} ${signal}`);
    assert.ok(locked.pids.some((pid) => stderr.includes(String(pid))));
  });
});
