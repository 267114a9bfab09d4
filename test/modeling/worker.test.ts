import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QueueClient } from '@azure/storage-queue';
import * as fc from 'fast-check';
import type { StandardSchema } from '../../src/modeling/index.js';
import { handle, type HandlerContext } from '../../src/modeling/worker/handler.js';
import { defineMessage } from '../../src/modeling/worker/message-type.js';
import { workerMetrics } from '../../src/modeling/worker/metrics.js';
import type { QueuePort } from '../../src/modeling/worker/queue-port.js';
import { redrive } from '../../src/modeling/worker/redrive.js';
import { sendMessage } from '../../src/modeling/worker/send.js';
import {
  queueWorkerOf,
  type QueueWorker,
  type WorkerOptions,
} from '../../src/modeling/worker/worker.js';
import type { DeliveryEvent, WorkerEvent } from '../../src/modeling/worker/worker-event.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { impatientTimers } from './support/impatient-timers.js';
import { messageCount, startQueueWorld, until, visibleEnvelopes } from './support/queue-world.js';
import { costly } from '../support/run-length.js';
import { deferred } from '../../src/base/async/deferred.js';

// The worker over real queues. The clock stands still until a test advances it.

const world = await startQueueWorld();
const { time } = world;

const wholeNumber: StandardSchema<{ readonly n: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const { n } = Object(value) as { readonly n?: unknown };
      if (typeof n !== 'number') return { issues: [{ message: 'is no number', path: ['n'] }] };
      return { value: { n } };
    },
  },
};
const Count = defineMessage('count', { payload: wholeNumber });

interface Work {
  readonly queue: QueueClient;
  readonly poison: QueueClient;
  readonly events: WorkerEvent[];
  readonly worker: (run: Run, options?: Partial<WorkerOptions>) => QueueWorker;
}

type Run = (payload: { readonly n: number }, context: HandlerContext) => Promise<void>;

async function newWork(): Promise<Work> {
  const { queue, poison } = await world.newSource();
  const events: WorkerEvent[] = [];
  return {
    queue,
    poison,
    events,
    worker: (run, options) =>
      queueWorkerOf({
        sources: [{ queue, poison }],
        handlers: [handle(Count, run)],
        clock: time.clock,
        timers: time,
        observer: (event) => events.push(event),
        ...options,
      }),
  };
}

const done = () => Promise.resolve();
const kindsOf = (events: readonly WorkerEvent[]) => events.map(({ kind }) => kind);

function isDelivery(event: WorkerEvent): event is DeliveryEvent {
  return event.kind !== 'renewed' && event.kind !== 'retried';
}

/** A promise that a test resolves. */
function gate() {
  const { promise: opened, resolve: open } = deferred();
  return { open: () => open(), opened };
}

/** A message that others have put, which may expire. */
const countText = JSON.stringify({ v: 1, type: 'count', version: 1, id: 'y', payload: { n: 1 } });

/** A handler that waits until it is opened, and its signal once it runs. */
function waitingRun() {
  const { open, opened } = gate();
  const { promise: running, resolve: started } = deferred<AbortSignal>();
  const run: Run = (_payload, { signal }) => {
    started(signal);
    return opened;
  };
  return { run, running, open };
}

describe('a worker', () => {
  it('hands every message to its handler and deletes it', async () => {
    const { queue, worker, events } = await newWork();
    for (let n = 0; n < 40; n += 1) await sendMessage(queue, Count, { n }, { id: `id ${n}` });
    await time.pass(3000);
    const seen: string[] = [];
    const report = await worker(async ({ n }, { id, dequeueCount }) => {
      seen.push(`${n} ${id} ${dequeueCount}`);
      await Promise.resolve();
    }).drain();
    const expected = Array.from({ length: 40 }, (_, n) => `${n} id ${n} 1`);
    assert.deepEqual(seen.toSorted(), expected.toSorted());
    assert.deepEqual(report, { handled: 40, failed: 0, poisoned: 0, released: 0, lost: 0 });
    assert.equal(await messageCount(queue), 0);
    for (const event of events.filter(isDelivery)) {
      assert.ok(event.ageMs >= 3000 && event.ageMs < 4001, `age ${event.ageMs}`);
    }
  });

  it('never has more messages in work than its concurrency', async () => {
    const { queue, worker } = await newWork();
    for (let n = 0; n < 20; n += 1) await sendMessage(queue, Count, { n });
    let running = 0;
    let most = 0;
    await worker(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
      { concurrency: 3 },
    ).drain();
    assert.equal(most, 3);
  });

  it('serves several queues, and drains what handlers put', async () => {
    const first = await newWork();
    const second = await newWork();
    await sendMessage(first.queue, Count, { n: 5 });
    const seen: string[] = [];
    const worker = first.worker(
      async ({ n }, context) => {
        seen.push(`${context.queue === first.queue.name ? 'first' : 'second'} ${n}`);
        const other = context.queue === first.queue.name ? second.queue : first.queue;
        if (n > 0) await sendMessage(other, Count, { n: n - 1 });
      },
      { sources: [first, second], concurrency: 1 },
    );
    const { handled } = await worker.drain();
    assert.equal(handled, 6);
    assert.deepEqual(seen.slice(0, 3), ['first 5', 'second 4', 'first 3']);
  });

  it('reads messages in base64, and writes its own so when asked', async () => {
    const { queue, poison, worker } = await newWork();
    await sendMessage(queue, Count, { n: 1 }, { encoding: 'base64' });
    const [text = ''] = (await queue.peekMessages()).peekedMessageItems.map((m) => m.messageText);
    assert.match(text, /^[A-Za-z0-9+/]+=*$/);
    await worker(() => Promise.reject(new Error('no')), {
      dequeueMax: 1,
      encoding: 'base64',
    }).drain();
    assert.match((await poison.peekMessages()).peekedMessageItems[0]?.messageText ?? '', /^eyJ/);
    assert.equal((await visibleEnvelopes(poison))[0]?.poison?.error, 'no');
  });

  it('refuses payloads before they are sent', async () => {
    const { queue } = await newWork();
    const wrong = { n: 'seven' } as never;
    await assert.rejects(sendMessage(queue, Count, wrong), /n: is no number/);
    assert.equal(await messageCount(queue), 0);
  });

  it('puts messages that never expire', async () => {
    const { queue, poison, worker } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    await time.pass(400 * 86_400_000);
    await worker(() => Promise.reject(new Error('no')), { dequeueMax: 1 }).drain();
    await time.pass(400 * 86_400_000);
    assert.equal((await visibleEnvelopes(poison)).length, 1);
  });
});

describe('a message that fails', () => {
  it('comes again after a back-off that grows, then goes to the poison queue', async () => {
    const { queue, poison, worker, events } = await newWork();
    const { id } = await sendMessage(queue, Count, { n: 7 });
    const failing = worker(() => Promise.reject(new Error('out of paper')), { dequeueMax: 4 });
    for (let round = 0; round < 5; round += 1) {
      await failing.drain();
      const event = events.at(-1);
      if (event?.kind !== 'failed') continue;
      assert.ok(event.delaySeconds >= 2 ** round / 2 && event.delaySeconds <= 2 ** round);
      await time.pass(event.delaySeconds * 1000 - 1);
      assert.deepEqual(await visibleEnvelopes(queue), []);
      await time.pass(1);
    }
    assert.deepEqual(kindsOf(events), ['failed', 'failed', 'failed', 'poisoned']);
    assert.equal(await messageCount(queue), 0);
    const [poisoned] = await visibleEnvelopes(poison);
    assert.deepEqual(poisoned, {
      type: 'count',
      version: 1,
      id,
      payload: { n: 7 },
      uncounted: 0,
      poison: { reason: 'failed', error: 'out of paper', queue: queue.name, deliveries: 4 },
    });
  });

  it('is not counted against it when the failure passes by itself', async () => {
    const { queue, poison, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 7 });
    const busy = Object.assign(new Error('busy'), { statusCode: 503 });
    let error = busy;
    const failing = worker(() => Promise.reject(error), { dequeueMax: 2, transientMax: 6 });
    for (let round = 0; round < 4; round += 1) {
      await failing.drain();
      await time.pass(300_000);
    }
    assert.deepEqual(kindsOf(events), ['failed', 'failed', 'failed', 'failed']);
    error = Object.assign(new Error('wrong'), { statusCode: 400 });
    for (let round = 0; round < 2; round += 1) {
      await failing.drain();
      await time.pass(300_000);
    }
    assert.deepEqual(kindsOf(events).slice(4), ['failed', 'poisoned']);
    assert.equal((await visibleEnvelopes(poison)).length, 1);
  });

  it('is poisoned at last, however often its failures pass by themselves', async () => {
    const { queue, poison, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 7 });
    const busy = Object.assign(new Error('busy'), { statusCode: 503 });
    const failing = worker(() => Promise.reject(busy), { dequeueMax: 2, transientMax: 3 });
    for (let round = 0; round < 8; round += 1) {
      await failing.drain();
      await time.pass(300_000);
    }
    assert.equal(events.length, 5);
    assert.equal((await visibleEnvelopes(poison)).length, 1);
  });

  it('is poisoned without being handled when no delivery came to an end', async () => {
    const { queue, poison, worker } = await newWork();
    await sendMessage(queue, Count, { n: 7 });
    for (let crash = 0; crash < 3; crash += 1) {
      await queue.receiveMessages({ visibilityTimeout: 1 });
      await time.pass(1000);
    }
    let handled = 0;
    const counting = () => {
      handled += 1;
      return done();
    };
    const { poisoned } = await worker(counting, { dequeueMax: 3 }).drain();
    assert.deepEqual({ poisoned, handled }, { poisoned: 1, handled: 0 });
    assert.match((await visibleEnvelopes(poison))[0]?.poison?.error ?? '', /4 deliveries, none/);
  });

  it('can be sent back from the poison queue, fresh', costly(), async () => {
    const { queue, poison, worker } = await newWork();
    for (let n = 0; n < 35; n += 1) await sendMessage(queue, Count, { n });
    await worker(() => Promise.reject(new Error('no')), { dequeueMax: 1 }).drain();
    await poison.sendMessage('malformed');
    assert.equal(await redrive(poison, queue, { max: 30 }), 30);
    assert.equal(await redrive(poison, queue, { max: 30 }), 6);
    assert.equal(await messageCount(poison), 0);
    const { handled, poisoned } = await worker(done).drain();
    assert.deepEqual({ handled, poisoned }, { handled: 35, poisoned: 1 });
  });

  it('is sent back with all others though the answer to its delete is lost', async () => {
    const { queue, poison } = await newWork();
    for (let n = 0; n < 3; n += 1) await sendMessage(poison, Count, { n });
    const repeating = portWith(poison, {
      deleteMessage: async (...given) => {
        await poison.deleteMessage(...given);
        return poison.deleteMessage(...given);
      },
    });
    assert.equal(await redrive(repeating, queue, { max: 10 }), 3);
    assert.equal(await messageCount(poison), 0);
    assert.equal(await messageCount(queue), 3);
    const gone = portWith(poison, {
      deleteMessage: async (...given) => {
        await poison.delete();
        return poison.deleteMessage(...given);
      },
    });
    await sendMessage(poison, Count, { n: 3 });
    await assert.rejects(redrive(gone, queue, { max: 10 }), { code: 'QueueNotFound' });
  });

  it('stops nothing though it expires before its back-off ends', async () => {
    const { queue, worker, events } = await newWork();
    const other = JSON.stringify({ v: 1, type: 'other', version: 1, id: 'x', payload: 1 });
    for (const text of [other, countText]) await queue.sendMessage(text, { messageTimeToLive: 1 });
    await sendMessage(queue, Count, { n: 2 });
    const failing = worker(({ n }) => (n === 1 ? Promise.reject(new Error('no')) : done()), {
      failureBackOffSeconds: { first: 30, last: 30 },
    });
    const { lost, handled } = await failing.drain();
    assert.deepEqual({ lost, handled }, { lost: 2, handled: 1 });
    const errors = events.flatMap((event) => (event.kind === 'lost' ? [String(event.error)] : []));
    assert.match(errors.join(), /no handler for 'other'/);
    await time.pass(60_000);
    assert.equal(await messageCount(queue), 0);
  });

  it('stops nothing though it is nested deeper than can be written again', async () => {
    const { queue, poison, worker } = await newWork();
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    await queue.sendMessage(`{"v":1,"type":"other","version":1,"id":"x","payload":${deep}}`);
    await sendMessage(queue, Count, { n: 1 });
    const { handled, poisoned } = await worker(done).drain();
    assert.deepEqual({ handled, poisoned }, { handled: 1, poisoned: 1 });
    assert.equal(await redrive(poison, queue, { max: 10 }), 1);
    const payload: StandardSchema = {
      '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
    };
    const Any = defineMessage('any', { payload });
    const nested: unknown = JSON.parse('['.repeat(600) + ']'.repeat(600));
    const refusal = { name: 'ValueError', message: /nested more than 500 levels/ };
    await assert.rejects(sendMessage(queue, Any, nested), refusal);
  });

  it('waits for a worker that knows its type or version', async () => {
    const { queue, worker, events } = await newWork();
    const payload = wholeNumber;
    const upgrades = { 1: (old: unknown) => ({ n: (old as { n: number }).n * 10 }) };
    const Newer = defineMessage('count', { payload, version: 2, upgrades });
    await sendMessage(queue, Newer, { n: 1 });
    await sendMessage(queue, defineMessage('other', { payload }), { n: 2 });
    await sendMessage(queue, Count, { n: 3 });
    await worker(done).drain();
    assert.deepEqual(kindsOf(events).toSorted(), ['failed', 'failed', 'handled']);
    await sendMessage(queue, Count, { n: 4 });
    await time.pass(300_000);
    const seen: number[] = [];
    const newer = handle(Newer, async ({ n }) => {
      seen.push(n);
      await Promise.resolve();
    });
    await worker(done, { handlers: [newer] }).drain();
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      [1, 40],
    );
  });

  it('waits however often workers that do not know it get it, and is then as new', async () => {
    const { queue, poison, worker, events } = await newWork();
    const payload = wholeNumber;
    const upgrades = { 1: (old: unknown) => old as { n: number } };
    const Newer = defineMessage('count', { payload, version: 2, upgrades });
    const Other = defineMessage('other', { payload });
    await sendMessage(queue, Newer, { n: 1 });
    await sendMessage(queue, Other, { n: 2 });
    const older = worker(done, { dequeueMax: 2 });
    for (let round = 0; round < 4; round += 1) {
      await older.drain();
      await time.pass(300_000);
    }
    assert.deepEqual(new Set(kindsOf(events)), new Set(['failed']));
    assert.equal(events.length, 8);
    assert.equal(await messageCount(poison), 0);
    let runs = 0;
    const failing = () => Promise.reject(new Error(`run ${(runs += 1)}`));
    const newer = worker(done, {
      dequeueMax: 2,
      handlers: [handle(Newer, done), handle(Other, failing)],
    });
    const first = await newer.drain();
    assert.deepEqual({ handled: first.handled, failed: first.failed }, { handled: 1, failed: 1 });
    await time.pass(300_000);
    assert.equal((await newer.drain()).poisoned, 1);
    assert.equal(runs, 2);
  });
});

describe('a message that nobody can read', () => {
  it(
    'goes to the poison queue at once, whatever it is, and is never handled',
    costly(),
    async () => {
      const { queue, poison, worker } = await newWork();
      let handled = 0;
      const counting = worker(() => {
        handled += 1;
        return done();
      });
      const printable = fc
        .string({ unit: 'grapheme' })
        .filter((text) => !/[\ufffe\uffff]/.test(text));
      const wrongPayload = fc
        .jsonValue()
        .filter(
          (payload) => Object(wholeNumber['~standard'].validate(payload)).issues !== undefined,
        )
        .map((payload) => JSON.stringify({ v: 1, type: 'count', version: 1, id: 'x', payload }));
      await fc.assert(
        fc.asyncProperty(fc.oneof(printable, fc.json(), wrongPayload), async (text) => {
          await queue.sendMessage(text);
          const { poisoned } = await counting.drain();
          assert.equal(poisoned, 1);
          assert.equal(await messageCount(queue), 0);
          const [message] = (await poison.receiveMessages()).receivedMessageItems;
          const kept = JSON.parse(message?.messageText ?? '') as { readonly poison?: object };
          assert.equal(Object(kept.poison).reason, 'malformed');
          await poison.clearMessages();
        }),
        { numRuns: 20 },
      );
      assert.equal(handled, 0);
    },
  );
});

describe('a handler that is slow', () => {
  it('keeps its message as long as it runs', async () => {
    const { queue, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    const { open, opened } = gate();
    let started = 0;
    const slow = worker(
      () => {
        started += 1;
        return opened;
      },
      { visibilitySeconds: 30 },
    );
    const draining = slow.drain();
    await until(() => started === 1);
    for (let renewals = 1; renewals <= 6; renewals += 1) {
      await time.pass(15_000);
      await until(() => events.length === renewals);
      assert.deepEqual((await queue.receiveMessages()).receivedMessageItems, []);
    }
    open();
    assert.equal((await draining).handled, 1);
    assert.equal(await messageCount(queue), 0);
    assert.deepEqual(time.waiting, []);
    assert.ok(events.every((event) => event.kind !== 'renewed' || event.error === undefined));
  });

  it('is told when its message was lost, and the message is handled again', async () => {
    const { queue, poison, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    // The renewal is applied, but the response with the new receipt is lost.
    const forgetful = portWith(queue, {
      updateMessage: async (...given) => {
        await queue.updateMessage(...given);
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      },
    });
    let aborted: unknown;
    const first = worker(
      (_payload, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted = signal.reason;
            reject(signal.reason);
          });
        }),
      { sources: [{ queue: forgetful, poison }] },
    );
    const draining = first.drain();
    await until(() => time.waiting.length > 0);
    await time.pass(30_000);
    await until(() => events.length === 1);
    await time.pass(6000);
    await until(() => events.length >= 2);
    assert.match(String(aborted), /LeaseLostError.*refused to renew/);
    assert.equal((await draining).lost, 1);
    await time.pass(60_000);
    assert.equal((await worker(done).drain()).handled, 1);
  });

  it('loses its message when nothing renews it in time', async () => {
    const { queue, poison, worker } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    const unreachable = portWith(queue, {
      updateMessage: () => new Promise<never>(() => undefined),
    });
    const { open, opened } = gate();
    let signal: AbortSignal | undefined;
    const slow = worker(
      (_payload, context) => {
        signal = context.signal;
        return opened;
      },
      { sources: [{ queue: unreachable, poison }] },
    );
    const draining = slow.drain();
    await until(() => time.waiting.length > 0);
    await time.pass(59_999);
    assert.equal(signal?.aborted, false);
    await time.pass(1);
    assert.equal(signal?.aborted, true);
    open();
    const { lost, handled } = await draining;
    assert.deepEqual({ lost, handled }, { lost: 1, handled: 1 });
  });

  it('is not told to stop when its message expires hidden: nobody else gets it', async () => {
    for (const lifeSeconds of [20, 50]) {
      const { queue, worker, events } = await newWork();
      await queue.sendMessage(countText, { messageTimeToLive: lifeSeconds });
      const { run, running, open } = waitingRun();
      const draining = worker(run).drain();
      const signal = await running;
      await time.pass(70_000);
      assert.equal(signal.aborted, false);
      open();
      // It can no longer be deleted.
      assert.equal((await draining).lost, 1);
      assert.deepEqual(kindsOf(events), ['lost']);
      assert.deepEqual(time.waiting, []);
    }
  });

  it('leaves no poisoned copy of a message that expired while it ran', async () => {
    const { queue, poison, worker, events } = await newWork();
    await queue.sendMessage(countText, { messageTimeToLive: 20 });
    const { run, running, open } = waitingRun();
    const failing: Run = async (payload, context) => {
      await run(payload, context);
      throw new Error('no use');
    };
    const draining = worker(failing, { dequeueMax: 1 }).drain();
    await running;
    await time.pass(70_000);
    open();
    const { lost, poisoned } = await draining;
    assert.deepEqual({ lost, poisoned }, { lost: 1, poisoned: 0 });
    assert.deepEqual(kindsOf(events), ['lost']);
    assert.equal(await messageCount(poison), 0);
  });

  it('keeps a message that expires soon for as long as it lives, to the second', async () => {
    const { queue, worker, events } = await newWork();
    await queue.sendMessage(countText, { messageTimeToLive: 90 });
    const { run, running, open } = waitingRun();
    const draining = worker(run).drain();
    const signal = await running;
    await time.pass(30_000);
    await until(() => events.length === 1);
    await time.pass(58_999);
    assert.deepEqual((await queue.receiveMessages()).receivedMessageItems, []);
    assert.equal(signal.aborted, false);
    await time.pass(1);
    assert.equal(signal.aborted, true);
    await time.pass(1000);
    open();
    assert.equal((await draining).lost, 1);
    assert.deepEqual(kindsOf(events), ['renewed', 'lost']);
    assert.deepEqual(time.waiting, []);
  });

  it('has its term to the end when the message may not be hidden for another one', async () => {
    const { queue, poison, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    const beyond = { statusCode: 400, code: 'InvalidQueryParameterValue' };
    const refusing = portWith(queue, {
      updateMessage: () => Promise.reject(Object.assign(new Error('beyond expiry'), beyond)),
    });
    const { run, running, open } = waitingRun();
    const draining = worker(run, { sources: [{ queue: refusing, poison }] }).drain();
    const signal = await running;
    await time.pass(59_999);
    assert.equal(signal.aborted, false);
    const [renewal] = events;
    assert.match(String(renewal?.kind === 'renewed' && renewal.error), /beyond expiry/);
    await time.pass(1);
    assert.equal(signal.aborted, true);
    open();
    const { lost } = await draining;
    assert.equal(lost, 1);
  });
});

describe('requests of a worker', () => {
  it('that fail for a moment are sent again, and what was applied is not taken for a loss', async () => {
    const { queue, poison, worker, events } = await newWork();
    for (let n = 0; n < 6; n += 1) await sendMessage(queue, Count, { n });
    let calls = 0;
    const unanswered = async <T>(request: Promise<T>): Promise<T> => {
      const answer = await request;
      calls += 1;
      if (calls % 2 === 1) return answer;
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    };
    const flaky = portWith(queue, {
      deleteMessage: (...given) => unanswered(queue.deleteMessage(...given)),
      updateMessage: (...given) => unanswered(queue.updateMessage(...given)),
    });
    const failing = worker(({ n }) => (n % 2 === 0 ? done() : Promise.reject(new Error('odd'))), {
      sources: [{ queue: flaky, poison }],
      concurrency: 1,
      // Longer than the time that passes while a busy machine drains.
      failureBackOffSeconds: { first: 3600, last: 3600 },
      randomness: { bytes: (count) => new Uint8Array(count), uuid: () => '' },
    });
    const draining = failing.drain();
    let isDrained = false;
    void draining.then(() => (isDrained = true));
    await until(async () => {
      await time.pass(100);
      return isDrained;
    });
    const { handled, failed, lost } = await draining;
    assert.deepEqual({ handled, failed, lost }, { handled: 3, failed: 3, lost: 0 });
    assert.ok(kindsOf(events).includes('retried'));
  });

  it('that are refused stop it with the refusal, and its messages stay', async () => {
    const { queue, poison, worker } = await newWork();
    await queue.sendMessage('malformed');
    await poison.delete();
    await assert.rejects(worker(done).drain(), /QueueNotFound|queue does not exist/);
    await time.pass(60_000);
    assert.equal(await messageCount(queue), 1);
    const gone = portWith(queue, { receiveMessages: (options) => poison.receiveMessages(options) });
    const running = worker(done, { sources: [{ queue: gone, poison }] });
    const { signal } = new AbortController();
    await assert.rejects(running.run({ signal }), /QueueNotFound|queue does not exist/);
  });
});

describe('a worker that crashes', () => {
  it('loses no message and leaves none behind, wherever it happens', costly(), async () => {
    const requests = await crashEverywhere({
      prepare: async () => {
        const work = await newWork();
        await sendMessage(work.queue, Count, { n: 1 });
        await sendMessage(work.queue, Count, { n: 2 });
        await work.queue.sendMessage('malformed');
        return { ...work, handled: new Set<number>() };
      },
      run: (work, doomed) => drainFlaky(work, doomed),
      restart: () => time.pass(60_000),
      recover: (work, doomed) => drainFlaky(work, doomed),
      check: async ({ queue, poison, handled }) => {
        assert.deepEqual(handled, new Set([1, 2]));
        assert.equal(await messageCount(queue), 0);
        const copies = (await poison.peekMessages({ numberOfMessages: 32 })).peekedMessageItems;
        assert.ok(copies.length === 1 || copies.length === 2, `${copies.length} poisoned`);
      },
      crashRecovery: true,
    });
    const withoutGets = requests.filter((name) => name !== 'receiveMessages').toSorted();
    const deletes = ['deleteMessage', 'deleteMessage', 'deleteMessage'];
    assert.deepEqual(withoutGets, [...deletes, 'sendMessage', 'updateMessage']);
  });
});

/** Works until no message is left; the second message fails when it is first handled. */
async function drainFlaky(
  { queue, poison, worker, handled }: Work & { readonly handled: Set<number> },
  doomed: Doomed,
): Promise<void> {
  const failed = new Set<number>();
  const run: Run = ({ n }) => {
    if (n === 2 && !failed.has(n)) {
      failed.add(n);
      return Promise.reject(new Error('the first time'));
    }
    handled.add(n);
    return done();
  };
  const sources = [
    { queue: doomed.wrap<QueuePort>(queue), poison: doomed.wrap<QueuePort>(poison) },
  ];
  const crashing = worker(run, { sources, timers: impatientTimers, dequeueMax: 1000 });
  while ((await crashing.drain()).failed > 0) await time.pass(300_000);
}

describe('two workers', () => {
  it('share the messages of a queue and handle each of them once', costly(), async () => {
    const { queue, worker } = await newWork();
    const count = 120;
    for (let n = 0; n < count; n += 1) await sendMessage(queue, Count, { n });
    const seen: number[] = [];
    const shares = await Promise.all(
      [1, 2, 3].map(() => {
        const run: Run = async ({ n }) => {
          seen.push(n);
          await new Promise((resolve) => setImmediate(resolve));
        };
        return worker(run, { concurrency: 4 }).drain();
      }),
    );
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      Array.from({ length: count }, (_, n) => n),
    );
    assert.ok(
      shares.every(({ handled, lost }) => handled > 0 && lost === 0),
      JSON.stringify(shares),
    );
  });
});

describe('a worker that runs', () => {
  it('asks an empty queue less and less often, and at once while there is work', async () => {
    const { queue, poison, worker, events } = await newWork();
    let asked = 0;
    const counted = portWith(queue, {
      receiveMessages: (options) => {
        asked += 1;
        return queue.receiveMessages(options);
      },
    });
    const stop = new AbortController();
    const running = worker(done, {
      sources: [{ queue: counted, poison }],
      idleBackOffMs: { first: 100, last: 1000 },
      randomness: { bytes: (count) => new Uint8Array(count).fill(255), uuid: () => '' },
    }).run({ signal: stop.signal });
    const waits: number[] = [];
    for (let round = 1; round <= 6; round += 1) {
      await until(() => asked === round && time.waiting.length === 1);
      waits.push(Math.round((time.waiting[0] ?? 0) / 100));
      if (round < 6) await time.pass(time.waiting[0] ?? 0);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 10, 10]);
    await sendMessage(queue, Count, { n: 1 });
    await time.pass(1000);
    await until(() => asked === 8 && time.waiting.length === 1);
    assert.deepEqual(kindsOf(events), ['handled']);
    assert.equal(Math.round((time.waiting[0] ?? 0) / 100), 1);
    stop.abort();
    await running;
    assert.deepEqual(time.waiting, []);
  });

  it('stops after what it has begun, and begins nothing more', async () => {
    const { queue, worker, events } = await newWork();
    for (let n = 0; n < 3; n += 1) await sendMessage(queue, Count, { n });
    const { open, opened } = gate();
    let started = 0;
    const stop = new AbortController();
    const slow: Run = () => {
      started += 1;
      return opened;
    };
    const running = worker(slow, { concurrency: 2 }).run({ signal: stop.signal });
    await until(() => started === 2);
    stop.abort();
    open();
    await running;
    assert.deepEqual(kindsOf(events), ['handled', 'handled']);
    assert.equal((await visibleEnvelopes(queue)).length, 1);
    assert.deepEqual(time.waiting, []);
  });

  it('does not wait for ever: it aborts what still runs, and gives the message back', async () => {
    const { queue, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    const stop = new AbortController();
    let isStarted = false;
    const obedient: Run = (_payload, { signal }) =>
      new Promise((_resolve, reject) => {
        isStarted = true;
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const running = worker(obedient, { stopGraceMs: 20_000 }).run({ signal: stop.signal });
    await until(() => isStarted);
    stop.abort();
    await until(() => time.waiting.includes(20_000));
    await time.pass(19_999);
    assert.deepEqual(events, []);
    await time.pass(1);
    await running;
    assert.deepEqual(kindsOf(events), ['released']);
    const [envelope] = await visibleEnvelopes(queue);
    assert.equal(envelope?.uncounted, 1);
    assert.deepEqual(time.waiting, []);
  });

  it('keeps nothing of the messages that it has handled', async () => {
    const { queue, worker } = await newWork();
    for (const n of [1, 2]) await sendMessage(queue, Count, { n });
    const signals = new Map<number, AbortSignal>();
    const run: Run = ({ n }, { signal }) => {
      signals.set(n, signal);
      if (n === 1) return done();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const stop = new AbortController();
    const running = worker(run, { stopGraceMs: 20_000 }).run({ signal: stop.signal });
    await until(async () => signals.size === 2 && (await messageCount(queue)) === 1);
    stop.abort();
    await until(() => time.waiting.includes(20_000));
    await time.pass(20_000);
    await running;
    assert.deepEqual([signals.get(1)?.aborted, signals.get(2)?.aborted], [false, true]);
  });

  it('does not wait for ever for an answer of its queue, and begins nothing that comes late', async () => {
    const { queue, poison, worker, events } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    const { open, opened } = gate();
    let isAsked = false;
    const slow = portWith(queue, {
      receiveMessages: async (options) => {
        isAsked = true;
        await opened;
        return queue.receiveMessages(options);
      },
    });
    const stop = new AbortController();
    const sources = [{ queue: slow, poison }];
    const running = worker(done, { sources, stopGraceMs: 5000 }).run({ signal: stop.signal });
    await until(() => isAsked);
    stop.abort();
    await until(() => time.waiting.includes(5000));
    await time.pass(5000);
    await until(() => time.waiting.includes(1000));
    await time.pass(1000);
    await running;
    open();
    await until(async () => (await visibleEnvelopes(queue)).length === 0);
    assert.deepEqual(time.waiting, []);
    assert.deepEqual(events, []);
  });

  it('leaves a handler that ignores its signal behind', async () => {
    const { queue, worker } = await newWork();
    await sendMessage(queue, Count, { n: 1 });
    const stop = new AbortController();
    let isStarted = false;
    const deaf: Run = () => {
      isStarted = true;
      return new Promise(() => undefined);
    };
    const running = worker(deaf, { stopGraceMs: 5000 }).run({ signal: stop.signal });
    await until(() => isStarted);
    stop.abort();
    await until(() => time.waiting.includes(5000));
    await time.pass(5000);
    await until(() => time.waiting.includes(1000));
    await time.pass(1000);
    await running;
    assert.deepEqual(time.waiting, []);
  });
});

describe('metrics', () => {
  it('count what became of messages, by queue and type', async () => {
    const { queue, worker } = await newWork();
    const metrics = workerMetrics();
    for (let n = 0; n < 4; n += 1) await sendMessage(queue, Count, { n });
    await queue.sendMessage('malformed');
    await time.pass(2000);
    const run: Run = ({ n }) => (n === 0 ? Promise.reject(new Error('zero')) : done());
    await worker(run, { observer: metrics.observer }).drain();
    const none = { handled: 0, failed: 0, poisoned: 0, released: 0, lost: 0 };
    const [counted, malformed] = metrics
      .snapshot()
      .toSorted((left, right) => right.counts.handled - left.counts.handled);
    assert.equal(counted?.type, 'count');
    assert.deepEqual(counted.counts, { ...none, handled: 3, failed: 1 });
    assert.ok(counted.ageMs.max >= 2000 && counted.ageMs.sum >= 4 * 2000);
    assert.deepEqual(malformed?.counts, { ...none, poisoned: 1 });
  });
});

/** The queue with some of its methods replaced. */
function portWith(queue: QueueClient, methods: Partial<QueuePort>): QueuePort {
  return Object.assign(Object.create(queue) as QueueClient, methods);
}
