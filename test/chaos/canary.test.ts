import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startProxy, type Interceptor } from '../support/forwarding-proxy.js';
import { sampled, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { killed } from '../crash/unanswered.js';
import { assertEndedClearly, assertStopped } from './endings.js';
import { eventually, Finding, within } from './finding.js';
import { untroubled, World } from './world.js';

// Servers that misbehave on purpose: the suite must detect each.

const linux = process.platform === 'linux' ? false : 'processes are found in /proc';

/** Three proxies that intercept the requests of the clients of a world. */
async function between(world: World, intercept: Interceptor): Promise<AsyncDisposable> {
  const { port, queuePort, blobPort } = world.server;
  const [table, queue, blob] = await Promise.all(
    [port, queuePort, blobPort].map((each) => startProxy(`http://127.0.0.1:${each}`, intercept)),
  );
  assert.ok(table && queue && blob);
  world.through = {
    table: Number(new URL(table.origin).port),
    queue: Number(new URL(queue.origin).port),
    blob: Number(new URL(blob.origin).port),
  };
  return {
    async [Symbol.asyncDispose]() {
      world.through = undefined;
      await table[Symbol.asyncDispose]();
      await queue[Symbol.asyncDispose]();
      await blob[Symbol.asyncDispose]();
    },
  };
}

const isLoss = (error: unknown) => error instanceof Finding && !error.message.startsWith('hangs');

/**
 * How many writes a proxy must have dropped before the load ends, however slow the machine is. A
 * client ends when an answer contradicts what it was told, so that there may not be many more.
 */
const droppedMin = 3;

/**
 * Runs a load whose matching writes are answered every third time, or every so many times, as if
 * they had been done, without being done. Then it settles the world.
 */
async function dropAndSettle(
  world: World,
  matches: (method: string, url: string, headers: IncomingHttpHeaders) => boolean,
  { status = 204, every = 3, least = droppedMin } = {},
): Promise<void> {
  let seen = 0;
  let dropped = 0;
  const drop: Interceptor = (request, response) => {
    const { method = '', url = '', headers } = request;
    if (!matches(method, url, headers) || ++seen % every !== 0) return 'pass';
    request.resume();
    const stamp = encodeURIComponent(new Date(Date.now() + 5000).toISOString());
    response.writeHead(status, { ETag: `W/"datetime'${stamp}'"` });
    response.end();
    dropped++;
    return 'done';
  };
  await loadAndSettle(world, drop, () => dropped >= least);
}

async function loadAndSettle(
  world: World,
  intercept: Interceptor,
  isEnough: () => boolean,
): Promise<void> {
  {
    await using _ = await between(world, intercept);
    const load = world.beginLoad(untroubled);
    await pause(800);
    await eventually('the load does what is waited for', isEnough);
    await load.end();
  }
  await world.settle();
}

void describe('the chaos suite', () => {
  /** What a server loses. The short form of the tests has one of them. */
  const losses: Readonly<Record<string, () => Promise<void>>> = {
    'finds an acknowledged write of a table that was dropped': async () => {
      await using world = await World.make(new SimRandom(1));
      const isWrite = (method: string, url: string) => method !== 'GET' && url.includes('RowKey');
      await assert.rejects(dropAndSettle(world, isWrite), isLoss);
    },
    'finds an acknowledged deletion of a message that was dropped': async () => {
      await using world = await World.make(new SimRandom(2));
      const isDelete = (method: string, url: string) =>
        method === 'DELETE' && url.includes('/messages/');
      await assert.rejects(dropAndSettle(world, isDelete), isLoss);
    },
  };
  for (const [name, run] of sampled(Object.entries(losses), 1)) void it(name, costly(), run);

  void it('finds an acknowledged upload of a blob that was dropped', costly(), async () => {
    await using world = await World.make(new SimRandom(7));
    const isUpload = (method: string, _: string, headers: IncomingHttpHeaders) =>
      method === 'PUT' && headers['x-ms-blob-type'] !== undefined;
    await assert.rejects(
      dropAndSettle(world, isUpload, { status: 201, every: 1, least: 1 }),
      isLoss,
    );
  });

  /**
   * What a server does wrong in the sight of its clients. The short form of the tests has one of
   * them.
   */
  const faults: Readonly<Record<string, () => Promise<void>>> = {
    'finds a server that does not answer': async () => {
      await using world = await World.make(new SimRandom(3));
      const taken: Socket[] = [];
      const silent = createServer((socket) => taken.push(socket)).listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      world.through = { table: port, queue: port };
      const client = world.tableClient();
      const asked = client.send({});
      await assert.rejects(within('an answer', asked, 200), /hangs: an answer within 200 ms/);
      for (const socket of taken) socket.destroy();
      silent.close();
      await assert.rejects(asked);
    },
    'finds a server that does not end': async () => {
      await using world = await World.make(new SimRandom(4));
      process.kill(world.server.pid, 'SIGSTOP');
      await assert.rejects(world.stop(300), /hangs: the server ends within 300 ms/);
    },
    'finds connections that break, failures, and an end by itself': async () => {
      await using world = await World.make(new SimRandom(5));
      const load = world.beginLoad(untroubled);
      await pause(100);
      world.server.signal('SIGSEGV');
      const exit = await world.server.exit;
      await assert.rejects(load.end(), /closed without a whole answer/);
      assert.throws(() => assertStopped(exit), /ended with SIGSEGV/);
      assert.throws(() => assertEndedClearly(exit), /without a clear message, with SIGSEGV/);
      await world.start();
      let failed = 0;
      await assert.rejects(
        loadAndSettle(
          world,
          (request, response) => {
            request.resume();
            response.writeHead(500).end();
            failed++;
            return 'done';
          },
          () => failed > 0,
        ),
        Finding,
      );
    },
  };
  for (const [name, run] of sampled(Object.entries(faults), 1)) void it(name, costly(linux), run);

  void it('finds an end that says nothing, and one with the stack of an exception', () => {
    const ends = (output: string, code = 1) => ({ code, signal: null, output });
    const clear = 'error: The data directory is in use. Stop the other server.';
    assert.doesNotThrow(() => assertEndedClearly(ends(`${clear}\n`)));
    assert.throws(() => assertEndedClearly(ends('')), Finding);
    assert.throws(() => assertEndedClearly(ends(clear, 7)), Finding);
    const stack = new Error('x').stack ?? '';
    assert.throws(() => assertEndedClearly(ends(`${clear}\n${stack}`)), /with a stack/);
  });

  void it('finds a process that is left', costly(linux), async () => {
    await using world = await World.make(new SimRandom(6), { workers: 2 });
    const [worker = 0] = await world.workerPids();
    process.kill(worker, 'SIGSTOP');
    const load = world.beginLoad({ ...killed, failures: 'unanswered' });
    world.server.signal('SIGKILL');
    await assert.rejects(world.assertNobodyLeft(500), /all processes of the server end/);
    await load.end().catch(() => undefined);
  });
});
