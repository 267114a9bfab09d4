import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { account, message, openQueues, second } from '../../../test/support/open-queues.js';
import type { Store } from '../../kv/store.js';

const idleQueues = 50;
/** A text, a state and an expiry entry. */
const messageEntries = 3;

/** Counts the range reads. */
function counting(): { readonly wrap: (store: Store) => Store; ranges: number } {
  const counted = {
    ranges: 0,
    wrap: (store: Store): Store => ({
      get: (key) => store.get(key),
      getMany: (keys) => store.getMany(keys),
      commit: (batch) => store.commit(batch),
      close: () => store.close(),
      range(range, options) {
        counted.ranges += 1;
        return store.range(range, options);
      },
    }),
  };
  return counted;
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`looking for expired messages over ${engine}`, () => {
    async function world(t: Parameters<typeof openQueues>[1]) {
      const counted = counting();
      const { service, clock, other } = await openQueues(engine, t, { wrap: counted.wrap });
      for (let place = 0; place < idleQueues; place += 1) {
        await service.createQueue(account, `queue-${place}`, []);
        await service.putMessage(
          account,
          `queue-${place}`,
          message('x', { timeToLiveSeconds: place === 7 ? 60 : 3_600 }),
        );
      }
      const round = async (): Promise<{ deleted: number; ranges: number }> => {
        counted.ranges = 0;
        let deleted = 0;
        for (;;) {
          const step = await service.reclaim({ entriesMax: 1_000 });
          deleted += step.deleted;
          if (!step.more) return { deleted, ranges: counted.ranges };
        }
      };
      await round();
      return { clock, other, round };
    }

    it('reads no range of a queue in which nothing can have happened', async (t) => {
      const { round } = await world(t);
      const { deleted, ranges } = await round();
      assert.equal(deleted, 0);
      assert.ok(ranges < 10, `${ranges} ranges for ${idleQueues} queues`);
    });

    it('finds the messages whose time has come, from the microsecond on', async (t) => {
      const { clock, round } = await world(t);
      clock.advanceMicros(60 * second - 1);
      assert.equal((await round()).deleted, 0);
      clock.advanceMicros(1);
      assert.equal((await round()).deleted, messageEntries);
      assert.equal((await round()).deleted, 0);
      clock.advanceMicros(3_600 * second);
      assert.equal((await round()).deleted, messageEntries * (idleQueues - 1));
    });

    it('finds those that another process has put since, and that expire first', async (t) => {
      const { clock, other, round } = await world(t);
      await other().putMessage(account, 'queue-9', message('y', { timeToLiveSeconds: 5 }));
      clock.advanceMicros(6 * second);
      assert.equal((await round()).deleted, messageEntries);
    });
  });
}
