import assert from 'node:assert/strict';
import { Server } from 'node:http';
import { describe, it } from 'node:test';
import type { ControlTarget } from './routes.js';
import { ControlServer } from './server.js';

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
});
