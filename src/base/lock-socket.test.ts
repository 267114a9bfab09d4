import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { deferred } from './async/deferred.js';
import { connectTo, isListening, listenOn } from './lock-socket.js';

/** The server that has accepted a connection: what listens does not show it. */
function serverOf(connection: Socket): Server {
  assert.ok('server' in connection && connection.server instanceof Server);
  return connection.server;
}

void it('a socket goes on to show a living process when it fails to accept a connection', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-lock-socket-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const accepted = deferred<Socket>();
  const socket = await listenOn(directory, 'abcdefgh-token', accepted.resolve);
  t.after(() => socket.close());
  const client = await connectTo(directory, socket.name);
  t.after(() => client.destroy());
  const server = serverOf(await accepted.promise);
  // Node emits the same when the system refuses a file descriptor.
  server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
  assert.equal(await isListening(directory, socket.name), true);
});
