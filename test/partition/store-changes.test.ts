import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { deferred } from '../../src/base/async/deferred.js';
import { holdingTimers, type Timers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { openPartitions, type OpenPartitions } from '../../src/app/open-partitions.js';
import { StoreChanges } from '../../src/app/partition-stores.js';
import { settingsOf } from '../../src/app/settings.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import { StoreDamagedError, StoreUnavailableError } from '../../src/kv/errors.js';
import { PartitionRefusal } from '../../src/http/control/partitions.js';
import { addMember } from '../../src/partition/admission.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { memberKey, storeRowKey } from '../../src/partition/keys.js';
import type { Members } from '../../src/partition/members.js';
import { removeMember } from '../../src/partition/membership.js';
import { hurried, manualTimers } from '../support/manual-timers.js';
import { addedAs, admitted, membersOf, operationsOver } from './composed-stores.js';

// A removal that waits for a store that does not close never ends.
const hangs = { timeout: 20_000 };
const clock = manualClock();

/** The changes of a process that has these stores open. */
function changesOf(members: Members, timers: Timers = holdingTimers): StoreChanges {
  const operations = operationsOver(members, clock);
  const open = {
    members,
    catalogue: new Catalogue(members.home),
    operationRunner: { operations },
    settings: { timers },
    remove: (name: string) => Promise.resolve(members.remove(name)),
  };
  return new StoreChanges(Object.assign({} as OpenPartitions, open));
}

/** A process with two stores. */
async function world() {
  const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
  const here = await admitted(membersOf(stores));
  return { stores, here, catalogue: new Catalogue(here.home) };
}

void describe('the removal of a lost store', () => {
  void it('takes no other location out that has its name by now', async () => {
    const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
    const [here, elsewhere] = [await admitted(membersOf(stores)), membersOf(stores)];
    const catalogue = new Catalogue(here.home);
    assert.ok(await removeMember(here, 's1', holdingTimers));
    await addMember(here, addedAs('s1', await openMemoryStore({ clock })));
    const changes = changesOf(elsewhere);
    await assert.rejects(changes.removeLost('s1'), (error: Error) => {
      assert.ok(error instanceof PartitionRefusal, String(error));
      assert.match(
        error.message,
        /'s1' .* at another location.*Close what is open here: .*remove s1, and repeat/,
      );
      return true;
    });
    assert.equal(await catalogue.lostStore('s1'), undefined);
    await changes.remove('s1');
    assert.ok(!elsewhere.has('s1'));
    assert.notEqual(await catalogue.store('s1'), undefined);
    // As the refusal says, where the other one is lost.
    await changes.removeLost('s1');
    assert.notEqual(await catalogue.lostStore('s1'), undefined);
  });
});

void describe('the removal of a lost store whose location here cannot be read', () => {
  for (const trouble of [new StoreDamagedError('A page is damaged.'), new Error('EIO')]) {
    void it(`takes it out (${trouble.message})`, async (t) => {
      const { here, catalogue } = await world();
      t.mock.method(here.named('s1'), 'get', () => Promise.reject(trouble));
      await changesOf(here).removeLost('s1');
      assert.notEqual(await catalogue.lostStore('s1'), undefined);
      assert.ok(!here.has('s1'));
    });

    void it(`takes no other location out that has its name by now (${trouble.message})`, async (t) => {
      const { stores, here, catalogue } = await world();
      const elsewhere = await admitted(membersOf(stores));
      assert.ok(await removeMember(here, 's1', holdingTimers));
      await addMember(here, addedAs('s1', await openMemoryStore({ clock })));
      t.mock.method(elsewhere.named('s1'), 'get', () => Promise.reject(trouble));
      await assert.rejects(changesOf(elsewhere).removeLost('s1'), /'s1' .* at another location/);
      assert.equal(await catalogue.lostStore('s1'), undefined);
    });
  }

  void it('takes it out when its row there makes no sense', async () => {
    const { here, catalogue } = await world();
    const puts = [{ key: memberKey, value: Buffer.from('?') }];
    await here.named('s1').commit({ checks: [], puts, deletes: [] });
    await changesOf(here).removeLost('s1');
    assert.notEqual(await catalogue.lostStore('s1'), undefined);
  });
});

void describe('the removal of a lost store whose location here hangs', () => {
  /** Takes `s1` out as lost, in a process that waits for nothing. */
  function removed(members: Members, signal: AbortSignal): Promise<void> {
    return hurried(signal, (timers) => changesOf(members, timers).removeLost('s1'));
  }

  const silent = () => new Promise<undefined>(() => undefined);

  void it('takes no other location out that has its name by now', hangs, async (t) => {
    const { stores, here, catalogue } = await world();
    const elsewhere = await admitted(membersOf(stores));
    assert.ok(await removeMember(here, 's1', holdingTimers));
    await addMember(here, addedAs('s1', await openMemoryStore({ clock })));
    t.mock.method(elsewhere.named('s1'), 'get', silent);
    await assert.rejects(removed(elsewhere, t.signal), /'s1' .* at another location/);
    assert.equal(await catalogue.lostStore('s1'), undefined);
  });

  void it('goes on when it becomes silent behind its first answer', hangs, async (t) => {
    const { here, catalogue } = await world();
    // Without a row in the catalogue only the location itself is looked at.
    await catalogue.commit({ checks: [], puts: [], deletes: [storeRowKey('s1')] });
    const store = here.named('s1');
    const read = store.get.bind(store);
    let looks = 0;
    t.mock.method(store, 'get', (key: Uint8Array) => {
      looks += 1;
      return looks === 1 ? read(key) : silent();
    });
    await removed(here, t.signal);
    assert.notEqual(await catalogue.lostStore('s1'), undefined);
  });
});

void describe('a store that is taken back', () => {
  void it('is not waited for when it is silent', hangs, async (t) => {
    const { here } = await world();
    t.mock.method(here.named('s1'), 'get', () => new Promise(() => undefined));
    const added = hurried(t.signal, (timers) =>
      changesOf(here, timers).add('s1', { inMemory: true }),
    );
    await assert.rejects(added, /^StoreUnavailableError: The store 's1' has been silent/);
  });
});

void describe('a store that is taken out', () => {
  /** A process that has the store `b` open, whose log is noted. */
  async function opened(timers: Timers) {
    const [warned, failed]: [unknown[], unknown[]] = [[], []];
    const warn = (message: string, fields?: object) => void warned.push([message, fields]);
    const error = (message: string, fields?: object) => void failed.push([message, fields]);
    const settings = settingsOf({
      inMemory: true,
      stores: { b: { inMemory: true } },
      clock,
      timers,
      logger: { ...silentLogger, warn, error },
    });
    const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
    return { open, warned, failed };
  }

  void it('is not waited for when it does not close, and the log says so', hangs, async (t) => {
    const timers = manualTimers();
    const { open, warned, failed } = await opened(timers);
    const { promise: isOver, resolve: fail } = deferred();
    const closed = isOver.then(() => assert.fail('the disk has gone'));
    t.mock.method(open.members.named('b'), 'close', () => closed);
    const state = { isOver: false };
    const removed = open.remove('b').finally(() => {
      state.isOver = true;
    });
    while (!state.isOver && !t.signal.aborted) {
      timers.fire();
      await turn();
    }
    assert.ok(state.isOver, 'it still waits');
    await removed;
    assert.ok(!open.members.has('b'));
    assert.match(JSON.stringify(warned), /not closed yet.*"store":"b"/);
    assert.deepEqual(failed, []);
    fail();
    await turn();
    assert.match(JSON.stringify(failed), /could not be closed.*"store":"b"/);
    await open.close();
  });

  void it('gives the error of its end, whatever that is', async (t) => {
    const { open, warned } = await opened(holdingTimers);
    const gone = new StoreUnavailableError('The database has gone.');
    t.mock.method(open.members.named('b'), 'close', () => Promise.reject(gone));
    await assert.rejects(open.remove('b'), gone);
    assert.deepEqual(warned, []);
    await open.close();
  });
});
