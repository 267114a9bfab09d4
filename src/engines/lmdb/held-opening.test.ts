import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { spawnLmdbStore, temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { connectTo, listenOn } from '../../base/lock-socket.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { livingOwner } from './check/directory-check.js';
import { lockFile } from './directory/file-kinds.js';
import { openLmdbStore } from './store.js';
import { holdReply, holdRequest } from './hold-protocol.js';
import { OpeningHolds } from './opening-holds.js';
import { costly } from '../../../test/support/run-length.js';

const key = partitionPrefix('tables', 'account', 1, 'partition');
const batch = { checks: [], puts: [{ key, value: Buffer.from('value') }], deletes: [] };

async function owned(t: TestContext, timers: Timers = systemTimers) {
  const { directory, remove } = await temporaryLocation();
  const options = { directory, clock: manualClock(), durability: 'relaxed', timers } as const;
  const store = await openLmdbStore(options);
  t.after(async () => {
    await store.close();
    await remove();
  });
  const owner = (await livingOwner(directory)) ?? assert.fail('no owner');
  return { directory, store, connect: () => connectTo(directory, owner) };
}

/** Resolves when no process can commit until the connection ends. */
async function held(connection: Socket): Promise<void> {
  connection.write(holdRequest);
  const [answer] = await once(connection, 'data');
  assert.equal(String(answer), holdReply);
}

describe('while another process opens the data file', () => {
  it('commits wait, and go on when it has ended', async (t) => {
    const { store, connect } = await owned(t);
    const connection = await connect();
    await held(connection);
    let isCommitted = false;
    const commit = store.commit(batch).then(() => (isCommitted = true));
    await setTimeout(100);
    assert.equal(isCommitted, false);
    assert.equal(await store.get(key), undefined);
    connection.destroy();
    await commit;
    assert.notEqual(await store.get(key), undefined);
  });

  it('commits do not wait for one that neither opens it nor ends', async (t) => {
    let isLate = (): void => undefined;
    const timers: Timers = {
      start(delayMs, callback, argument) {
        if (delayMs === 5_000) isLate = () => callback(argument);
        return systemTimers.start(delayMs, callback, argument);
      },
    };
    const { store, connect } = await owned(t, timers);
    const connection = await connect();
    await held(connection);
    const commit = store.commit(batch);
    const closed = once(connection, 'close');
    isLate();
    await commit;
    await closed;
  });

  it('others open it one after the other, and what they ask besides is not answered', async (t) => {
    const { store, connect } = await owned(t);
    const [first, second, other] = [await connect(), await connect(), await connect()];
    const refused = once(other, 'close');
    other.write('nothing of it\n');
    await refused;
    await held(first);
    const next = held(second);
    first.destroy();
    await next;
    second.destroy();
    await store.commit(batch);
  });

  it('the owner outlives a hold whose thread cannot open it, and goes on when it can', async (t) => {
    const { directory, store, connect } = await owned(t);
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    t.after(() => process.off('unhandledRejection', note));
    const path = join(directory, lockFile);
    await rename(path, `${path}-away`);
    const refused = await connect();
    const closed = once(refused, 'close');
    refused.write(holdRequest);
    await closed;
    await rename(`${path}-away`, path);
    // The next hold begins when the one before is over.
    const connection = await connect();
    await held(connection);
    connection.destroy();
    await store.commit(batch);
    assert.deepEqual(unhandled, []);
  });

  it('the owner can close', costly(), async (t) => {
    const { store, connect } = await owned(t);
    const connection = await connect();
    await held(connection);
    const closed = once(connection, 'close');
    await store.close();
    await closed;
  });
});

it('a hold for which there is no thread ends the connection, and the owner can close', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-holds-'));
  t.after(() => rm(directory, { recursive: true }));
  const startThread = (): never => assert.fail('ERR_WORKER_INIT_FAILED');
  const holds = new OpeningHolds({ directory, sync: false, timers: systemTimers, startThread });
  const socket = await listenOn(directory, 'token', holds.serve);
  t.after(() => socket.close());
  const connection = await connectTo(directory, socket.name);
  const closed = once(connection, 'close');
  connection.write(holdRequest);
  await closed;
  await holds.close();
});

it('who joins an owner that lets nobody in is told what that owner may lack', async (t) => {
  const { directory, remove } = await temporaryLocation();
  t.after(remove);
  const store = await openLmdbStore({ directory, clock: manualClock(), durability: 'relaxed' });
  await store.close();
  // It closes each connection, as an owner does whose thread could not begin.
  const owner = await listenOn(directory, 'token');
  t.after(() => owner.close());
  const joining = openLmdbStore({ directory, clock: manualClock(), sharing: 'join' });
  await assert.rejects(joining, { reason: 'disk', message: /too few open files.*ulimit -n 1024/ });
});

it('who cannot reach the socket of an owner is told the error', async (t) => {
  const { directory, remove } = await temporaryLocation();
  t.after(remove);
  const store = await openLmdbStore({ directory, clock: manualClock(), durability: 'relaxed' });
  await store.close();
  // A link to itself is as good as a socket of another user, also for a test that runs as root.
  await symlink('owner-token.sock', join(directory, 'owner-token.sock'));
  const joining = openLmdbStore({ directory, clock: manualClock(), sharing: 'join' });
  await assert.rejects(joining, { reason: 'place', message: /ELOOP.*the user of that process/ });
});

it(
  'a start beside a living owner is refused before it opens the data file',
  costly(),
  async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const child = await spawnLmdbStore(directory, 'exclusive');
    t.after(() => child.kill());
    // An opening of the data file creates a missing lock file.
    await rename(join(directory, lockFile), join(directory, `${lockFile}-away`));
    const opening = openLmdbStore({ directory, clock: manualClock() });
    await assert.rejects(opening, { reason: 'in-use', message: /in use by process \d+ \(since / });
    const names = await readdir(directory);
    assert.equal(names.includes(lockFile), false, names.join());
  },
);
