import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { manualClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { ContentSessionLostError } from '../../content/errors.js';
import { contentDirectory } from '../../content/files/content-directory.js';
import { heldSessions, releaseHeld } from '../../content/files/sessions.js';
import { openMemoryStore, type MemoryStore } from '../../engines/memory/store.js';
import { silentLogger } from '../../http/exchange/logger.js';
import { GuardError, StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { SharedContent } from './shared-content.js';

const owner = partitionPrefix('blobs', 'account', 'container', '');
const naming = { checks: [], puts: [{ key: owner, value: Buffer.from('named') }], deletes: [] };
const unnamed = { isReferenced: () => Promise.resolve(new Set<string>()), extentsMax: 64 };

async function world(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-shared-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const store = await openMemoryStore({ clock: manualClock() });
  return { directory, store };
}

/** A server of a machine of its own, with its own clock. */
async function server(
  directory: string,
  store: MemoryStore,
  isCertain = () => true,
  refusesLoss = () => false,
) {
  const { files } = await contentDirectory(directory);
  const clock = manualClock();
  const timers = manualTimers();
  const content = await SharedContent.open({
    store,
    keySpace: store,
    isCertain,
    refusesLoss,
    files,
    shown: 'a server',
    clock,
    timers,
    randomness: systemRandomness,
    logger: silentLogger,
  });
  return {
    shared: content,
    put: () => content.content.put(once(Buffer.alloc(100_000, 7)), owner),
    /** Stores bytes that a commit names. */
    async putNamed() {
      const extent = await content.content.put(once(Buffer.alloc(100_000, 7)), owner);
      content.content.confirm([extent.id]);
      return extent;
    },
    /** Seconds pass in which it renews its session. */
    async live(seconds: number) {
      clock.advanceMicros(seconds * 1_000_000);
      timers.fire();
      await settled();
    },
    async sweepAfter(seconds: number) {
      clock.advanceMicros(seconds * 1_000_000);
      return (await content.content.sweepOrphans(unnamed)).deleted;
    },
  };
}

/** How often the content begins another session from now on, and when it first has. */
function renewalsOf(shared: SharedContent) {
  let count = 0;
  const first = new Promise<void>((resolve) => {
    shared.onRenewed(() => {
      count += 1;
      resolve();
    });
  });
  return { first, count: () => count };
}

/** A store whose database can be away for one server. */
function awayable(store: MemoryStore, away: { readonly is: boolean }): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (!away.is) return member.bind(target);
      return () => Promise.reject(new StoreUnavailableError('made by a test'));
    },
  });
}

/** A store that takes no commits for one server, because it has lost some. */
function refusing(store: MemoryStore, lost: { readonly is: boolean }): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (!lost.is || (name !== 'commit' && name !== 'fence')) return member.bind(target);
      return () => Promise.reject(new StoreWriteError('Commits are lost.'));
    },
  });
}

/** A store that does something before each fence. */
function withFencesAfter(store: MemoryStore, before: () => void): MemoryStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (name === 'fence') before();
      return member.bind(target);
    },
  });
}

async function keysOf(store: MemoryStore): Promise<readonly string[]> {
  const page = await store.range({ start: new Uint8Array() }, { limit: 9, bytesMax: 999 });
  return page.entries.map(({ key }) => Buffer.from(key).toString());
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  await nextTurn();
  yield bytes;
}

async function untilHeld(directory: string): Promise<void> {
  const { files } = await contentDirectory(directory);
  while ((await heldSessions(files)).length === 0) await nextTurn();
}

/** The number of extents that a server deletes in three quarters of a minute. */
async function sweptBy(living: Awaited<ReturnType<typeof server>>): Promise<number> {
  let deleted = 0;
  for (let look = 0; look < 9; look += 1) deleted += await living.sweepAfter(5);
  return deleted;
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await nextTurn();
}

void describe('content that servers of several machines share', () => {
  void it('is read by each of them, and not swept while its server lives', async (t) => {
    const { directory, store } = await world(t);
    const [first, second] = [await server(directory, store), await server(directory, store)];
    const { id, bytes } = await first.putNamed();
    const reader = await second.shared.content.read(id, 0, bytes);
    let read = 0;
    for await (const piece of reader.pieces) read += piece.length;
    reader.close();
    assert.equal(read, bytes);
    for (let look = 0; look < 20; look += 1) {
      await first.live(5);
      assert.equal(await second.sweepAfter(5), 0);
    }
    await first.shared.end('known');
    await second.shared.end('known');
    assert.deepEqual(await readdir(join(directory, 'content', 'sessions')), []);
    assert.deepEqual(await keysOf(store), []);
  });

  void it('loses what a dead server has left, once it was silent for half a minute', async (t) => {
    const { directory, store } = await world(t);
    const [dead, living] = [await server(directory, store), await server(directory, store)];
    await dead.put();
    const deleted: number[] = [];
    for (let look = 0; look < 9; look += 1) deleted.push(await living.sweepAfter(5));
    // The first look begins to measure.
    assert.deepEqual(deleted, [0, 0, 0, 0, 0, 0, 1, 0, 0]);
  });

  void it('does not count a silence in which nobody could renew', async (t) => {
    const { directory, store } = await world(t);
    const [first, second] = [await server(directory, store), await server(directory, store)];
    await first.putNamed();
    assert.equal(await second.sweepAfter(5), 0);
    assert.equal(await second.sweepAfter(3600), 0);
    await first.live(3600);
    assert.equal(await second.sweepAfter(25), 0);
    await first.shared.end('known');
    await second.shared.end('known');
  });

  void it('is swept when its server has ended, and not named by a commit that comes late', async (t) => {
    const { directory, store } = await world(t);
    const [ending, living] = [await server(directory, store), await server(directory, store)];
    await ending.putNamed();
    await ending.put();
    const former = ending.shared.store;
    await ending.shared.end('known');
    // The sweep only checks extents that waited for a commit.
    assert.equal(await sweptBy(living), 1);
    await assert.rejects(former.commit(naming), GuardError);
    assert.equal(await store.get(owner), undefined);
    await living.shared.end('known');
  });

  void it('is looked at, and no row stays, when its server ends without the store, which may lose commits', async (t) => {
    const { directory, store } = await world(t);
    const away = { is: false };
    const [ending, living] = [
      await server(directory, awayable(store, away)),
      await server(directory, store),
    ];
    await ending.putNamed();
    away.is = true;
    await ending.shared.end('known');
    const sessions = join(directory, 'content', 'sessions');
    assert.equal((await readdir(sessions)).length, 2);
    assert.equal(await sweptBy(living), 1);
    await living.shared.end('known');
    assert.deepEqual(await readdir(sessions), []);
    assert.deepEqual(await keysOf(store), []);
  });

  void it('is looked at when the end of its session finds that commits are lost', async (t) => {
    const { directory, store } = await world(t);
    let hasLost = false;
    const losing = withFencesAfter(store, () => (hasLost = true));
    const ending = await server(directory, losing, () => !hasLost);
    const living = await server(directory, store);
    await ending.putNamed();
    await ending.shared.end('known');
    assert.equal(hasLost, true);
    assert.equal(await sweptBy(living), 1);
    await living.shared.end('known');
    assert.deepEqual(await readdir(join(directory, 'content', 'sessions')), []);
    assert.deepEqual(await keysOf(store), []);
  });

  void it('is kept for a server that refuses commits because some are lost, until a person decides', async (t) => {
    const { directory, store } = await world(t);
    const lost = { is: false };
    const [refuses, living] = [
      await server(
        directory,
        refusing(store, lost),
        () => !lost.is,
        () => lost.is,
      ),
      await server(directory, store),
    ];
    await refuses.putNamed();
    const sweep = () => sweptBy(living);
    lost.is = true;
    await refuses.live(5);
    await untilHeld(directory);
    assert.equal(await sweep(), 0, 'it goes on, and is silent');
    await refuses.shared.end('unknown');
    assert.equal(await sweep(), 0, 'it has ended');
    const { files } = await contentDirectory(directory);
    assert.equal((await heldSessions(files)).length, 1);
    await releaseHeld(files);
    assert.equal(await sweep(), 1, 'what was lost is not needed');
    await living.shared.end('known');
    assert.deepEqual(await readdir(join(directory, 'content', 'sessions')), []);
    assert.deepEqual(await keysOf(store), []);
  });

  void it('is kept as well when the loss is found by the end of the session, or by nobody before', async (t) => {
    for (const isFound of ['by its end', 'while the store was away'] as const) {
      const { directory, store } = await world(t);
      const [away, lost] = [{ is: false }, { is: false }];
      const ending = await server(
        directory,
        refusing(awayable(store, away), lost),
        () => !lost.is,
        () => lost.is,
      );
      const living = await server(directory, store);
      await ending.putNamed();
      away.is = isFound === 'while the store was away';
      await ending.live(5);
      away.is = false;
      lost.is = true;
      await ending.shared.end('unknown');
      assert.equal(await sweptBy(living), 0, isFound);
      await living.shared.end('known');
    }
  });

  void it('is kept when the database that has lost commits lacks the session as well', async (t) => {
    const { directory, store } = await world(t);
    const lost = { is: false };
    const before = await keysOf(store);
    const refuses = await server(
      directory,
      refusing(store, lost),
      () => !lost.is,
      () => lost.is,
    );
    await refuses.putNamed();
    const ofSession = (await keysOf(store)).filter((key) => !before.includes(key));
    assert.equal(ofSession.length, 2);
    const deletes = ofSession.map((key) => Buffer.from(key));
    await store.commit({ checks: [], puts: [], deletes });
    const living = await server(directory, store);
    assert.equal(await living.sweepAfter(5), 0, 'nobody knows of the loss yet');
    lost.is = true;
    await refuses.live(5);
    await untilHeld(directory);
    assert.equal(await sweptBy(living), 0);
    await refuses.shared.end('unknown');
    assert.equal(await sweptBy(living), 0, 'it has ended');
    await living.shared.end('known');
  });

  void it('is kept by a pass of the sweep that goes on when its server finds the loss', async (t) => {
    const { directory, store } = await world(t);
    const lost = { is: false };
    const [refuses, living] = [
      await server(
        directory,
        refusing(store, lost),
        () => !lost.is,
        () => lost.is,
      ),
      await server(directory, store),
    ];
    await Promise.all(Array.from({ length: 130 }, () => refuses.putNamed()));
    let deleted = 0;
    while (deleted === 0) deleted = await living.sweepAfter(5);
    lost.is = true;
    await refuses.live(0);
    await untilHeld(directory);
    for (let look = 0; look < 9; look += 1) deleted += await living.sweepAfter(0);
    assert.equal(deleted, 64);
    await refuses.shared.end('unknown');
    await living.shared.end('known');
  });

  void it('is stored in another session when somebody has removed the file of the first', async (t) => {
    const { directory, store } = await world(t);
    const one = await server(directory, store);
    const sessions = join(directory, 'content', 'sessions');
    for (const name of await readdir(sessions)) await rm(join(sessions, name));
    const former = one.shared.store;
    const renewed = renewalsOf(one.shared);
    await assert.rejects(one.put(), ContentSessionLostError);
    await renewed.first;
    assert.equal(one.shared.trouble(), undefined);
    await one.putNamed();
    assert.equal((await one.shared.store.commit(naming)).ok, true);
    await settled();
    await assert.rejects(former.commit(naming), GuardError);
    await one.shared.end('known');
    assert.deepEqual(await readdir(sessions), []);
  });

  void it('is not named by the first session once there is another, also when its lease was not renewed', async (t) => {
    const { directory, store } = await world(t);
    const away = { is: false };
    const one = await server(directory, awayable(store, away));
    away.is = true;
    await one.live(5);
    away.is = false;
    const sessions = join(directory, 'content', 'sessions');
    for (const name of await readdir(sessions)) await rm(join(sessions, name));
    const former = one.shared.store;
    const named = new Promise<void>((resolve, reject) => {
      one.shared.onRenewed(() => {
        assert.rejects(former.commit(naming), GuardError).then(resolve, reject);
      });
    });
    await assert.rejects(one.put(), ContentSessionLostError);
    await named;
    await settled();
    await assert.rejects(former.commit(naming), GuardError);
    assert.equal(await store.get(owner), undefined);
    await one.putNamed();
    assert.equal((await one.shared.store.commit(naming)).ok, true);
    await one.shared.end('known');
  });

  void it('is not named any more by a server that stood still and was taken for dead', async (t) => {
    const { directory, store } = await world(t);
    const [still, living] = [await server(directory, store), await server(directory, store)];
    await still.put();
    for (let look = 0; look < 7; look += 1) await living.sweepAfter(5);
    const former = still.shared.store;
    const renewed = renewalsOf(still.shared);
    // The process continues, and its write and its renewal notice that the session is lost.
    await Promise.all([assert.rejects(still.put(), ContentSessionLostError), still.live(0)]);
    await assert.rejects(former.commit(naming), GuardError);
    assert.equal(await store.get(owner), undefined);
    await renewed.first;
    await settled();
    assert.equal(renewed.count(), 1);
    assert.equal(still.shared.trouble(), undefined);
    await still.put();
    assert.equal((await still.shared.store.commit(naming)).ok, true);
    await assert.rejects(former.commit(naming), GuardError);
    await still.shared.end('known');
    await living.shared.end('known');
  });
});
