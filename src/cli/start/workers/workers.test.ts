import assert from 'node:assert/strict';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient, type QueueClient } from '@azure/storage-queue';
import { runCli, type CliProcess } from '../../../../test/support/cli-process.js';
import {
  connectionStringOf,
  endpointOf,
  freePorts,
  heldRequest,
  releasedAnswer,
  startCli,
  temporaryDirectory,
} from '../../../../test/support/cli-server.js';
import { usageErrorOf } from '../../../../test/support/start-settings.js';
import { costly } from '../../../../test/support/run-length.js';
import { isRunning, untilEnded, workerPids } from '../../../../test/support/process-states.js';
import { codeOf } from '../../../base/thrown.js';
import { createServer as createTabularium } from '../../../app/index.js';

const listens = '"msg":"a worker listens"';
const twoWorkers = ['--workers', '2'];

/** A server of two workers, when both have logged that they listen. */
async function startWorkers(location: string, ...args: readonly string[]): Promise<CliProcess> {
  const server = await startCli([...twoWorkers, '--location', location, ...args]);
  await server.printed(listens, 2);
  return server;
}

function clients(server: CliProcess): { readonly table: TableClient; readonly queue: QueueClient } {
  const connection = connectionStringOf(server);
  const insecure = { allowInsecureConnection: true };
  return {
    table: TableClient.fromConnectionString(connection, 'shared', insecure),
    queue: QueueServiceClient.fromConnectionString(connection).getQueueClient('shared'),
  };
}

/** Gets and deletes all messages; returns their texts. */
async function drained(queue: QueueClient): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    if (receivedMessageItems.length === 0) return texts;
    for (const { messageId, popReceipt, messageText } of receivedMessageItems) {
      await queue.deleteMessage(messageId, popReceipt);
      texts.push(messageText);
    }
  }
}

async function health(server: CliProcess): Promise<number[]> {
  const urls = (['Tables', 'Queues'] as const).map(
    (label) => `${endpointOf(server, label).origin}/healthz`,
  );
  const answers = await Promise.all(
    urls.map((url) => fetch(url, { headers: { Connection: 'close' } })),
  );
  return answers.map(({ status }) => status);
}

/** The code of the error that the connection attempt failed with, or `connect`. */
function connected(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('error', (error) => resolve(codeOf(error)));
    socket.once('connect', () => {
      socket.destroy();
      resolve('connect');
    });
  });
}

/** Checks that no lock files are left, as after an orderly end. */
async function assertReleased(location: string): Promise<void> {
  const files = await readdir(location);
  assert.deepEqual(files.toSorted(), ['content', 'data.mdb', 'data.mdb-lock', 'format']);
}

/** Checks that a server can start on the data directory. */
async function assertFree(location: string): Promise<void> {
  await using server = await createTabularium({ location });
  assert.deepEqual(server.accounts, ['devstoreaccount1']);
}

const skip = process.platform === 'linux' ? false : 'needs /proc';

// Each test finds the server as the one before it has left it: two workers listen.
void describe('tabularium start --workers', () => {
  const option = '--max-semi-space-size=64';
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: CliProcess;

  before(async () => {
    directory = await temporaryDirectory();
    const args = [...twoWorkers, '--location', directory.path, '--log-level', 'debug'];
    server = await startCli(args, { nodeArgs: [option] });
    await server.printed(listens, 2);
  });
  after(async () => {
    server.child.kill('SIGKILL');
    await untilEnded(workerPids(server));
    await directory[Symbol.asyncDispose]();
  });

  /** The process ids of the two workers that listen. */
  const runningPids = (): number[] => workerPids(server).filter(isRunning);
  /** Kills workers; resolves when as many others listen. */
  const replace = (pids: readonly number[]): Promise<void> => {
    const listening = workerPids(server).length;
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    return server.printed(listens, listening + pids.length);
  };
  const endings = (): number => server.stderr.split('"msg":"a worker ended').length - 1;

  void it('serves one data directory on the same ports from every worker', costly(), async () => {
    assert.equal(server.stdout.split('Tabularium\n').length, 2, 'one banner');
    assert.match(server.stdout, /Workers +2\n/);
    assert.deepEqual(await health(server), [200, 200]);
    const { table, queue } = clients(server);
    await table.createTable();
    await queue.create();
    const names = Array.from({ length: 40 }, (_, at) => `n${at}`);
    await Promise.all(
      names.flatMap((name) => [
        table.createEntity({ partitionKey: 'p', rowKey: name }),
        queue.sendMessage(name),
      ]),
    );
    for (const name of names) {
      assert.equal((await table.getEntity('p', name)).rowKey, name);
    }
    assert.deepEqual((await drained(queue)).toSorted(), names.toSorted());
    for (const worker of [1, 2]) {
      for (const operation of ['InsertEntity', 'PutMessage']) {
        const line = new RegExp(`"worker":${worker},.*"operation":"${operation}"`);
        assert.match(server.stderr, line);
      }
    }
  });

  void it('gives its workers the options of node', { skip }, async () => {
    for (const pid of runningPids()) {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
      assert.ok(command.split('\0').includes(option), command);
    }
  });

  void it(
    'replaces a killed worker and loses nothing that was acknowledged',
    costly(),
    async () => {
      const { table, queue } = clients(server);
      const acknowledged: string[] = [];
      const stopping = new AbortController();
      const write = async (client: number): Promise<void> => {
        for (let at = 0; !stopping.signal.aborted; at++) {
          const name = `c${client}-${at}`;
          try {
            await table.upsertEntity({ partitionKey: 'p', rowKey: name });
            await queue.sendMessage(name);
            acknowledged.push(name);
          } catch {
            // The worker was killed during the request, so nothing was acknowledged.
          }
          // All acknowledged rows are read back at the end.
          await pause(5);
        }
      };
      const writers = Array.from({ length: 6 }, (_, client) => write(client));
      for (let kill = 1; kill <= 2; kill++) {
        await pause(200);
        await replace(workerPids(server).slice(-1));
      }
      await pause(200);
      stopping.abort();
      await Promise.all(writers);
      assert.ok(acknowledged.length > 0);
      assert.deepEqual(await health(server), [200, 200]);
      const rows = new Set<string | undefined>();
      for await (const { rowKey } of table.listEntities()) rows.add(rowKey);
      const messages = new Set(await drained(queue));
      assert.deepEqual(
        acknowledged.filter((name) => !rows.has(name) || !messages.has(name)),
        [],
      );
      assert.match(server.stderr, /"exit":"SIGKILL","next":"restart","msg":"a worker ended/);
    },
  );

  void it('comes back on the same ports when all workers were killed', costly(), async () => {
    const ended = endings();
    await replace(runningPids());
    assert.equal(endings() - ended, 2, 'none failed to start');
    assert.deepEqual(await health(server), [200, 200]);
  });

  void it(
    'keeps no client waiting for a worker that died before it took the connection',
    costly(),
    async () => {
      const pids = runningPids();
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      const url = `${endpointOf(server).origin}/healthz`;
      // The signal only turns endless waiting into a failure.
      const options = { headers: { Connection: 'close' }, signal: AbortSignal.timeout(60_000) };
      const asked = Promise.allSettled(Array.from({ length: 6 }, () => fetch(url, options)));
      // Gives the primary time to pass the connections on; a client cannot observe that.
      await pause(300);
      await replace(pids);
      for (const answer of await asked) {
        const waited = answer.status === 'rejected' && String(answer.reason).includes('Timeout');
        assert.ok(!waited);
      }
      assert.deepEqual(await health(server), [200, 200]);
    },
  );

  void it('ends with every process and leaves the data directory to others', async () => {
    const pids = runningPids();
    assert.equal(pids.length, 2);
    assert.ok(pids.every(isRunning));
    const held = await Promise.all([heldRequest(server), heldRequest(server)]);
    server.child.kill('SIGTERM');
    // Terminals and service managers signal every process of the group.
    for (const pid of pids) process.kill(pid, 'SIGTERM');
    await server.printed('stopping');
    const answers = await Promise.all(held.map(releasedAnswer));
    assert.deepEqual(answers.map((answer) => answer.slice(9, 12)).toSorted(), ['201', '409']);
    assert.equal((await server.result).code, 0);
    assert.ok(!pids.some(isRunning));
    await assertReleased(directory.path);
  });
});

void describe('the workers of a start', () => {
  /** Each starts three processes and more. */
  const endings: Readonly<Record<string, () => Promise<void>>> = {
    'takes no connection from the first moment of a stop, whatever its workers do': async () => {
      await using directory = await temporaryDirectory();
      const server = await startWorkers(directory.path);
      const [halted = 0] = workerPids(server);
      const held = await Promise.all([heldRequest(server), heldRequest(server)]);
      // A stopped worker closes nothing: connections passed to it would wait.
      process.kill(halted, 'SIGSTOP');
      server.child.kill('SIGTERM');
      await server.printed('stopping');
      for (const label of ['Tables', 'Queues'] as const) {
        const { hostname, port } = endpointOf(server, label);
        while ((await connected(Number(port), hostname)) !== 'ECONNREFUSED') {
          assert.ok(isRunning(halted), 'the port is closed while its workers still run');
          await pause(20);
        }
      }
      assert.ok(isRunning(halted));
      process.kill(halted, 'SIGCONT');
      const answers = await Promise.all(held.map(releasedAnswer));
      assert.deepEqual(answers.map((answer) => answer.slice(9, 12)).toSorted(), ['201', '409']);
      assert.equal((await server.result).code, 0);
      await assertReleased(directory.path);
    },
    'gives up when a worker cannot be replaced': async () => {
      await using directory = await temporaryDirectory();
      const server = await startWorkers(directory.path);
      const pids = workerPids(server);
      await rm(join(directory.path, 'format'));
      process.kill(pids[0] ?? 0, 'SIGKILL');
      const { code, stderr } = await server.result;
      assert.equal(code, 1);
      assert.match(stderr, /error: Worker \d ends again and again.*There is no data directory/);
      assert.ok(!pids.some(isRunning));
    },
    'has no worker without its primary': async () => {
      await using directory = await temporaryDirectory();
      const server = await startWorkers(directory.path);
      server.child.kill('SIGKILL');
      await untilEnded(workerPids(server));
      await assertFree(directory.path);
    },
    'says once what keeps its workers from listening, and leaves nothing behind': async () => {
      await using directory = await temporaryDirectory();
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const port = String((other.address() as AddressInfo).port);
      const args = ['start', ...freePorts, '--queue-port', port, '--location', directory.path];
      const result = await runCli([...args, ...twoWorkers]);
      other.close();
      assert.equal(result.code, 1);
      assert.equal(result.stdout, '');
      assert.match(result.stderr, new RegExp(`error: Port ${port} .*in use.*--queue-port`));
      assert.equal(result.stderr.split('in use').length, 2);
      await assertReleased(directory.path);
    },
  };
  for (const [name, run] of Object.entries(endings)) void it(name, costly(), run);

  void it('refuses to share what is in memory', async () => {
    const said = await usageErrorOf('--in-memory', ...twoWorkers);
    assert.match(said, /--workers 2 needs a data directory/);
  });
});
