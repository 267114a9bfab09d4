import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';
import {
  connectionStringOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../test/support/cli-server.js';
import { startCliWithFaults } from '../../../test/support/faults/start-with-faults.js';
import { syncCalls, writeCalls } from '../../../test/support/faults/faults.js';
import { withoutFaults } from '../../../test/support/faults/shim.js';
import { exitCodes } from './process-end.js';
import { signalExitCode } from './stop-signals.js';
import type { CliProcess } from '../../../test/support/cli-process.js';
import { byLength, costly, sampled } from '../../../test/support/run-length.js';
import { untilEnded, workerPids } from '../../../test/support/process-states.js';
import { stillRunning } from '../partition/waiting.js';

const child = fileURLToPath(new URL('../../../test/support/end-child.js', import.meta.url));
const rounds = byLength({ short: 1, long: 5 });
const stuckWrites = {
  path: 'data.mdb',
  calls: [...writeCalls, ...syncCalls],
  action: { kind: 'delay', ms: 600_000 },
} as const;

function tableOf(server: CliProcess): TableClient {
  return TableClient.fromConnectionString(connectionStringOf(server), 'held', {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
}

/** Checks that a server can start on the directory, write and stop. */
async function assertUsable(location: string): Promise<void> {
  const server = await startCli(['--location', location]);
  const table = tableOf(server);
  await table.createTable();
  await table.upsertEntity({ partitionKey: 'p', rowKey: 'r' });
  await table.deleteTable();
  assert.equal(await stopCli(server), 0);
}

/** Throws an uncaught error on SIGUSR2. */
const trap =
  'data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("nobody expected this")})';
const trapped = { nodeArgs: ['--import', trap] };
/** Is caught as by a disk that never answers, once a stop has begun. */
const trapOfStop =
  'data:text/javascript,process.once("SIGTERM",()=>setImmediate(()=>' +
  'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)))';
const caught = { nodeArgs: ['--import', trapOfStop] };
const unexpected = /"level":60,.*nobody expected this.*"msg":"unexpected error: the process ends"/;

/** The codes in the first column of the table under the heading. */
async function codesInTable(page: string): Promise<number[]> {
  const text = await readFile(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8');
  const [, table = ''] = /\| exit code \|.*\n\|[- |]+\n((?:\|.*\n)+)/.exec(text) ?? [];
  const cells = table.split('\n').map((row) => row.split('|')[1] ?? '');
  return cells.flatMap((cell) => cell.match(/\d+/g) ?? []).map(Number);
}

/** The exit code of wrong usage, as `report` returns it. */
const wrongUsage = 2;

void describe('exit codes', () => {
  const pages = [
    ['guides/operating.md', []],
    ['reference/command-line.md', [stillRunning]],
  ] as const;
  for (const [page, others] of pages) {
    void it(`are those of ${page}, all of them`, async () => {
      const bySignals = [
        signalExitCode('SIGINT'),
        signalExitCode('SIGTERM'),
        128 + constants.signals.SIGKILL,
      ];
      const codes = [...Object.values(exitCodes), wrongUsage, ...bySignals, ...others];
      assert.deepEqual(new Set(await codesInTable(page)), new Set(codes));
    });
  }
});

void describe('the end of a process', { skip: process.platform === 'win32' }, () => {
  void it(
    'is 70 after an error that nobody caught, which is logged with its stack',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const location = join(directory.path, 'data');
      for (const workers of sampled(['1', '2'], 1)) {
        const server = await startCli(['--location', location, '--workers', workers], trapped);
        server.child.kill('SIGUSR2');
        const { code, signal, stderr } = await server.result;
        assert.deepEqual([code, signal], [exitCodes.broken, null], stderr);
        assert.match(stderr, unexpected);
        await untilEnded(workerPids({ stderr }));
        await assertUsable(location);
      }
    },
  );

  void it('is 70 for a worker as well, which is replaced', costly(), async () => {
    await using directory = await temporaryDirectory();
    const location = join(directory.path, 'data');
    const server = await startCli(['--location', location, '--workers', '2'], trapped);
    process.kill(workerPids(server)[0] ?? 0, 'SIGUSR2');
    await server.printed('"msg":"a worker listens"', 3);
    assert.match(server.stderr, unexpected);
    assert.match(server.stderr, /"exit":"exit code 70","next":"restart"/);
    assert.equal(await stopCli(server), 0);
  });

  void it('waits for the write in which it was asked for, and has its code', costly(), async () => {
    await using directory = await temporaryDirectory();
    for (let round = 0; round < 2; round += 1) {
      // The second round shows that the first one has released the lock of the data file.
      const ended = once(spawn(process.execPath, [child, directory.path]), 'exit');
      assert.deepEqual(await ended, [7, null]);
    }
  });

  void it('comes in time, also when a stop has caught its main thread', costly(), async () => {
    await using directory = await temporaryDirectory();
    const location = join(directory.path, 'data');
    const config = join(directory.path, 'config.yaml');
    await writeFile(config, 'limits: { closeTimeoutMs: 1 }');
    const server = await startCli(['--location', location, '--config', config], caught);
    server.child.kill('SIGTERM');
    assert.equal((await server.result).signal, 'SIGKILL');
    await assertUsable(location);
  });

  void it(
    'comes at a second signal, also while the disk answers no write',
    costly(withoutFaults),
    async () => {
      await using directory = await temporaryDirectory();
      const location = join(directory.path, 'data');
      for (const workers of sampled(['1', '2'], 1)) {
        await using faulty = await startCliWithFaults([
          '--location',
          location,
          '--workers',
          workers,
        ]);
        const { server, faults } = faulty;
        faults.set(stuckWrites);
        const writing = tableOf(server)
          .createTable()
          .catch(() => undefined);
        await faults.hit();
        server.child.kill('SIGTERM');
        await server.printed('stopping');
        server.child.kill('SIGTERM');
        const { code, signal } = await server.result;
        // SIGKILL when the process waits for the write that does not end: it kills itself.
        assert.ok(code === 143 || signal === 'SIGKILL', `${code} ${signal}`);
        await untilEnded(workerPids(server));
        await writing;
        faults.clear();
        await assertUsable(location);
      }
    },
  );

  void it(
    'comes to workers whose primary was killed in the middle of their writes',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const location = join(directory.path, 'data');
      for (let round = 0; round < rounds; round += 1) {
        const server = await startCli(['--location', location, '--workers', '2']);
        await server.printed('a worker listens', 2);
        const table = tableOf(server);
        await table.createTable();
        const over = new AbortController();
        const write = async (client: number): Promise<void> => {
          for (let at = 0; !over.signal.aborted; at += 1)
            await table.upsertEntity({ partitionKey: `p${client}`, rowKey: `r${at}` });
        };
        const writers = Promise.allSettled(
          Array.from({ length: 12 }, (_, client) => write(client)),
        );
        await pause(100);
        server.child.kill('SIGKILL');
        await untilEnded(workerPids(server));
        over.abort();
        await writers;
        await assertUsable(location);
      }
    },
  );
});
