import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { ControlTarget } from './routes.js';
import { ControlServer } from './server.js';

// A connection that waits for an answer never ends.
const hangs = { timeout: 60_000 };

/** No request of these tests reaches it. */
const target = {} as ControlTarget;

describe('the server of the control API', () => {
  it('goes on when a connection cannot be accepted, and logs it', async (t) => {
    const listening: Server[] = [];
    const original = Reflect.get(Server.prototype, 'listen') as (...given: unknown[]) => Server;
    t.mock.method(Server.prototype, 'listen', function (this: Server, ...given: unknown[]) {
      listening.push(this);
      return original.apply(this, given);
    });
    const logged: unknown[] = [];
    const server = new ControlServer({
      target,
      logger: {
        info: () => undefined,
        warn: () => undefined,
        error: (message, fields) => logged.push([message, fields]),
      },
      failureOf: () => undefined,
    });
    t.after(() => server.close());
    const port = await server.listen(0);
    const error = new Error('accept ENFILE');
    listening[0]?.emit('error', error);
    assert.deepEqual(logged, [['the listening socket of the control API failed', { error }]]);
    const { status } = await fetch(`http://127.0.0.1:${port}/nothing`);
    assert.equal(status, 404);
  });

  it('logs what changes something, and no plans that commands ask for again and again', async (t) => {
    const plans: ControlTarget['partitions'] = Object.assign(Object.create(null), {
      balance: () => Promise.resolve({ operations: [] }),
    });
    const logged: unknown[] = [];
    const info = (message: string, fields?: unknown) => void logged.push([message, fields]);
    const server = new ControlServer({
      target: { ...target, partitions: plans },
      logger: { info, warn: () => undefined, error: () => undefined },
      failureOf: () => undefined,
    });
    t.after(() => server.close());
    const url = `http://127.0.0.1:${await server.listen(0)}/partition-balance`;
    for (const dryRun of [true, true, false]) {
      const { status } = await fetch(url, { method: 'POST', body: JSON.stringify({ dryRun }) });
      assert.equal(status, 200);
    }
    const fields = { method: 'POST', url: '/partition-balance' };
    assert.deepEqual(logged, [['the server was controlled', fields]]);
  });

  it('closes connections beyond its bound unanswered, logs it, and goes on', hangs, async (t) => {
    const warned: unknown[] = [];
    const told = (message: string, fields?: unknown) => void warned.push([message, fields]);
    const logger = { info: () => undefined, warn: told, error: () => undefined };
    const server = new ControlServer({ target, logger, failureOf: () => undefined });
    t.after(() => server.close());
    const port = await server.listen(0);
    const held: Socket[] = [];
    t.after(() => {
      for (const socket of held) socket.destroy();
    });
    for (let count = 0; count < 100; count += 1) {
      const socket = connect(port, '127.0.0.1');
      held.push(socket);
      await once(socket, 'connect');
    }
    assert.deepEqual(warned, []);
    const ask = () => fetch(`http://127.0.0.1:${port}/nothing`);
    await assert.rejects(ask);
    const message = 'a connection of the control API was closed: there are too many';
    assert.deepEqual(warned, [[message, { connectionsMax: 100, count: 1 }]]);
    held.pop()?.destroy();
    // The server notices the end of a connection a moment later.
    for (;;) {
      const answer = await ask().catch(() => undefined);
      if (t.signal.aborted) return;
      if (answer === undefined) continue;
      assert.equal(answer.status, 404);
      break;
    }
  });
});
