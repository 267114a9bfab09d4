import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { manualTimers, until } from '../../test/support/manual-timers.js';
import { welcome } from '../../test/support/scripted-postgres.js';
import { it } from '../base/conformance/limited-test.js';
import { invariant } from '../base/invariant.js';
import { systemRandomness } from '../base/randomness.js';
import { openSecondary } from './secondary.js';

it('a start does not wait for a standby that lets in and answers nothing', async (t) => {
  // The limit of the package for a new connection stands still.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked = new AbortController();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.once('data', () => asked.abort());
      socket.write(welcome);
    });
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = server.address();
  invariant(typeof own === 'object' && own !== null, 'a server that listens has a port');
  const url = `postgres://user:password@127.0.0.1:${own.port}/name`;
  const timers = manualTimers();
  const opening = openSecondary({
    storage: {
      kind: 'postgres',
      url,
      schema: 'tabularium',
      onLostCommits: 'refuse',
      commitForm: undefined,
      replicas: url,
      directory: '',
    },
    timers,
    randomness: systemRandomness,
  });
  const state = { isOpen: false };
  const opened = opening.then((store) => {
    state.isOpen = true;
    return store;
  });
  await until(() => asked.signal.aborted);
  // A deadline is counted in four steps. One of an answer, which is longer, is not over then.
  for (let step = 0; step < 4; step += 1) timers.fire(5_000 / 4);
  await until(() => state.isOpen);
  const store = await opened;
  assert.ok(store !== undefined);
  await store.close();
  await until(() => timers.waiting === 0);
});
