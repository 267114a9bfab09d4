import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../src/base/async/deferred.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { compareBytes, equalBytes } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { StoreDamagedError, StoreUnavailableError } from '../../src/kv/errors.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import type { CommitBatch } from '../../src/kv/store.js';
import { addMember, admitMembers } from '../../src/partition/admission.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { guardKey, mapKey, memberKey, storeRowKey } from '../../src/partition/keys.js';
import { Members } from '../../src/partition/members.js';
import { isMember, MembershipError, removeMember } from '../../src/partition/membership.js';
import { answered } from '../../src/partition/reach.js';
import { StoreLocationMismatchError } from '../../src/partition/operations/tools.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { verify } from '../../src/partition/verify.js';
import { hurried, manualTimers } from '../support/manual-timers.js';
import { addedAs, admitted, leaving, membersOf, operationsOver } from './composed-stores.js';

// A removal that waits for a store that is silent never ends.
const hangs = { timeout: 20_000 };
const clock = manualClock();
const locationOf = (name: string) => `/mnt/${name}`;

/** Two processes over the same three stores. */
async function world() {
  const stores: ReturnType<typeof leaving>[] = [];
  for (let count = 0; count < 3; count += 1) {
    stores.push(leaving(await openMemoryStore({ clock })));
  }
  const process = () => membersOf(stores.map(({ store }) => store));
  const [here, elsewhere] = [await admitted(process()), process()];
  const catalogue = new Catalogue(here.home);
  const [range] = (await catalogue.map()).ranges;
  assert.ok(range !== undefined);
  return { stores, here, elsewhere, catalogue, range: range.id };
}

async function namesOf(catalogue: Catalogue): Promise<readonly string[]> {
  return (await catalogue.stores()).map(({ row }) => row.name);
}

function findingsOf(members: Members, catalogue: Catalogue) {
  return verify({ catalogue, members, clock, timers: systemTimers });
}

void describe('a store that another process has removed', () => {
  void it('gets no range, although this process has it still', async () => {
    const { here, elsewhere, catalogue, range } = await world();
    assert.ok(await removeMember(here, 's1', systemTimers));
    const operations = operationsOver(elsewhere, clock);
    for (const begun of [
      await operations.beginMove(range, 's1'),
      await operations.beginDiscard(range, 's1'),
    ]) {
      assert.deepEqual(begun, { ok: false, refusal: 'no such store' });
    }
    assert.deepEqual(await catalogue.operations(), []);
    // Its location may have other data by now.
    await elsewhere.named('s1').commit({
      checks: [],
      puts: [{ key: Buffer.from([2, 0x61, 0]), value: Buffer.from('of somebody else') }],
      deletes: [],
    });
    assert.deepEqual(await findingsOf(elsewhere, catalogue), []);
  });

  void it('gets no range when its name belongs to another location now', async () => {
    const { here, elsewhere, catalogue, range } = await world();
    assert.ok(await removeMember(here, 's1', systemTimers));
    here.remove('s1');
    const store = await openMemoryStore({ clock });
    await addMember(here, addedAs('s1', store));
    here.add('s1', store);
    const operations = operationsOver(elsewhere, clock);
    const refused = { ok: false, refusal: 'location mismatch' };
    assert.deepEqual(await operations.beginMove(range, 's1'), refused);
    assert.deepEqual(await operations.beginDiscard(range, 's1'), refused);
    assert.deepEqual(await findingsOf(elsewhere, catalogue), [
      { kind: 'location mismatch', store: 's1' },
    ]);
    // Nor does a move that the other process has begun write there.
    const begun = await operationsOver(here, clock).beginMove(range, 's1');
    assert.ok(begun.ok);
    await assert.rejects(operations.carryOut(begun.operation), /'s1'.*another location/);
    const { entries } = await elsewhere
      .named('s1')
      .range({ start: Buffer.alloc(0) }, { limit: 1, bytesMax: 1 });
    assert.deepEqual(entries, []);
    assert.equal(await operationsOver(here, clock).carryOut(begun.operation), 'done');
  });

  void it('is not asked for a guard when a move from it or to it is taken over', async () => {
    const { here, elsewhere, catalogue, range } = await world();
    assert.ok(await removeMember(here, 's1', systemTimers));
    here.remove('s1');
    const store = await openMemoryStore({ clock });
    await addMember(here, addedAs('s1', store));
    here.add('s1', store);
    const died = new Error('died');
    const diesAt = (last: MoveStep) =>
      operationsOver(here, clock, {
        onStep: (step) => {
          if (step === last) throw died;
        },
      });
    const left = async (target: string, step: MoveStep) => {
      const begun = await operationsOver(here, clock).beginMove(range, target);
      assert.ok(begun.ok);
      await assert.rejects(diesAt(step).carryOut(begun.operation), died);
      return begun.operation;
    };
    for (const [target, step] of [
      ['s1', 'catch up'],
      ['s0', 'clean'],
    ] as const) {
      const operation = await left(target, step);
      await assert.rejects(
        operationsOver(elsewhere, clock).carryOut(operation),
        StoreLocationMismatchError,
      );
      assert.notEqual(await catalogue.operation(operation), undefined);
      assert.notEqual(await store.get(guardKey(range)), undefined);
      assert.equal(await operationsOver(here, clock).carryOut(operation), 'done');
    }
    assert.equal(await store.get(guardKey(range)), undefined);
    assert.deepEqual(await findingsOf(here, catalogue), []);
  });

  void it('keeps what a cancelled move has brought there until a process with it cancels', async () => {
    const { here, elsewhere, catalogue, range } = await world();
    assert.ok(await removeMember(here, 's1', systemTimers));
    here.remove('s1');
    const store = await openMemoryStore({ clock });
    await addMember(here, addedAs('s1', store));
    here.add('s1', store);
    const begun = await operationsOver(here, clock).beginMove(range, 's1');
    assert.ok(begun.ok);
    const died = new Error('died');
    const dying = operationsOver(here, clock, {
      onStep: (step) => {
        if (step === 'fence') throw died;
      },
    });
    await assert.rejects(dying.carryOut(begun.operation), died);
    const cancelled = operationsOver(elsewhere, clock).cancel(begun.operation);
    assert.equal(await cancelled, true);
    const [left] = await catalogue.operations();
    assert.equal(left?.row.kind === 'move' && left.row.step, 'cancel');
    assert.notEqual(await store.get(guardKey(range)), undefined);
    assert.equal(await operationsOver(here, clock).carryOut(begun.operation), 'cancelled');
    assert.deepEqual(await catalogue.operations(), []);
    assert.equal(await store.get(guardKey(range)), undefined);
  });

  for (const left of ['away', 'there'] as const) {
    void it(`is removed here without the other location of its name (${left} then)`, async () => {
      const { stores, here, elsewhere, catalogue } = await world();
      const first = stores[1];
      assert.ok(first !== undefined);
      first.state.isAway = left === 'away';
      const removed = removeMember(here, 's1', systemTimers);
      if (left === 'away') await assert.rejects(removed, MembershipError);
      else assert.ok(await removed);
      const second = await openMemoryStore({ clock });
      await addMember(here, addedAs('s1', second));
      first.state.isAway = false;
      assert.ok(await removeMember(elsewhere, 's1', systemTimers));
      assert.equal(await elsewhere.named('s1').get(memberKey), undefined);
      assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
      assert.notEqual(await second.get(memberKey), undefined);
    });
  }

  void it('is removed here as well, and nothing is deleted that others have put there', async () => {
    const { here, elsewhere } = await world();
    assert.ok(await removeMember(here, 's1', systemTimers));
    assert.ok(await removeMember(elsewhere, 's1', systemTimers));
    const other = membersOf([await openMemoryStore({ clock }), here.named('s1')]);
    await admitMembers(other, { locationOf, randomness: systemRandomness });
    assert.ok(await removeMember(elsewhere, 's1', systemTimers));
    assert.notEqual(await here.named('s1').get(memberKey), undefined);
  });
});

void describe('a store whose location here hangs, and whose name another location has by now', () => {
  void it('leaves that other location alone when it is removed here', hangs, async (t) => {
    const { stores, here, elsewhere, catalogue } = await world();
    await admitted(elsewhere);
    assert.ok(await removeMember(here, 's1', systemTimers));
    const second = await openMemoryStore({ clock });
    await addMember(here, addedAs('s1', second));
    const first = stores[1]?.store;
    assert.ok(first !== undefined);
    const mocked = t.mock.method(first, 'get', () => new Promise(() => undefined));
    await assert.rejects(givenUp(elsewhere, t.signal), (error: Error) => {
      assert.ok(error instanceof MembershipError, String(error));
      assert.match(
        error.message,
        /'s1' .* out and in again, at s1, since.* and stays.*same location.*--lost, of the server/,
      );
      return true;
    });
    assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
    mocked.mock.restore();
    assert.ok(await removeMember(elsewhere, 's1', systemTimers));
    assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
    assert.notEqual(await second.get(memberKey), undefined);
  });
});

void describe('a store that is away', () => {
  void it('gets no range, and none of it is deleted there', async () => {
    const { stores, here, catalogue, range } = await world();
    const away = stores[1]?.state;
    assert.ok(away !== undefined);
    away.isAway = true;
    const operations = operationsOver(here, clock);
    const refused = { ok: false, refusal: 'the store is away' };
    assert.deepEqual(await operations.beginMove(range, 's1'), refused);
    assert.deepEqual(await operations.beginDiscard(range, 's1'), refused);
    assert.deepEqual(await catalogue.operations(), []);
  });
});

void describe('a store that is silent', () => {
  const silent = () => new Promise<undefined>(() => undefined);

  function isSilent(error: unknown): true {
    assert.ok(error instanceof StoreUnavailableError, String(error));
    assert.match(error.message, /'s\d' has been silent for 2 seconds/);
    return true;
  }

  void it('gets no range, and is not waited for', hangs, async (t) => {
    const { here, catalogue, range } = await world();
    t.mock.method(here.named('s1'), 'get', silent);
    const refused = { ok: false, refusal: 'the store is away' };
    for (const begin of ['beginMove', 'beginDiscard'] as const) {
      const begun = await hurried(t.signal, (timers) =>
        operationsOver(here, clock, { timers })[begin](range, 's1'),
      );
      assert.deepEqual(begun, refused);
    }
    assert.deepEqual(await catalogue.operations(), []);
  });

  void it('is not waited for as the target of a move that is taken over', hangs, async (t) => {
    const { here, range } = await world();
    const begun = await operationsOver(here, clock).beginMove(range, 's1');
    assert.ok(begun.ok);
    t.mock.method(here.named('s1'), 'get', silent);
    const carried = hurried(t.signal, (timers) =>
      operationsOver(here, clock, { timers }).carryOut(begun.operation),
    );
    await assert.rejects(carried, isSilent);
  });

  for (const hanging of ['get', 'fence'] as const) {
    void it(`is not waited for when the ${hanging} of its guard hangs`, hangs, async (t) => {
      const { here, range } = await world();
      const begun = await operationsOver(here, clock).beginMove(range, 's1');
      assert.ok(begun.ok);
      const { home } = here;
      const read = home.get.bind(home);
      let reads = 0;
      if (hanging === 'fence') t.mock.method(home, 'fence', silent);
      else
        t.mock.method(home, 'get', (key: Uint8Array) => {
          const isGuard = equalBytes(key, guardKey(range));
          reads += isGuard ? 1 : 0;
          // The first one looks whether somebody has to end a pause.
          return isGuard && reads > 1 ? silent() : read(key);
        });
      const carried = hurried(t.signal, (timers) =>
        operationsOver(here, clock, { timers }).carryOut(begun.operation),
      );
      await assert.rejects(carried, /'s0' has been silent for (2|10) seconds/);
    });
  }

  void it(
    'is not waited for when it counts the writes that a move must follow',
    hangs,
    async (t) => {
      const { here, range } = await world();
      const begun = await operationsOver(here, clock).beginMove(range, 's1');
      assert.ok(begun.ok);
      const died = new Error('died');
      const diesAt = (last: MoveStep) => (step: MoveStep) => {
        if (step === last) throw died;
      };
      const dying = operationsOver(here, clock, { onStep: diesAt('copy') });
      await assert.rejects(dying.carryOut(begun.operation), died);
      t.mock.method(here.home, 'sample', silent);
      const carried = hurried(t.signal, (timers) =>
        operationsOver(here, clock, { timers }).carryOut(begun.operation),
      );
      await assert.rejects(carried, /'s0' has been silent for 10 seconds/);
    },
  );

  void it('is not waited for by what deletes data that nobody reads', hangs, async (t) => {
    const { here, range } = await world();
    const { home } = here;
    const read = home.get.bind(home);
    t.mock.method(home, 'get', (key: Uint8Array) =>
      equalBytes(key, guardKey(range)) ? silent() : read(key),
    );
    const begun = hurried(t.signal, (timers) =>
      operationsOver(here, clock, { timers }).beginDiscard(range, 's1'),
    );
    await assert.rejects(begun, isSilent);
  });

  for (const hanging of ['get', 'range'] as const) {
    void it(`is not waited for by verify when its ${hanging} hangs`, hangs, async (t) => {
      const { here, catalogue } = await world();
      t.mock.method(here.named('s1'), hanging, silent);
      const found = hurried(t.signal, (timers) =>
        verify({ catalogue, members: here, clock, timers }),
      );
      await assert.rejects(found, /'s1' has been silent for (2|10) seconds/);
    });
  }

  void it('is waited for while it goes on counting', hangs, async () => {
    const timers = manualTimers();
    const { promise, resolve } = deferred();
    let counted = 0;
    const progress = () => counted;
    const call = answered(promise, { store: 's1', timers, isLong: true, progress });
    for (; counted < 20; counted += 1) timers.fire();
    resolve();
    await call;
  });

  void it('is not waited for as the source of one, whose guard is looked at', hangs, async (t) => {
    const { here, range } = await world();
    const begun = await operationsOver(here, clock).beginMove(range, 's1');
    assert.ok(begun.ok);
    const { home } = here;
    const read = home.get.bind(home);
    t.mock.method(home, 'get', (key: Uint8Array) =>
      equalBytes(key, guardKey(range)) ? silent() : read(key),
    );
    const carried = hurried(t.signal, (timers) =>
      operationsOver(here, clock, { timers }).carryOut(begun.operation),
    );
    await assert.rejects(carried, isSilent);
  });
});

void describe('the stores of a key space', () => {
  void it('are those of both when two processes start at the same time', async (t) => {
    const stores = [await openMemoryStore({ clock }), await openMemoryStore({ clock })];
    const members = membersOf(stores);
    const { home } = members;
    const read = home.get.bind(home);
    let looks = 0;
    t.mock.method(home, 'get', async (key: Uint8Array) => {
      const found = await read(key);
      if (compareBytes(key, memberKey) !== 0) return found;
      looks += 1;
      // The other one starts and is done when this one has found that the home store is new.
      if (looks === 2) await admitted(membersOf(stores));
      return found;
    });
    await admitted(members);
    assert.ok(looks > 2);
    assert.deepEqual((await namesOf(new Catalogue(home))).toSorted(), ['s0', 's1']);
  });

  /** Begins to move the only range to `s1`. */
  async function begun({ here, range }: Awaited<ReturnType<typeof world>>) {
    const operations = operationsOver(here, clock);
    const answer = await operations.beginMove(range, 's1');
    assert.ok(answer.ok);
    return () => operations.carryOut(answer.operation);
  }

  /** As after a start with an empty location by the name of `s1`. */
  async function emptied({ here }: Awaited<ReturnType<typeof world>>) {
    return membersOf([here.home, await openMemoryStore({ clock }), here.named('s2')]);
  }

  void it('are refused when one that has ranges is empty, as an unmounted disk is', async () => {
    const each = await world();
    await (
      await begun(each)
    )();
    const members = await emptied(each);
    await assert.rejects(admitted(members), (error: Error) => {
      assert.ok(error instanceof MembershipError, String(error));
      assert.match(error.message, /^s1 has nothing of the store 's1'.*mounted/);
      return true;
    });
    assert.equal(await members.named('s1').get(memberKey), undefined);
    const store = members.named('s1');
    const less = membersOf([each.here.home]);
    await assert.rejects(addMember(less, addedAs('s1', store)), /has nothing of the store/);
    await admitted(each.elsewhere);
  });

  void it('are refused when one is empty that an operation writes to', async () => {
    const each = await world();
    await begun(each);
    await assert.rejects(admitted(await emptied(each)), /^MembershipError: s1 has nothing/);
    await admitted(each.elsewhere);
  });

  void it('are refused when the location of one is another than the one that was taken in', async () => {
    const each = await world();
    const members = await emptied(each);
    members.named('s1').commit = () => assert.fail('nothing is written there');
    await assert.rejects(admitted(members), otherLocation);
    await admitted(each.elsewhere);
  });

  void it('are refused without one that has ranges, also when the map does not list it', async () => {
    const each = await world();
    await (
      await begun(each)
    )();
    const row = { checks: [], puts: [], deletes: [storeRowKey('s1')] };
    await each.catalogue.commit(row);
    const left = ['s0', 's2'].map((name) => [name, each.here.named(name)] as const);
    const less = new Members('s0', new Map(left));
    await assert.rejects(admitted(less), /'s1' is not among those that were named/);
  });

  void it('are refused when the home store is empty and another one is not', async () => {
    const { here } = await world();
    const empty = await openMemoryStore({ clock });
    const members = membersOf([empty, here.named('s1'), here.named('s2')]);
    await assert.rejects(admitted(members), /s1 belongs to other data.*s0 is empty.*mounted/);
    const { entries } = await empty.range({ start: Buffer.alloc(0) }, { limit: 1, bytesMax: 1 });
    assert.deepEqual(entries, [], 'nothing was written');
  });
});

function otherLocation(error: Error): true {
  assert.ok(error instanceof MembershipError, String(error));
  assert.match(
    error.message,
    /^\S+ is not the store 's1' of these data: another location was taken in/,
  );
  assert.match(error.message, /take this one in by another name.*store remove s1/);
  return true;
}

void describe('two locations by one name', () => {
  /** Two processes over one home store that have not taken in `s1` yet, and a location for each. */
  async function homeless() {
    const home = await openMemoryStore({ clock });
    const process = () => admitted(membersOf([home]));
    const locations = [await openMemoryStore({ clock }), await openMemoryStore({ clock })] as const;
    return { home, catalogue: new Catalogue(home), here: await process(), locations, process };
  }

  /** Calls `meanwhile` when a store has just become a member, before the catalogue knows it. */
  function onceAdmitted(store: MemberStore, meanwhile: () => Promise<void>) {
    const commit = store.commit.bind(store);
    let isDone = false;
    store.commit = async (batch) => {
      const result = await commit(batch);
      if (!isDone) {
        isDone = true;
        await meanwhile();
      }
      return result;
    };
  }

  void it('are not taken in by two processes at the same time, whatever their text', async () => {
    for (const location of ['s1', 'elsewhere']) {
      const { catalogue, here, locations, process } = await homeless();
      const [first, second] = locations;
      const elsewhere = await process();
      onceAdmitted(second, () => addMember(elsewhere, addedAs('s1', first)));
      await assert.rejects(addMember(here, addedAs('s1', second, location)), otherLocation);
      assert.equal(await second.get(memberKey), undefined, 'the second location is empty again');
      assert.equal((await catalogue.store('s1'))?.row.location, 's1');
      await assert.rejects(addMember(here, addedAs('s1', second, location)), otherLocation);
      await addMember(here, addedAs('s1', first));
      await addMember(here, addedAs('s2', second, location));
      assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
    }
  });

  void it('are not taken in by two configurations at the same time', async () => {
    const { home, locations, catalogue } = await homeless();
    const [first, second] = locations;
    onceAdmitted(second, async () => {
      await admitted(membersOf([home, first]));
    });
    await assert.rejects(admitted(membersOf([home, second])), otherLocation);
    assert.equal(await second.get(memberKey), undefined);
    await admitted(membersOf([home, first]));
    assert.deepEqual(await namesOf(catalogue), ['s0', 's1']);
  });

  void it('are told apart when a removal has left the name at the first one', async () => {
    const { stores, here, elsewhere, catalogue, range } = await world();
    const first = stores[1];
    assert.ok(first !== undefined);
    first.state.isAway = true;
    await assert.rejects(removeMember(here, 's1', systemTimers), MembershipError);
    const second = await openMemoryStore({ clock });
    await addMember(here, addedAs('s1', second));
    first.state.isAway = false;
    const moved = operationsOver(elsewhere, clock).beginMove(range, 's1');
    assert.deepEqual(await moved, { ok: false, refusal: 'location mismatch' });
    await assert.rejects(admitted(elsewhere), otherLocation);
    // So its name leads to no start, and another one only when it is empty.
    const renamed = addMember(here, addedAs('s3', first.store));
    await assert.rejects(
      renamed,
      /Name it 's1'\..* another location has that name.*: delete what is/,
    );
    assert.deepEqual(await findingsOf(elsewhere, catalogue), [
      { kind: 'location mismatch', store: 's1' },
    ]);
  });
});

void describe('the removal of a store', () => {
  void it('is completed by the next attempt when the store was away', async () => {
    const { stores, here, catalogue } = await world();
    const removed = stores[1]?.state;
    assert.ok(removed !== undefined);
    removed.isAway = true;
    await assert.rejects(removeMember(here, 's1', systemTimers), (error: Error) => {
      assert.ok(error instanceof MembershipError, String(error));
      assert.match(error.message, /'s1' gets no range any more.*Repeat the command/);
      return true;
    });
    assert.deepEqual(await namesOf(catalogue), ['s0', 's2']);
    removed.isAway = false;
    assert.notEqual(await here.named('s1').get(memberKey), undefined);
    assert.ok(await removeMember(here, 's1', systemTimers));
    assert.equal(await here.named('s1').get(memberKey), undefined);
    assert.deepEqual(await namesOf(catalogue), ['s0', 's2']);
  });

  for (const silent of ['get', 'commit'] as const) {
    void it(
      `gives up on a store whose ${silent} hangs, and is completed later`,
      hangs,
      async (t) => {
        const { here, catalogue } = await world();
        const mocked = t.mock.method(here.named('s1'), silent, () => new Promise(() => undefined));
        const given = givenUp(here, t.signal);
        await assert.rejects(given, (error: Error) => {
          assert.ok(error instanceof MembershipError, String(error));
          const says =
            /'s1' gets no range any more.*Repeat the command.*--lost\..*silent for \d+ sec/;
          assert.match(error.message, says);
          return true;
        });
        assert.deepEqual(await namesOf(catalogue), ['s0', 's2']);
        mocked.mock.restore();
        assert.ok(await removeMember(here, 's1', systemTimers));
        assert.equal(await here.named('s1').get(memberKey), undefined);
      },
    );
  }

  void it('gives up on a store whose row cannot be read, and is completed later', async (t) => {
    const { here, catalogue } = await world();
    const damaged = () => Promise.reject(new StoreDamagedError('A page is damaged.'));
    const mocked = t.mock.method(here.named('s1'), 'get', damaged);
    await assert.rejects(removeMember(here, 's1', systemTimers), (error: Error) => {
      assert.ok(error instanceof MembershipError, String(error));
      assert.match(error.message, /'s1' gets no range any more.*--lost\. A page is damaged\.$/);
      return true;
    });
    assert.deepEqual(await namesOf(catalogue), ['s0', 's2']);
    mocked.mock.restore();
    assert.ok(await removeMember(here, 's1', systemTimers));
    assert.equal(await here.named('s1').get(memberKey), undefined);
  });

  void it('takes out what another process has taken in just before', async (t) => {
    const { stores, here, elsewhere, catalogue } = await world();
    const [, first] = stores;
    assert.ok(first !== undefined);
    first.state.isAway = true;
    await assert.rejects(removeMember(here, 's1', systemTimers), MembershipError);
    first.state.isAway = false;
    const { home } = here;
    const commit = home.commit.bind(home);
    const [atCatalogue, atRemoval] = [deferred(), deferred()];
    t.mock.method(home, 'commit', async (batch: CommitBatch) => {
      const writes = (key: Uint8Array) => batch.puts.some((put) => equalBytes(put.key, key));
      if (writes(storeRowKey('s1'))) {
        atCatalogue.resolve();
        await atRemoval.promise;
      } else if (writes(mapKey)) {
        atRemoval.resolve();
        await added;
      }
      return commit(batch);
    });
    const added = addMember(elsewhere, addedAs('s1', first.store));
    await atCatalogue.promise;
    assert.ok(await removeMember(here, 's1', systemTimers));
    assert.deepEqual(await namesOf(catalogue), ['s0', 's2']);
    assert.equal(await first.store.get(memberKey), undefined);
  });

  void it('leaves the row of one that is taken in between its two looks at the map', async (t) => {
    const { stores, here, elsewhere, catalogue } = await world();
    const [, first] = stores;
    assert.ok(first !== undefined);
    first.state.isAway = true;
    await assert.rejects(removeMember(here, 's1', systemTimers), MembershipError);
    first.state.isAway = false;
    const { home } = here;
    const commit = home.commit.bind(home);
    const [atCatalogue, isRemoved] = [deferred(), deferred()];
    t.mock.method(home, 'commit', async (batch: CommitBatch) => {
      const writes = (key: Uint8Array) => batch.puts.some((put) => equalBytes(put.key, key));
      if (writes(storeRowKey('s1'))) {
        atCatalogue.resolve();
        await isRemoved.promise;
        return commit(batch);
      }
      const result = await commit(batch);
      // The catalogue does not know the store, and its row is deleted next.
      if (writes(mapKey)) {
        isRemoved.resolve();
        await added;
      }
      return result;
    });
    const added = addMember(elsewhere, addedAs('s1', first.store));
    // The row of the store is written, and the removal reads it.
    await atCatalogue.promise;
    assert.ok(await removeMember(here, 's1', systemTimers));
    assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
    assert.ok(await isMember(elsewhere, 's1', systemTimers));
  });

  void it(
    'that was given up changes nothing of a store that was taken in again',
    hangs,
    async (t) => {
      const { stores, here, elsewhere, catalogue } = await world();
      const { promise: isBack, resolve: comesBack } = deferred();
      const store = here.named('s1');
      const commit = store.commit.bind(store);
      const late: Promise<unknown>[] = [];
      const mocked = t.mock.method(store, 'commit', (batch: CommitBatch) => {
        const answer = isBack.then(() => commit(batch));
        late.push(answer);
        return answer;
      });
      await assert.rejects(givenUp(here, t.signal), MembershipError);
      mocked.mock.restore();
      const [, again] = stores;
      assert.ok(again !== undefined);
      await addMember(elsewhere, addedAs('s1', again.store));
      comesBack();
      await Promise.all(late);
      assert.equal(late.length, 1);
      assert.ok(await isMember(elsewhere, 's1', systemTimers));
      assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
    },
  );
});

void describe('a store that is taken out while another process starts with it', () => {
  void it('is a member afterwards, whenever its row is deleted at last', hangs, async (t) => {
    const { here, elsewhere } = await world();
    const { promise: isLate, resolve: comesLate } = deferred();
    const store = here.named('s1');
    const [read, commit] = [store.get.bind(store), store.commit.bind(store)];
    const late: Promise<unknown>[] = [];
    const removed = async () => {
      const mocked = t.mock.method(store, 'commit', (batch: CommitBatch) => {
        const answer = isLate.then(() => commit(batch));
        late.push(answer);
        return answer;
      });
      await assert.rejects(givenUp(here, t.signal), MembershipError);
      mocked.mock.restore();
    };
    let looks = 0;
    t.mock.method(store, 'get', async (key: Uint8Array) => {
      const found = await read(key);
      looks += 1;
      // Its row as a member is found right, and the catalogue is looked at next.
      if (looks === 2) await removed();
      return found;
    });
    await admitted(elsewhere);
    comesLate();
    await Promise.all(late);
    assert.equal(late.length, 1);
    assert.ok(await isMember(elsewhere, 's1', systemTimers));
  });
});

void describe('a store that is taken in while another process takes it out', () => {
  void it('is a member afterwards with its row, which the removal does not delete', async (t) => {
    const { here, elsewhere, catalogue } = await world();
    const store = here.named('s1');
    const [isGone, isBack] = [deferred(), deferred()];
    const commit = here.home.commit.bind(here.home);
    t.mock.method(here.home, 'commit', async (batch: CommitBatch) => {
      const result = await commit(batch);
      if (!batch.deletes?.some((key) => equalBytes(key, storeRowKey('s1')))) return result;
      isGone.resolve();
      await isBack.promise;
      return result;
    });
    const read = store.get.bind(store);
    let looks = 0;
    let removed: Promise<boolean> | undefined;
    t.mock.method(store, 'get', async (key: Uint8Array) => {
      const found = await read(key);
      looks += 1;
      // Its row as a member is found right, and the catalogue is looked at next.
      if (looks === 2) {
        removed = removeMember(here, 's1', systemTimers);
        await isGone.promise;
      }
      return found;
    });
    await admitted(elsewhere);
    isBack.resolve();
    assert.ok(await removed);
    assert.ok(await isMember(elsewhere, 's1', systemTimers));
    assert.deepEqual(await namesOf(catalogue), ['s0', 's1', 's2']);
  });
});

/** A removal of a store for which no time is left whenever it waits. */
function givenUp(members: Members, signal: AbortSignal): Promise<boolean> {
  return hurried(signal, (timers) => removeMember(members, 's1', timers));
}
