import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { note, noteKind } from '../../../test/support/containers.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Store } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { Containers } from './containers.js';
import { nameReservationSweep } from './name-reservations.js';

const account = 'acct';
const second = 1_000_000;

async function open(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  const store = withPartitionRule(await openTestStore(engine, t, clock));
  const hold = { clock, micros: 40 * second, refusal: 'TableBeingDeleted' } as const;
  /** Containers with reservations, as another process would open them. */
  const holding = () => new Containers(store, noteKind, hold);
  const free = () => new Containers(store, noteKind);
  const round = nameReservationSweep(store, clock, noteKind.service);
  /** Containers whose next commit is delayed until `happen` has resolved. */
  const holdingAfter = (happen: () => Promise<unknown>) => {
    let isNext = true;
    const slow: Store = {
      ...boundTo(store),
      commit: async (batch) => {
        if (isNext && batch.puts.length > 0 && batch.checks.length > 1) {
          isNext = false;
          await happen();
        }
        return store.commit(batch);
      },
    };
    return new Containers(slow, noteKind, hold);
  };
  return { clock, holding, holdingAfter, free, reclaim: () => round.step(100) };
}

function boundTo(store: Store): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    commit: (batch) => store.commit(batch),
    close: () => store.close(),
  };
}

const isHeld = (error: unknown): boolean =>
  error instanceof StorageError && error.code === 'TableBeingDeleted';

for (const engine of engineNames) {
  describe(`the name of a dropped container over ${engine}`, () => {
    it('is held for a time, whatever process is asked, and free afterwards', async (t) => {
      const { clock, holding } = await open(engine, t);
      await holding().create(account, 'box', note('box'));
      assert.equal(await holding().drop(account, 'box'), true);
      for (const elapsed of [0, 20, 19]) {
        clock.advanceMicros(elapsed * second);
        await assert.rejects(holding().create(account, 'box', note('box')), isHeld);
      }
      clock.advanceMicros(second);
      assert.equal((await holding().create(account, 'box', note('box'))).created, true);
    });

    it('is gone for everything but creating', async (t) => {
      const { holding } = await open(engine, t);
      const containers = holding();
      await containers.create(account, 'box', note('box'));
      await containers.create(account, 'other', note('other'));
      await containers.drop(account, 'box');
      assert.equal(await containers.find(account, 'box'), undefined);
      assert.equal(await containers.prefixOf(account, 'box'), undefined);
      assert.equal(await containers.drop(account, 'box'), false);
      assert.equal(await containers.update(account, 'box', (record) => record), undefined);
      const { records } = await containers.list(account, { limit: 10 });
      assert.deepEqual(
        Array.from(records, ({ name }) => name),
        ['other'],
      );
      await assert.rejects(containers.create(account, 'box', note('box')), isHeld);
    });

    it('holds nobody but those of its account, its service and its own spelling', async (t) => {
      const { holding } = await open(engine, t);
      const containers = holding();
      await containers.create(account, 'box', note('box'));
      await containers.drop(account, 'box');
      assert.equal((await containers.create(account, 'boxes', note('boxes'))).created, true);
      assert.equal((await containers.create('other', 'box', note('box'))).created, true);
    });

    it('is held anew each time that it is dropped', async (t) => {
      const { clock, holding } = await open(engine, t);
      for (let time = 0; time < 3; time += 1) {
        assert.equal((await holding().create(account, 'box', note('box'))).created, true);
        await holding().drop(account, 'box');
        clock.advanceMicros(39 * second);
        await assert.rejects(holding().create(account, 'box', note('box')), isHeld);
        clock.advanceMicros(second);
      }
    });

    it('goes to one of those who want it at once when its time is over', async (t) => {
      const { clock, holding } = await open(engine, t);
      await holding().create(account, 'box', note('box'));
      await holding().drop(account, 'box');
      clock.advanceMicros(40 * second);
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, () => holding().create(account, 'box', note('box'))),
      );
      assert.equal(outcomes.filter(({ created }) => created).length, 1);
      assert.equal(new Set(outcomes.map(({ record }) => record.id)).size, 1);
    });

    it('is not taken by who looked before it was held', async (t) => {
      const { holding, holdingAfter } = await open(engine, t);
      const slow = holdingAfter(async () => {
        await holding().create(account, 'box', note('box'));
        await holding().drop(account, 'box');
      });
      await assert.rejects(slow.create(account, 'box', note('box')), isHeld);
    });

    it('is held by those who are told to hold it alone', async (t) => {
      const { holding, free, clock } = await open(engine, t);
      await free().create(account, 'box', note('box'));
      await free().drop(account, 'box');
      assert.equal((await holding().create(account, 'box', note('box'))).created, true);
      await holding().drop(account, 'box');
      assert.equal((await free().create(account, 'box', note('box'))).created, true);
      assert.equal((await holding().create(account, 'box', note('box'))).created, false);
      await holding().drop(account, 'box');
      clock.advanceMicros(39 * second);
      await assert.rejects(holding().create(account, 'box', note('box')), isHeld);
    });

    it('is forgotten when its time is over, and not before', async (t) => {
      const { clock, holding, reclaim } = await open(engine, t);
      for (const name of ['early', 'late', 'again']) {
        await holding().create(account, name, note(name));
      }
      await holding().drop(account, 'early');
      clock.advanceMicros(30 * second);
      await holding().drop(account, 'late');
      assert.deepEqual(await reclaim(), { deleted: 0, more: false });
      clock.advanceMicros(10 * second);
      assert.deepEqual(await reclaim(), { deleted: 1, more: false });
      await assert.rejects(holding().create(account, 'late', note('late')), isHeld);
      clock.advanceMicros(30 * second);
      assert.deepEqual(await reclaim(), { deleted: 1, more: false });
      assert.deepEqual(await reclaim(), { deleted: 0, more: false });
      assert.equal((await holding().create(account, 'early', note('early'))).created, true);
    });
  });
}
