import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../../src/app/index.js';
import { byLength, costly } from '../../support/run-length.js';
import { startDurableServer, startServer, type StartedServer } from '../../support/start-server.js';
import { assertQueueError } from '../kit/errors.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { QueueMessage } from '../kit/queue-xml.js';
import type { WireResponse } from '../kit/response.js';

// Several consumers over HTTP, each with its own connection, on both engines. The clock stands
// still unless a test advances it, so that no timeout can make a message visible twice.

/** Beyond the end of every test. */
const hidden = { visibilitytimeout: 604_800 };
const rounds = byLength({ short: 25, long: 200 });
const messageNotFound = { status: 404, code: 'MessageNotFound' } as const;
const epochMicros = Date.UTC(2024, 2, 1, 12) * 1000;

interface Race extends AsyncDisposable {
  readonly clients: readonly QueueWireClient[];
  /** The first client, for steps without concurrency. */
  readonly queues: QueueWireClient;
  readonly wait: (seconds: number) => void;
}

async function startRace(
  started: Promise<StartedServer>,
  count: number,
  wait: Race['wait'],
  now: () => Date,
): Promise<Race> {
  const own = await started;
  const clients = Array.from(
    { length: count },
    () => new QueueWireClient(own.server.queuePort, { now }),
  );
  const queues = new QueueWireClient(own.server.queuePort, { now });
  return {
    clients,
    queues,
    wait,
    async [Symbol.asyncDispose]() {
      for (const client of [queues, ...clients]) client.close();
      await own[Symbol.asyncDispose]();
      assert.deepEqual(own.errors, [], 'the server logged errors');
    },
  };
}

const engines = {
  memory: startServer,
  lmdb: startDurableServer,
} as const;

for (const [engine, start] of Object.entries(engines)) {
  const race = (count: number): Promise<Race> => {
    const clock = manualClock(epochMicros);
    const started = start({ clock, ...(engine === 'lmdb' ? { durability: 'relaxed' } : {}) });
    const now = () => new Date(clock.nowMicros() / 1000);
    return startRace(started, count, (seconds) => clock.advanceMicros(seconds * 1_000_000), now);
  };

  describe(`races for messages (${engine})`, () => {
    it(
      'of two consumers exactly one gets a message, and the other when its time has passed',
      costly(),
      async () => {
        await using round = await race(2);
        const { clients, queues, wait } = round;
        const queue = await queues.newQueue();
        for (let count = 0; count < rounds; count += 1) {
          const sent = await queues.put(queue, String(count));
          const got = await Promise.all(
            clients.map((client) => client.get(queue, { visibilitytimeout: 10 })),
          );
          const [first, ...others] = got.flat();
          assert.ok(first !== undefined && others.length === 0, `${got.flat().length} got it`);
          assert.equal(first.MessageId, sent.MessageId);
          wait(10);
          const second = await queues.getOne(queue, { visibilitytimeout: 10 });
          assert.equal(second.MessageId, sent.MessageId);
          assert.equal(second.DequeueCount, '2');
          assertQueueError(await queues.update(queue, first, { visibility: 60 }), messageNotFound);
          assertQueueError(await queues.delete(queue, first), messageNotFound);
          assert.equal((await queues.delete(queue, second)).status, 204);
          assertQueueError(await queues.delete(queue, second), messageNotFound);
        }
        assert.equal(await queues.count(queue), 0);
      },
    );

    it('of many deletions of one message exactly one is told that it did it', async () => {
      await using round = await race(8);
      const { clients, queues } = round;
      const queue = await queues.newQueue();
      for (let count = 0; count < 20; count += 1) {
        const sent = await queues.put(queue, 'x');
        const answers = await Promise.all(clients.map((client) => client.delete(queue, sent)));
        const statuses = answers
          .map(({ status }) => status)
          .toSorted((left, right) => left - right);
        assert.deepEqual(statuses, [204, 404, 404, 404, 404, 404, 404, 404]);
      }
      assert.equal(await queues.count(queue), 0);
    });

    it(
      'of many updates with one receipt exactly one is done, and its text stays',
      costly(),
      async () => {
        await using round = await race(8);
        const { clients, queues } = round;
        const queue = await queues.newQueue();
        for (let count = 0; count < 20; count += 1) {
          const sent = await queues.put(queue, 'before');
          const answers = await Promise.all(
            clients.map((client, index) => client.update(queue, sent, { text: `by ${index}` })),
          );
          const winner = answers.findIndex(({ status }) => status === 204);
          assert.deepEqual(
            answers.map(({ status }) => status),
            answers.map((_, index) => (index === winner ? 204 : 404)),
          );
          assert.deepEqual(await queues.texts(queue), [`by ${winner}`]);
          const PopReceipt = answers[winner]?.header('x-ms-popreceipt') ?? '';
          assert.equal((await queues.delete(queue, { ...sent, PopReceipt })).status, 204);
        }
      },
    );

    it('a late renewal and the next get never both have the message', costly(), async () => {
      await using round = await race(2);
      const { clients, queues, wait } = round;
      const [late, next] = clients;
      assert.ok(late !== undefined && next !== undefined);
      const queue = await queues.newQueue();
      const outcomes = new Set<string>();
      for (let count = 0; count < rounds; count += 1) {
        await queues.put(queue, 'x');
        const held = await queues.getOne(queue, { visibilitytimeout: 5 });
        wait(5);
        const renew = () => late.update(queue, held, { visibility: 60 });
        const get = () => next.get(queue);
        const [renewed, got]: readonly [WireResponse, readonly QueueMessage[]] =
          count % 2 === 0
            ? await Promise.all([renew(), get()])
            : await Promise.all([get(), renew()]).then(
                ([taken, answer]) => [answer, taken] as const,
              );
        outcomes.add(`${renewed.status} ${got.length}`);
        await queues.expect(204, { method: 'DELETE', path: `/${queue}/messages` });
      }
      for (const outcome of outcomes) assert.match(outcome, /^(204 0|404 1)$/);
    });

    it('a deletion and the next get never both have the message', costly(), async () => {
      await using round = await race(2);
      const { clients, queues, wait } = round;
      const [late, next] = clients;
      assert.ok(late !== undefined && next !== undefined);
      const queue = await queues.newQueue();
      for (let count = 0; count < rounds; count += 1) {
        await queues.put(queue, 'x');
        const held = await queues.getOne(queue, { visibilitytimeout: 5 });
        wait(5);
        const deletion = late.delete(queue, held);
        const got: QueueMessage[] = await next.get(queue);
        const deleted = await deletion;
        assert.match(`${deleted.status} ${got.length}`, /^(204 0|404 1)$/);
        assert.equal(await queues.count(queue), got.length);
        for (const message of got) await queues.delete(queue, message);
      }
    });

    it(
      '32 consumers of many messages get each exactly once, roughly in the order of puts',
      costly(),
      async (t) => {
        const consumers = 32;
        const messages = byLength({ short: 300, long: 2000 });
        await using round = await race(consumers);
        const { clients, queues } = round;
        const queue = await queues.newQueue();
        for (let index = 0; index < messages; index += 1) await queues.put(queue, String(index));
        const delivered: number[] = [];
        const consume = async (client: QueueWireClient): Promise<void> => {
          for (;;) {
            const got: QueueMessage[] = await client.get(queue, hidden);
            if (got.length === 0) return;
            delivered.push(...got.map(({ MessageText }) => Number(MessageText)));
          }
        };
        await Promise.all(clients.map(consume));
        assert.deepEqual(
          delivered.toSorted((left, right) => left - right),
          Array.from({ length: messages }, (_, index) => index),
        );
        const places = delivered.map((index, place) => Math.abs(index - place));
        const farthest = Math.max(...places);
        t.diagnostic(`farthest from its place: ${farthest}`);
        // Each consumer processes one message at a time; a delivery is recorded when its response
        // arrives.
        assert.ok(farthest <= 4 * consumers, `a message came ${farthest} places from its own`);
      },
    );

    it('producers and consumers at once lose nothing and repeat nothing', costly(), async () => {
      const consumers = 12;
      const producers = 12;
      const perProducer = byLength({ short: 25, long: 100 });
      await using round = await race(consumers + producers);
      const { clients, queues } = round;
      const queue = await queues.newQueue();
      const sent: string[] = [];
      const seen: string[] = [];
      const refused: QueueMessage[] = [];
      let running = producers;
      const produce = async (client: QueueWireClient, producer: number): Promise<void> => {
        for (let index = 0; index < perProducer; index += 1) {
          const text = `${producer}-${index}`;
          await client.put(queue, text);
          sent.push(text);
        }
        running -= 1;
      };
      const consume = async (client: QueueWireClient): Promise<void> => {
        for (;;) {
          const isLast = running === 0;
          const got: QueueMessage[] = await client.get(queue, { numofmessages: 8, ...hidden });
          if (got.length === 0 && isLast) return;
          for (const message of got) {
            seen.push(message.MessageText ?? '');
            if ((await client.delete(queue, message)).status !== 204) refused.push(message);
          }
        }
      };
      await Promise.all([
        ...clients.slice(0, producers).map(produce),
        ...clients.slice(producers).map(consume),
      ]);
      assert.deepEqual(refused, [], 'every deletion within the timeout is done');
      assert.deepEqual(seen.toSorted(), sent.toSorted());
      assert.equal(seen.length, producers * perProducer);
      assert.equal(await queues.count(queue), 0);
    });
  });
}
