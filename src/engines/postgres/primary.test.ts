import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { after, before, describe } from 'node:test';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { welcome } from '../../../test/support/scripted-postgres.js';
import { manualClock, systemClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { invariant } from '../../base/invariant.js';
import { systemRandomness } from '../../base/randomness.js';
import { StoreClosedError } from '../../kv/errors.js';
import { Acknowledgements } from './acknowledgements.js';
import type { ConnectionSource } from './connection-source.js';
import { Primary } from './primary.js';
import { Replicas } from './replicas.js';
import { statementsFor } from './statements.js';
import { WatchedPrimary } from './watched-primary.js';

const limitMs = 20_000;

describe('a close while a connection is being opened', () => {
  let server: Server;
  let address = '';
  before(async () => {
    server = createServer((socket) => socket.on('error', () => undefined));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const own = server.address();
    invariant(typeof own === 'object' && own !== null, 'a server that listens has a port');
    address = `postgres://user:password@127.0.0.1:${own.port}/name`;
  });
  after(() => server.close());

  function sourceOf(kind: 'primary' | 'standbys') {
    const timers = manualTimers();
    const clock = manualClock();
    const troubles: unknown[] = [];
    const own = { addresses: [address, address], prepares: true, timers };
    if (kind === 'standbys') {
      const replicas = new Replicas({ ...own, randomness: systemRandomness });
      return { source: replicas, close: () => replicas.close(), troubles };
    }
    const primary = new Primary({
      ...own,
      isRelaxed: false,
      idleInTransactionMs: undefined,
      clock,
      randomness: systemRandomness,
      onTrouble: (trouble) => troubles.push(trouble),
    });
    const acknowledgements = new Acknowledgements({
      statements: statementsFor('tabularium'),
      clock: systemClock,
      accepts: false,
      onLoss: () => assert.fail('nothing is lost'),
    });
    const source = new WatchedPrimary(primary, acknowledgements);
    return { source, close: () => primary.close(), troubles };
  }

  /**
   * Closes when the server has got something behind what it says. The timers of the package must
   * stand still, so that its own limit ends nothing.
   */
  async function closesWhile(
    { source, close }: { readonly source: ConnectionSource; readonly close: () => void },
    says: Buffer,
  ): Promise<void> {
    const opening = assert.rejects(source.connect(limitMs), StoreClosedError);
    const socket = await nextOf(server);
    await once(socket, 'data');
    if (says.length > 0) {
      const more = once(socket, 'data');
      socket.write(says);
      await more;
    }
    close();
    await opening;
    await ended(socket);
  }

  for (const kind of ['primary', 'standbys'] as const) {
    it(`of the ${kind} ends it where a server accepts and says nothing`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const parts = sourceOf(kind);
      await closesWhile(parts, Buffer.alloc(0));
      assert.deepEqual(parts.troubles, []);
    });

    it(`of the ${kind} ends it where a server lets in and answers nothing`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const parts = sourceOf(kind);
      await closesWhile(parts, welcome);
      assert.deepEqual(parts.troubles, []);
    });
  }

  it('ends the pause between two attempts, and no server is asked any more', async (t) => {
    // The limit of the package stands still: where the machine stalls for as long, both connections
    // come in one turn, and the second is missed.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { source, close, troubles } = sourceOf('primary');
    const opening = assert.rejects(source.connect(limitMs), StoreClosedError);
    for (const _ of [1, 2]) (await nextOf(server)).destroy();
    while (troubles.length === 0) await new Promise((resolve) => setImmediate(resolve));
    let isAsked = false;
    server.once('connection', () => {
      isAsked = true;
    });
    close();
    await opening;
    await assert.rejects(source.connect(limitMs), StoreClosedError);
    assert.equal(isAsked, false);
  });
});

/** The next connection to a server. */
async function nextOf(server: Server): Promise<Socket> {
  return new Promise((resolve) => server.once('connection', resolve));
}

async function ended(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}
