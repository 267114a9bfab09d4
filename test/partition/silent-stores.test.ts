import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Partitions } from '../../src/app/partition-control.js';
import { equalBytes, startsWith, type Bytes } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { addMember } from '../../src/partition/admission.js';
import { loadRows, storeRowKey } from '../../src/partition/keys.js';
import { containerNamesPrefix } from '../../src/services/containers/keys.js';
import { addedAs } from './composed-stores.js';
import { hangs, isSilent, opened } from './silent-world.js';

void describe('a request about ranges ends although the home store is silent', () => {
  const requests: Readonly<
    Record<string, (control: Partitions, range: number) => Promise<unknown>>
  > = {
    list: (control) => control.list(),
    halve: (control, range) => control.halve(range),
    move: (control, range) => control.move(range, 'b'),
    merge: (control, range) => control.merge(range - 1, range),
    verify: (control, range) => control.verify({ range }),
    backUp: (control, range) => control.backUp(range, '/nowhere'),
    operation: (control) => control.operation(99),
    metrics: (control) => control.metrics(),
  };
  for (const [name, request] of Object.entries(requests)) {
    void it(name, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      t.mock.method(open.members.home, 'get', silent);
      t.mock.method(open.members.home, 'range', silent);
      await assert.rejects(
        asked(() => request(control, range)),
        isSilent(`'home'`),
      );
    });
  }

  void it('list, which reads loads and the names of tables', hangs, async (t) => {
    const { open, control, range, asked, silent } = await opened(t);
    await control.split(range, 'table/account/#2/q');
    await open.operationRunner.idle();
    const read = open.home.range.bind(open.home);
    for (const [rows, store] of [
      [loadRows.start, `'home'`],
      [containerNamesPrefix('table', 'account'), 'A store'],
    ] as const) {
      const mocked = t.mock.method(open.home, 'range', (...given: Parameters<typeof read>) =>
        startsWith(given[0].start, rows) ? silent() : read(...given),
      );
      await assert.rejects(
        asked(() => control.list()),
        isSilent(store),
      );
      mocked.mock.restore();
    }
  });

  void it('restore, which looks whether the range is empty', hangs, async (t) => {
    const { open, range, asked, silent } = await opened(t);
    t.mock.method(open.members.home, 'range', silent);
    await assert.rejects(
      asked(() => open.operationRunner.operations.beginRestore(range)),
      isSilent(`'home'`),
    );
  });

  void it('split, which reads the name of a table', hangs, async (t) => {
    const { open, control, range, asked, silent } = await opened(t);
    t.mock.method(open, 'get', silent);
    await assert.rejects(
      asked(() => control.split(range, 'table/account/movies/q')),
      isSilent('A store'),
    );
  });
});

void describe('a job about ranges ends although a store is silent', () => {
  void it('when sizes are measured, and when a range is halved', hangs, async (t) => {
    const { open, control, range, ended, silent } = await opened(t);
    t.mock.method(open.members.home, 'sample', silent);
    for (const start of [() => control.sizes(), () => control.halve(range)]) {
      const found = await ended(start);
      assert.match(found?.problem ?? '', /'home' has been silent for 10 seconds/);
    }
  });

  void it('when a verification looks for tables that are not there', hangs, async (t) => {
    const { open, control, range, ended, silent } = await opened(t);
    await control.move(range, 'b');
    await open.operationRunner.idle();
    const store = open.members.named('b');
    const read = store.range.bind(store);
    t.mock.method(store, 'range', (...given: Parameters<typeof read>) =>
      given[1].bytesMax === 1 ? silent() : read(...given),
    );
    const found = await ended(() => control.verify());
    assert.match(found?.problem ?? '', /A store has been silent for 10 seconds/);
  });

  for (const [store, method] of [
    ['home', 'commit'],
    ['b', 'ingest'],
  ] as const) {
    void it(`when a repair waits for the ${method} of '${store}'`, hangs, async (t) => {
      const { open, control, range, ended, silent } = await opened(t);
      const mocked = t.mock.method(open.members.named(store), method, silent);
      const found = await ended(() => control.verify({ range, repair: true }));
      assert.match(found?.problem ?? '', new RegExp(`'${store}' has been silent for 10 seconds`));
      mocked.mock.restore();
    });
  }
});

void describe('what changes ranges or stores ends although the home store is silent', () => {
  type Change = (control: Partitions, range: number) => Promise<unknown>;
  const changes: Readonly<Record<string, Change>> = {
    halve: (control, range) => control.halve(range),
    move: (control, range) => control.move(range, 'b'),
    merge: (control, range) => control.merge(range - 1, range),
    balance: (control) => control.balance(false),
    'a new store': (control) => control.addStore('c', { inMemory: true }),
    'a store that is taken back': (control) => control.addStore('b', {}),
    drain: (control) => control.drainStore('b'),
  };
  for (const [name, change] of Object.entries(changes)) {
    void it(`${name}, and says that nothing was changed`, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      t.mock.method(open.members.home, 'get', silent);
      t.mock.method(open.members.home, 'range', silent);
      const changed = asked(() => change(control, range));
      await assert.rejects(changed, isSilent(`'home'`));
      await assert.rejects(changed, /Nothing was changed: look at its disk .* repeat the command/);
    });
  }

  for (const lost of [false, true]) {
    void it(`remove${lost ? ' --lost' : ''}, and says what to do`, hangs, async (t) => {
      const { open, control, asked, silent } = await opened(t);
      const get = open.home.get.bind(open.home);
      let reads = 0;
      // The row of the store is read once before the removal.
      t.mock.method(open.home, 'get', (key: Bytes) => {
        reads += equalBytes(key, storeRowKey('b')) ? 1 : 0;
        return reads > 1 ? silent() : get(key);
      });
      const removed = asked(() => control.removeStore('b', { lost }));
      await assert.rejects(removed, isSilent(`'home'`));
      await assert.rejects(removed, /'b' may be taken out .* repeat the command/);
    });
  }

  void it('balance, which reads loads', hangs, async (t) => {
    const { open, control, asked, silent } = await opened(t);
    const read = open.home.range.bind(open.home);
    t.mock.method(open.home, 'range', (...given: Parameters<typeof read>) =>
      startsWith(given[0].start, loadRows.start) ? silent() : read(...given),
    );
    await assert.rejects(
      asked(() => control.balance(true)),
      isSilent(`'home'`),
    );
  });

  void it('drain, whose commit may be applied later', hangs, async (t) => {
    const { open, control, asked, silent } = await opened(t);
    t.mock.method(open.members.home, 'commit', silent);
    const drained = asked(() => control.drainStore('b'));
    await assert.rejects(drained, isSilent(`'home'`));
    await assert.rejects(drained, /It may be done later all the same: repeat the command/);
  });

  void it('a new store, which the next attempt takes in', hangs, async (t) => {
    const { open, control, asked, late } = await opened(t);
    const commit = late();
    const store = await openMemoryStore({ clock: manualClock() });
    const add = () => addMember(open.members, addedAs('c', store));
    const added = asked((timers) => addMember(open.members, { ...addedAs('c', store), timers }));
    await assert.rejects(added, isSilent(`'home'`));
    await assert.rejects(added, /'c' is not open here\. It may become .* Repeat the command/);
    await commit.goOn();
    const active = { store: 'c', state: 'active' };
    const stores = async () =>
      (await control.list()).stores.map(({ store, state }) => ({ store, state }));
    assert.deepEqual((await stores())[1], active);
    await add();
    assert.deepEqual((await stores())[1], active);
  });
});
