import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { Faults } from '../../test/support/faults/faults.js';
import { withoutFaults } from '../../test/support/faults/shim.js';
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

/** Closes a socket while its disk removes no file, and ends as soon as its event loop turns. */
const closingProgram = `
  import { listenOn } from '${new URL('lock-socket.js', import.meta.url).href}';
  const socket = await listenOn(process.argv[1], 'abcdefgh-token');
  void socket.close();
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50);
`;

void it(
  'a socket that closes blocks nothing while its disk removes no file',
  { skip: withoutFaults },
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-lock-socket-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    await using faults = await Faults.make();
    faults.set({ calls: ['unlink'], path: 'owner-', action: { kind: 'delay', ms: 600_000 } });
    const env = { ...process.env, ...faults.env };
    const args = ['--input-type=module', '-e', closingProgram, directory];
    const closing = promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
    await assert.rejects(closing, { signal: 'SIGKILL', killed: false });
    assert.equal(faults.counts()[0]?.hit, 1);
  },
);
