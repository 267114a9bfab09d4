import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  account,
  message,
  openQueues,
  queue,
  second,
  textsOf,
} from '../../../test/support/open-queues.js';
import { engineNames } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { forwardClock } from '../../base/forward-clock.js';
import { invariant } from '../../base/invariant.js';
import { systemRandomness } from '../../base/randomness.js';
import { candidatesPerRead } from '../../kv/filtered-entries.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { CommitBatch, Store } from '../../kv/store.js';
import { QueueService } from './queue-service.js';
import { costly } from '../../../test/support/run-length.js';

/** Puts messages that live for a second. */
async function fillShortLived(service: QueueService, total: number): Promise<void> {
  const short = message('old', { timeToLiveSeconds: 1 });
  await Promise.all(Array.from({ length: total }, () => service.putMessage(account, queue, short)));
}

async function fill(service: QueueService, total: number): Promise<string[]> {
  const texts = Array.from({ length: total }, (_, index) => String(index).padStart(5, '0'));
  await Promise.all(texts.map((text) => service.putMessage(account, queue, message(text))));
  return textsOf(await peekAll(service));
}

async function peekAll(service: QueueService) {
  return service.peekMessages(account, queue, 10_000);
}

/** Gets messages until none is left; returns them in the order of the responses. */
async function drain(service: QueueService, count: number): Promise<string[]> {
  const got: string[] = [];
  for (;;) {
    const page = await service.getMessages(account, queue, { count, visibilitySeconds: 60 });
    if (page.length === 0) return got;
    got.push(...textsOf(page));
  }
}

/** Counts commits, and commits whose checks failed. */
function counting(): {
  readonly counts: { commits: number; conflicts: number };
  readonly wrap: (store: Store) => Store;
} {
  const counts = { commits: 0, conflicts: 0 };
  return {
    counts,
    wrap: (store) => ({
      get: (key) => store.get(key),
      getMany: (keys) => store.getMany(keys),
      range: (range, options) => store.range(range, options),
      close: () => store.close(),
      async commit(batch: CommitBatch) {
        const result = await store.commit(batch);
        counts.commits += 1;
        if (!result.ok) counts.conflicts += 1;
        return result;
      },
    }),
  };
}

for (const engine of engineNames) {
  describe(`consumers side by side over ${engine}`, () => {
    it(
      'of one process get each message once, and never in each other’s way',
      costly(),
      async (t) => {
        const { counts, wrap } = counting();
        const { service } = await openQueues(engine, t, { wrap });
        const texts = await fill(service, 1000);
        counts.commits = 0;
        const got = await Promise.all(Array.from({ length: 32 }, () => drain(service, 3)));
        assert.deepEqual(got.flat().sort(), texts.toSorted());
        assert.equal(counts.conflicts, 0);
        assert.ok(counts.commits <= 1000, `${counts.commits} commits`);
        for (const own of got)
          assert.deepEqual(own, own.toSorted(), 'out of order for one consumer');
      },
    );

    it('of several processes get each message once', costly(), async (t) => {
      const { service, other } = await openQueues(engine, t);
      const texts = await fill(service, 1000);
      const processes = [service, other(), other(), other()];
      const consumers = processes.flatMap((each) => Array.from({ length: 8 }, () => each));
      const got = await Promise.all(consumers.map((each) => drain(each, 5)));
      const all = got.flat();
      assert.equal(new Set(all).size, all.length, 'a message was handed out twice');
      // A consumer that got nothing because of a conflict may have stopped early; the rest is still
      // there.
      const rest = await drain(service, 32);
      assert.deepEqual([...all, ...rest].sort(), texts.toSorted());
    });

    it('leave to the next one what they could not take', async (t) => {
      let refuse = false;
      const wrap = (store: Store): Store => ({
        get: (key) => store.get(key),
        getMany: (keys) => store.getMany(keys),
        range: (range, options) => store.range(range, options),
        close: () => store.close(),
        commit: (batch) =>
          refuse ? Promise.reject(new Error('the disk is full')) : store.commit(batch),
      });
      const { service } = await openQueues(engine, t, { wrap });
      const texts = await fill(service, 3);
      refuse = true;
      const options = { count: 2, visibilitySeconds: 10 };
      await assert.rejects(service.getMessages(account, queue, options), /disk is full/);
      refuse = false;
      assert.deepEqual(
        textsOf(await service.getMessages(account, queue, options)),
        texts.slice(0, 2),
      );
    });

    it('see what becomes visible while others are busy further on', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      const texts = await fill(service, 40);
      const held = await service.getMessages(account, queue, { count: 5, visibilitySeconds: 60 });
      const busy = Array.from({ length: 4 }, () => drain(service, 2));
      for (const each of held) {
        await service.updateMessage(account, queue, { ...each, visibilitySeconds: 0 });
      }
      const got = (await Promise.all(busy)).flat();
      const rest = await drain(service, 32);
      assert.deepEqual([...got, ...rest].sort(), texts.toSorted());
      clock.advanceMicros(61 * second);
      assert.equal((await peekAll(service)).length, 40);
    });
  });

  describe(`expired messages over ${engine}`, () => {
    it('are passed over, not counted, and deleted in bounded steps', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      for (let index = 0; index < 250; index += 1) {
        const timeToLiveSeconds = index % 5 === 0 ? 100 : 10;
        await service.putMessage(account, queue, message(String(index), { timeToLiveSeconds }));
      }
      await service.getMessages(account, queue, { count: 32, visibilitySeconds: 50 });
      clock.advanceMicros(10 * second);
      assert.equal((await service.getQueue(account, queue)).approximateMessageCount, 50);
      let deleted = 0;
      for (let steps = 1; ; steps += 1) {
        const step = await service.reclaim({ entriesMax: 60 });
        assert.ok(step.deleted <= 60, `one step deleted ${step.deleted}`);
        deleted += step.deleted;
        assert.equal((await service.getQueue(account, queue)).approximateMessageCount, 50);
        if (!step.more) break;
        assert.ok(steps < 20, 'there is no end of it');
      }
      assert.equal(deleted, 3 * 200, 'a text, a state and an expiry of each');
      clock.advanceMicros(40 * second);
      assert.equal((await peekAll(service)).length, 50);
      clock.advanceMicros(50 * second);
      while ((await service.reclaim({ entriesMax: 1000 })).more);
      assert.equal((await peekAll(service)).length, 0);
    });

    it('in large number are looked at once, not by every request', costly(), async (t) => {
      let seen = 0;
      const wrap = (store: Store): Store => ({
        ...counting().wrap(store),
        range: (range, { filter, ...options }) =>
          store.range(range, {
            ...options,
            ...(filter && {
              filter(candidate) {
                seen += 1;
                return filter(candidate);
              },
            }),
          }),
      });
      const { service, clock } = await openQueues(engine, t, { wrap });
      for (let index = 0; index < 1000; index += 1) {
        await service.putMessage(account, queue, message('old', { timeToLiveSeconds: 1 }));
      }
      clock.advanceMicros(60 * second);
      const texts = await fill(service, 40);
      seen = 0;
      const got: string[] = [];
      for (let round = 0; round < 10; round += 1) {
        const options = { count: 4, visibilitySeconds: 60 };
        got.push(...textsOf(await service.getMessages(account, queue, options)));
        await service.peekMessages(account, queue, 1);
      }
      assert.deepEqual(got, texts);
      assert.ok(seen < 3000, `${seen} entries were looked at`);
    });

    it('in front of others are read in bounded parts, by peeks and by gets', async (t) => {
      const looks: number[] = [];
      const wrap = (store: Store): Store => ({
        ...counting().wrap(store),
        range(range, { filter, ...options }) {
          if (filter === undefined) return store.range(range, options);
          const read = looks.push(0) - 1;
          return store.range(range, {
            ...options,
            filter(candidate) {
              const decision = filter(candidate);
              if (decision !== 'stop') looks[read] = (looks[read] ?? 0) + 1;
              return decision;
            },
          });
        },
      });
      const { service, other, clock } = await openQueues(engine, t, { wrap });
      const expired = 2 * candidatesPerRead + 50;
      await fillShortLived(service, expired);
      clock.advanceMicros(60 * second);
      const texts = await fill(service, 5);
      const options = { count: 2, visibilitySeconds: 60 };
      // A new service has no record of a run of expired messages.
      const searches = [
        async () => textsOf(await other().peekMessages(account, queue, 2)),
        async () => textsOf(await other().getMessages(account, queue, options)),
      ];
      for (const search of searches) {
        looks.length = 0;
        assert.deepEqual(await search(), texts.slice(0, 2));
        assert.ok(Math.max(...looks) <= candidatesPerRead, `reads of ${looks.join()} entries`);
        const all = looks.reduce((sum, each) => sum + each, 0);
        assert.ok(all > expired, `${all} entries were looked at`);
      }
    });

    for (const operation of ['peek', 'get'] as const) {
      it(`do not make two of a message that moves past them during a ${operation}`, async (t) => {
        let searches = 0;
        let move = (): Promise<unknown> => Promise.resolve();
        const wrap = (store: Store): Store => ({
          ...counting().wrap(store),
          async range(range, options) {
            searches += options.filter === undefined ? 0 : 1;
            if (searches === 2) await move();
            return store.range(range, options);
          },
        });
        const { service, store, clock } = await openQueues(engine, t, { wrap });
        await service.putMessage(account, queue, message('moved'));
        const hidden = { count: 1, visibilitySeconds: 1 };
        const [taken] = await service.getMessages(account, queue, hidden);
        invariant(taken !== undefined, 'the message is visible');
        // The clock of another machine is a little behind, so its now is in the past here.
        const behind = new QueueService({
          store: withPartitionRule(store),
          clock: forwardClock(manualClock(clock.nowMicros() + 2.8 * second)),
          randomness: systemRandomness,
        });
        clock.advanceMicros(1.5 * second);
        await fillShortLived(service, candidatesPerRead + 50);
        clock.advanceMicros(1.5 * second);
        const moves: Promise<unknown>[] = [];
        move = async () => {
          if (moves.length > 0) return;
          moves.push(behind.updateMessage(account, queue, { ...taken, visibilitySeconds: 0 }));
          await moves[0];
        };
        searches = 0;
        const found = await (operation === 'peek'
          ? service.peekMessages(account, queue, 5)
          : service.getMessages(account, queue, { count: 5, visibilitySeconds: 60 }));
        assert.deepEqual(textsOf(found), ['moved']);
        assert.equal(moves.length, 1);
      });
    }

    it('leave nothing behind', async (t) => {
      const { service, store, clock } = await openQueues(engine, t);
      const everything = { start: new Uint8Array() };
      const entries = async () =>
        (await store.range(everything, { limit: 10_000, bytesMax: 1e9 })).entries.length;
      const before = await entries();
      for (let index = 0; index < 20; index += 1) {
        await service.putMessage(account, queue, message('x', { timeToLiveSeconds: 20 }));
      }
      await service.getMessages(account, queue, { count: 10, visibilitySeconds: 5 });
      clock.advanceMicros(20 * second);
      while ((await service.reclaim({ entriesMax: 7 })).more);
      // Only the counter of queue ids was added.
      assert.equal(await entries(), before + 1);
      await service.deleteQueue(account, queue);
      clock.advanceMicros(3600 * second);
      for (let step = 0; step < 5; step += 1) await service.reclaim({ entriesMax: 7 });
      assert.equal(await entries(), 1, 'only the counter of queue ids is left');
    });

    it('of every queue get their turn, however much one queue has', async (t) => {
      const { service, clock } = await openQueues(engine, t);
      await service.createQueue(account, 'zz-last', []);
      for (const [name, total] of [
        [queue, 100],
        ['zz-last', 1],
      ] as const) {
        for (let index = 0; index < total; index += 1) {
          await service.putMessage(account, name, message('x', { timeToLiveSeconds: 1 }));
        }
      }
      clock.advanceMicros(second);
      const first = await service.reclaim({ entriesMax: 10 });
      const next = await service.reclaim({ entriesMax: 10 });
      const entries = 3;
      assert.ok(first.deleted >= 10 && first.deleted < 10 + entries, `${first.deleted} entries`);
      // One of the others before, the one of the last queue, and one of the others after it.
      assert.deepEqual([next.deleted, next.more], [3 * entries, true]);
    });
  });
}
