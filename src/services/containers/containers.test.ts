import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { note, noteKind, type NoteRecord } from '../../../test/support/containers.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { failsWith } from '../../../test/support/table-services.js';
import type { Bytes } from '../../base/bytes.js';
import { systemClock } from '../../base/clock.js';
import { hasInstantVersions } from '../../kv/instant-versions.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { Containers } from './containers.js';
import { droppedContainersPrefix } from './keys.js';
import { deferred } from '../../base/async/deferred.js';

const account = 'acct';

const open = async (engine: EngineName, t: TestContext) =>
  withPartitionRule(await openTestStore(engine, t, systemClock));

interface Calls {
  gets: number;
  commits: number;
}

/** A store that counts its calls. */
function counted(store: Store): { readonly store: Store; readonly calls: Calls } {
  const calls: Calls = { gets: 0, commits: 0 };
  return {
    calls,
    store: {
      getMany: (keys) => store.getMany(keys),
      range: (range, options) => store.range(range, options),
      close: () => store.close(),
      get(key) {
        calls.gets += 1;
        return store.get(key);
      },
      commit(batch) {
        calls.commits += 1;
        return store.commit(batch);
      },
    },
  };
}

/** A store that records its range reads. */
function countedReads(store: Store, events: string[]): Store {
  return {
    ...counted(store).store,
    range(range, options) {
      events.push('read');
      return store.range(range, options);
    },
  };
}

async function droppedIds(store: Store): Promise<number[]> {
  const list = prefixRange(droppedContainersPrefix(noteKind.service, account));
  const { entries } = await store.range(list, { limit: 10_000, bytesMax: 1 << 30 });
  return entries.map(({ value }) => noteKind.decode(value, 1).id);
}

for (const engine of engineNames) {
  describe(`containers over ${engine}`, () => {
    it('are walked through by their ids, however much is stored of them', async (t) => {
      const store = await open(engine, t);
      const containers = new Containers(store, noteKind);
      for (const name of ['a', 'b']) await containers.create(account, name, note(name));
      const decode = () => assert.fail('a record was decoded');
      const ids: number[] = [];
      for await (const { id } of new Containers(store, { ...noteKind, decode }).all()) ids.push(id);
      assert.deepEqual(ids, [1, 2]);
    });

    it('are decoded when they are asked for, and a long page of them waits for its turn', async (t) => {
      const store = await open(engine, t);
      const events: string[] = [];
      const containers = new Containers(countedReads(store, events), {
        ...noteKind,
        decode(value) {
          events.push('decode');
          return noteKind.decode(value, 1);
        },
      });
      const text = 'x'.repeat(20_000);
      for (const name of ['a1', 'a2', 'a3', 'b1', 'b2'])
        await containers.create(account, name, note(name, text));
      const { promise: turn, resolve: begin } = deferred();
      const memory = {
        hold: (bytes: number) => void events.push(bytes >= 100_000 ? 'hold' : `hold ${bytes}`),
        enter: () => turn,
      };
      events.length = 0;
      const short = await containers.list(account, { startsWith: 'a', limit: 3 }, memory);
      assert.deepEqual([short.records.length, events], [3, ['read']]);
      const listing = containers.list(account, { limit: 100 }, memory);
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(events, ['read', 'read']);
      begin();
      const { records } = await listing;
      assert.deepEqual([records.length, events], [5, ['read', 'read', 'read', 'hold']]);
      for (const { name } of records) events.push(name);
      assert.deepEqual(events.slice(4, 8), ['decode', 'a1', 'decode', 'a2']);
    });

    it('that several processes create side by side have ids of their own', async (t) => {
      const store = await open(engine, t);
      const processes = [1, 2, 3].map(() => new Containers(store, noteKind));
      const created = await Promise.all(
        processes.flatMap((containers, process) =>
          Array.from({ length: 150 }, (_, index) =>
            containers.create(account, `c${process}-${index}`, note('c')),
          ),
        ),
      );
      assert.ok(created.every((result) => result.created));
      assert.equal(new Set(created.map((result) => result.record.id)).size, 450);
    });

    it('are created once when many try, and the others get what was created', async (t) => {
      const store = await open(engine, t);
      const create = (_: unknown, index: number) =>
        new Containers(store, noteKind).create(account, 'race', note('race', `by ${index}`));
      const results = await Promise.all(Array.from({ length: 20 }, create));
      assert.equal(results.filter(({ created }) => created).length, 1);
      const stored = await new Containers(store, noteKind).find(account, 'race');
      for (const result of results) assert.deepEqual(result.record, stored);
    });

    it('lose no update when many are made side by side', async (t) => {
      const store = await open(engine, t);
      const processes = [1, 2].map(() => new Containers(store, noteKind));
      await new Containers(store, noteKind).create(account, 'counted', note('counted'));
      const grow = (old: NoteRecord) => ({ ...old, text: `${old.text}x` });
      const all = processes.flatMap((containers) =>
        Array.from({ length: 20 }, () => containers.update(account, 'counted', grow)),
      );
      await Promise.all(all);
      const found = await new Containers(store, noteKind).find(account, 'counted');
      assert.equal(found?.text, 'x'.repeat(40));
    });

    it('that are emptied side by side leave every id but the last on the list', async (t) => {
      const store = await open(engine, t);
      const processes = [1, 2].map(() => new Containers(store, noteKind));
      const { record: first } = await new Containers(store, noteKind).create(
        account,
        'cleared',
        note('cleared'),
      );
      const empty = (containers: Containers<NoteRecord>) =>
        containers.replaceId(account, 'cleared', (old, id) => ({ ...old, id }));
      const ids = (await Promise.all([...processes, ...processes, ...processes].map(empty))).map(
        (result) => result?.id ?? 0,
      );
      const last = await new Containers(store, noteKind).find(account, 'cleared');
      const left = [first.id, ...ids].filter((id) => id !== last?.id).sort((a, b) => a - b);
      assert.equal(new Set(ids).size, 6);
      assert.deepEqual(await droppedIds(store), left);
    });

    it('fill a page with long records only as far as its bytes go', async (t) => {
      const store = await open(engine, t);
      const containers = new Containers(store, noteKind);
      const names = Array.from({ length: 50 }, (_, index) => `c${String(index + 10)}`);
      const long = 'x'.repeat(50_000);
      for (const name of names) await containers.create(account, name, note(name, long));
      const read: string[] = [];
      let pages = 0;
      for (let from: string | undefined = ''; from !== undefined; pages += 1) {
        const page = await containers.list(account, { from, limit: 1000 });
        for (const { name } of page.records) read.push(name);
        assert.ok(page.records.length <= 21 && pages < 9);
        from = page.next;
      }
      assert.deepEqual(read, names);
      assert.equal(pages, 3);
    });

    it('whose names would be longer than any key do not exist, and bound lists all the same', async (t) => {
      const containers = new Containers(await open(engine, t), noteKind);
      await containers.create(account, 'abc', note('abc'));
      const long = 'a'.repeat(10_000);
      assert.equal(await containers.find(account, long), undefined);
      assert.equal(await containers.prefixOf(account, long), undefined);
      assert.equal(await containers.drop(account, long), false);
      assert.equal((await containers.list(account, { from: long, limit: 9 })).records.length, 1);
      const behind = await containers.list(account, { from: `z${long}`, limit: 9 });
      assert.deepEqual([behind.records.length, behind.next], [0, undefined]);
      const none = await containers.list(account, { startsWith: long, limit: 9 });
      assert.deepEqual([none.records.length, none.next], [0, undefined]);
    });

    it('are listed to the end of their prefix, also from behind it', async (t) => {
      const containers = new Containers(await open(engine, t), noteKind);
      for (const name of ['a', 'ab', 'b']) await containers.create(account, name, note(name));
      const list = (from: string) => containers.list(account, { from, startsWith: 'a', limit: 9 });
      for (const [from, count] of [
        ['', 2],
        ['a', 2],
        ['aa', 1],
        ['ac', 0],
        ['b', 0],
        ['zz', 0],
      ] as const) {
        assert.equal((await list(from)).records.length, count, from);
      }
    });
  });
}

describe('a container', () => {
  it('that exists is found by one read, and costs no id and no commit', async (t) => {
    const { store, calls } = counted(await open('memory', t));
    const containers = new Containers(store, noteKind);
    await containers.create(account, 'there', note('there', 'first'));
    const before = { ...calls };
    const again = await containers.create(account, 'there', note('there', 'second'));
    assert.deepEqual(again, { created: false, record: { id: 1, name: 'there', text: 'first' } });
    assert.deepEqual(calls, { gets: before.gets + 1, commits: before.commits });
    const next = await containers.create(account, 'other', note('other'));
    assert.equal(next.record.id, 2);
  });

  it('that is known has its prefix without a read where the store tells versions at once', async (t) => {
    const store = await openTestStore('memory', t, systemClock);
    assert.ok(hasInstantVersions(store));
    const versionNow = (key: Bytes) => store.versionNow(key);
    const { store: rest, calls } = counted(store);
    const containers = new Containers<NoteRecord>(Object.assign(rest, { versionNow }), noteKind);
    await containers.create(account, 'box', note('box'));
    const first = await containers.prefixOf(account, 'box');
    calls.gets = 0;
    assert.deepEqual(containers.prefixOf(account, 'box'), first);
    assert.equal(calls.gets, 0);
    await containers.replaceId(account, 'box', (record, id) => ({ ...record, id }));
    const second = await containers.prefixOf(account, 'box');
    assert.notDeepEqual(second, first);
    assert.deepEqual(containers.prefixOf(account, 'box'), second);
    await containers.drop(account, 'box');
    assert.equal(await containers.prefixOf(account, 'box'), undefined);
  });

  it('that does not exist costs neither id nor commit', async (t) => {
    const { store, calls } = counted(await open('memory', t));
    const containers = new Containers(store, noteKind);
    const fail = () => assert.fail('there is nothing to change');
    assert.equal(await containers.find(account, 'none'), undefined);
    assert.equal(await containers.prefixOf(account, 'none'), undefined);
    assert.equal(await containers.update(account, 'none', fail), undefined);
    assert.equal(await containers.replaceId(account, 'none', fail), undefined);
    assert.equal(await containers.drop(account, 'none'), false);
    assert.equal(calls.commits, 0);
  });

  it('is changed, emptied and dropped by one commit each', async (t) => {
    const { store, calls } = counted(await open('memory', t));
    const containers = new Containers(store, noteKind);
    await containers.create(account, 'box', note('box'));
    const before = calls.commits;
    await containers.update(account, 'box', (old) => ({ ...old, text: 'new' }));
    assert.equal(calls.commits, before + 1);
    await containers.replaceId(account, 'box', (old, id) => ({ ...old, id }));
    assert.equal(calls.commits, before + 2);
    await containers.drop(account, 'box');
    assert.equal(calls.commits, before + 3);
    assert.deepEqual(await droppedIds(store), [1, 2]);
  });

  it('is left alone by a change that throws', async (t) => {
    const containers = new Containers(await open('memory', t), noteKind);
    await containers.create(account, 'box', note('box', 'kept'));
    const refuse = () => {
      throw new Error('refused');
    };
    await assert.rejects(containers.update(account, 'box', refuse), /refused/);
    await assert.rejects(containers.replaceId(account, 'box', refuse), /refused/);
    assert.deepEqual(await containers.find(account, 'box'), { id: 1, name: 'box', text: 'kept' });
  });

  it('that loses to one which is dropped at once is created all the same', async (t) => {
    const store = await open('memory', t);
    const others = new Containers(store, noteKind);
    await others.create(account, 'other', note('other'));
    let race = true;
    const containers = new Containers(
      {
        ...counted(store).store,
        async commit(batch) {
          if (!race || !batch.checks.some(({ version }) => version === 'absent')) {
            return store.commit(batch);
          }
          race = false;
          await others.create(account, 'box', note('box', 'theirs'));
          const result = await store.commit(batch);
          await others.drop(account, 'box');
          return result;
        },
      },
      noteKind,
    );
    // The others took one block of ids, this process takes the next one.
    const mine = await containers.create(account, 'box', note('box', 'mine'));
    assert.deepEqual(mine, { created: true, record: { id: 101, name: 'box', text: 'mine' } });
    assert.deepEqual(await containers.find(account, 'box'), mine.record);
    const next = await containers.create(account, 'next', note('next'));
    assert.equal(next.record.id, 102);
  });

  it('gives up after a hundred changes of others, as a busy server does', async (t) => {
    const store = await open('memory', t);
    const others = new Containers(store, noteKind);
    await others.create(account, 'hot', note('hot'));
    const touch = () => others.update(account, 'hot', (old) => ({ ...old, text: `${old.text}.` }));
    const { store: raced } = counted({
      ...counted(store).store,
      async commit(batch) {
        await touch();
        return store.commit(batch);
      },
    });
    const containers = new Containers(raced, noteKind);
    await assert.rejects(containers.drop(account, 'hot'), failsWith('ServerBusy'));
    const change = (old: NoteRecord) => old;
    await assert.rejects(containers.update(account, 'hot', change), failsWith('ServerBusy'));
    assert.equal((await others.find(account, 'hot'))?.text.length, 200);
  });
});
