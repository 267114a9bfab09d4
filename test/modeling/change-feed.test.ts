import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemClock, type Clock } from '../../src/base/clock.js';
import {
  EntityExistsError,
  TransactionFailedError,
  ValueError,
  type RequestReport,
  type TableGateway,
} from '../../src/modeling/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import { changeFeed } from '../../src/modeling/patterns/change-feed/declared-feed.js';
import { RowsChangedMessage } from '../../src/modeling/patterns/change-feed/rows-changed.js';
import {
  changeFeedOf,
  type ChangeFeed,
  FeedTrimmedError,
  payloadOf,
} from '../../src/modeling/patterns/change-feed/change-feed.js';
import {
  consumerGroupOf,
  type ConsumerGroup,
} from '../../src/modeling/patterns/change-feed/consumer-group.js';
import type { FeedEvent } from '../../src/modeling/patterns/change-feed/feed-row.js';
import { trimFeed } from '../../src/modeling/patterns/change-feed/retention.js';
import { feedSinkOf } from '../../src/modeling/patterns/change-feed/sequencer.js';
import { outboxOf, type Outbox } from '../../src/modeling/patterns/transactional-outbox/outbox.js';
import { knownPartitions } from '../../src/modeling/patterns/transactional-outbox/registry.js';
import { relayOf, type Relay } from '../../src/modeling/patterns/transactional-outbox/relay.js';
import { keyPayload } from '../../src/modeling/worker/entity-payload.js';
import { defineMessage } from '../../src/modeling/worker/message-type.js';
import { crashEverywhere } from './support/crash-points.js';
import { HiredEmployee, newEmployee } from './support/employees.js';
import { startQueueWorld } from './support/queue-world.js';
import { costly } from '../support/run-length.js';

// The change feed of a table, over real tables.

const world = await startQueueWorld();
const { time } = world;
const Changed = defineMessage('changed', { payload: keyPayload(HiredEmployee) });
const registry = knownPartitions(['Sales']);

interface Parts {
  readonly table: TableGateway;
  readonly outbox: Outbox;
  readonly feed: ChangeFeed;
}

async function newParts(observer?: (report: RequestReport) => void): Promise<Parts> {
  const table = await world.newTable(observer === undefined ? {} : { observer });
  return { table, outbox: testOutbox(table), feed: changeFeedOf(table) };
}

function testOutbox(table: TableGateway): Outbox {
  return outboxOf({ table, registry, clock: time.clock });
}

function testRelay(table: TableGateway): Relay {
  return relayOf({ table, registry, sink: feedSinkOf(table, { messages: [Changed] }) });
}

/** The table with a feed of its changes. */
function testModel(table: TableGateway, clock: Clock = time.clock) {
  const entities = { employees: HiredEmployee };
  return openModel({ table, registry, entities, keeps: [changeFeed()], clock });
}

/** Announces changes of employees, each in its own transaction. */
async function change(outbox: Outbox, ...ids: readonly number[]): Promise<void> {
  for (const id of ids) {
    const key = { department: 'Sales', id };
    const message = await outbox.message('Sales', Changed, key, { id: `${id}` });
    await outbox.transact([], [message]);
  }
}

/** A feed of events 1 to `count`, whose ids are their sequence numbers. */
async function newFeed(count: number): Promise<Parts> {
  const parts = await newParts();
  const messages = [];
  for (let id = 1; id <= count; id += 1) {
    const key = { department: 'Sales', id };
    messages.push(await parts.outbox.message('Sales', Changed, key, { id: `${id}` }));
  }
  while (messages.length > 0) await parts.outbox.transact([], messages.splice(0, 100));
  await testRelay(parts.table).partition('Sales');
  return parts;
}

async function readAll(feed: ChangeFeed, limit = 1000): Promise<FeedEvent[]> {
  const all: FeedEvent[] = [];
  let page = await feed.read('Sales', { limit });
  for (;;) {
    all.push(...page.events);
    if (!page.hasMore) return all;
    page = await feed.read('Sales', { limit, cursor: page.cursor });
  }
}

const numbersOf = (events: readonly FeedEvent[]) => events.map(({ sequence }) => Number(sequence));
const idsOf = (events: readonly FeedEvent[]) => events.map(({ envelope }) => Number(envelope.id));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a change feed', () => {
  it('has each message as one event, numbered without gaps, wherever its relay crashes', async () => {
    const requests = await crashEverywhere<Parts>({
      prepare: async () => {
        const parts = await newParts();
        await change(parts.outbox, 1, 2, 3);
        return parts;
      },
      run: ({ table }, doomed) => testRelay(doomed.wrap(table)).partition('Sales'),
      recover: ({ table }, doomed) => testRelay(doomed.wrap(table)).partition('Sales'),
      check: async ({ table, feed }) => {
        const events = await readAll(feed);
        assert.deepEqual(numbersOf(events), [1, 2, 3]);
        assert.deepEqual(idsOf(events), [1, 2, 3]);
        assert.equal((await testRelay(table).partition('Sales')).dispatched, 0);
      },
      crashRecovery: true,
    });
    assert.deepEqual(requests, ['page', 'get', 'transact']);
  });

  it(
    'has each event once, those of a writer in order, however many write and relay',
    costly(),
    async () => {
      const { table, feed } = await newParts();
      const writing = new Set(upTo(6));
      const writers = upTo(6).map(async (writer) => {
        const outbox = testOutbox(table);
        for (let n = 0; n < 20; n += 1) await change(outbox, writer * 100 + n);
        writing.delete(writer);
      });
      const relays = upTo(4).map(async () => {
        while (writing.size > 0) await testRelay(table).partition('Sales');
      });
      await Promise.all([...writers, ...relays]);
      await testRelay(table).partition('Sales');
      const events = await readAll(feed);
      assert.deepEqual(numbersOf(events), upTo(120));
      for (const writer of upTo(6)) {
        const own = idsOf(events).filter((id) => Math.floor(id / 100) === writer);
        assert.deepEqual(
          own,
          Array.from({ length: 20 }, (_, n) => writer * 100 + n),
        );
      }
    },
  );

  it('can be read in pages of any size, and resumed anywhere', costly(), async () => {
    const { feed } = await newFeed(130);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 7, max: 200 }), async (limit) => {
        assert.deepEqual(idsOf(await readAll(feed, limit)), upTo(130));
      }),
      { numRuns: 12 },
    );
    const { events } = await feed.read('Sales', { limit: 60 });
    for (const { cursor, sequence } of [events[0], events[31], events[59]].flatMap(
      (e) => e ?? [],
    )) {
      const [next] = (await feed.read('Sales', { cursor, limit: 1 })).events;
      assert.equal(next?.sequence, sequence + 1n);
    }
  });

  it('goes on where it ended', async () => {
    const { feed, outbox, table } = await newParts();
    const empty = await feed.read('Sales');
    assert.deepEqual(empty.events, []);
    await change(outbox, 1, 2);
    await testRelay(table).partition('Sales');
    const first = await feed.read('Sales', { cursor: empty.cursor });
    assert.deepEqual(idsOf(first.events), [1, 2]);
    const end = await feed.read('Sales', { cursor: first.cursor });
    assert.deepEqual([end.events, end.cursor], [[], first.cursor]);
    assert.equal(await feed.end('Sales'), first.cursor);
    await change(outbox, 3);
    await testRelay(table).partition('Sales');
    assert.deepEqual(idsOf((await feed.read('Sales', { cursor: end.cursor })).events), [3]);
  });

  it('tells payloads by their type, and when each change was committed', async () => {
    const { feed, outbox, table } = await newParts();
    await change(outbox, 7);
    await time.pass(3_600_000);
    await testRelay(table).partition('Sales');
    const [event = assert.fail()] = (await feed.read('Sales')).events;
    assert.deepEqual(await payloadOf(Changed, event), { department: 'Sales', id: 7 });
    assert.equal(await payloadOf(RowsChangedMessage, event), undefined);
    const unixMs = Number(event.at / 10_000n) - 62_135_596_800_000;
    assert.equal(Math.round((time.clock.nowMicros() / 1000 - unixMs) / 1000), 3600);
  });

  it('refuses cursors that are not its own', async () => {
    const { feed } = await newFeed(1);
    const { cursor } = await feed.read('Sales');
    await assert.rejects(feed.read('Marketing', { cursor }), ValueError);
    await assert.rejects(feed.read('Sales', { cursor: 'nonsense' }), ValueError);
    const other = changeFeedOf(await world.newTable());
    await assert.rejects(other.read('Sales', { cursor }), ValueError);
  });

  it('makes one request a page', async () => {
    const requests: string[] = [];
    const { outbox, feed, table } = await newParts(({ kind }) => requests.push(kind));
    await change(outbox, 1, 2, 3);
    requests.length = 0;
    await testRelay(table).partition('Sales');
    assert.deepEqual(requests.splice(0), ['query', 'point-read', 'transaction']);
    await feed.read('Sales', { limit: 2 });
    assert.deepEqual(requests.splice(0), ['query']);
    await consumerGroupOf(feed, 'mailer').consume('Sales', () => Promise.resolve());
    assert.deepEqual(requests.splice(0), ['point-read', 'insert', 'query', 'update']);
  });
});

describe('a consumer group', () => {
  it('handles every event at least once and in order, wherever it crashes', costly(), async () => {
    await crashEverywhere<Parts & { readonly handled: string[] }>({
      prepare: async () => ({ ...(await newFeed(5)), handled: [] }),
      run: ({ table, handled }, doomed) => consume(doomed.wrap(table), handled),
      recover: ({ table, handled }, doomed) => consume(doomed.wrap(table), handled),
      check: async ({ feed, handled }) => {
        assert.deepEqual([...new Set(handled)], ['1', '2', '3', '4', '5']);
        const { cursor } = (await feed.read('Sales')).events.at(-1) ?? assert.fail();
        assert.equal(await consumerGroupOf(feed, 'mailer').cursor('Sales'), cursor);
      },
      crashRecovery: true,
    });

    function consume(table: TableGateway, handled: string[]): Promise<number> {
      const group = consumerGroupOf(changeFeedOf(table), 'mailer');
      const run = ({ envelope }: FeedEvent) => Promise.resolve(void handled.push(envelope.id));
      return group.consume('Sales', run, { limit: 2 });
    }
  });

  it('sees every event, whatever other groups have seen', async () => {
    const { feed } = await newFeed(3);
    for (const name of ['mailer', 'search/index', 'mail']) {
      const seen: number[] = [];
      const group = consumerGroupOf(feed, name);
      const run = ({ sequence }: FeedEvent) => Promise.resolve(void seen.push(Number(sequence)));
      assert.equal(await group.consume('Sales', run), 3);
      assert.equal(await group.consume('Sales', run), 0);
      assert.deepEqual(seen, [1, 2, 3]);
    }
  });

  it('comes back to the event that failed', async () => {
    const { feed } = await newFeed(5);
    const group = consumerGroupOf(feed, 'mailer');
    const seen: number[] = [];
    const failOnce = ({ sequence }: FeedEvent) => {
      const isFirst = sequence === 3n && !seen.includes(3);
      seen.push(Number(sequence));
      return isFirst ? Promise.reject(new Error('out of paper')) : Promise.resolve();
    };
    await assert.rejects(group.consume('Sales', failOnce), /out of paper/);
    assert.equal(await group.consume('Sales', failOnce), 3);
    assert.deepEqual(seen, [1, 2, 3, 3, 4, 5]);
  });

  it('never goes back when several consume for it', costly(), async () => {
    const { feed } = await newFeed(60);
    const group = () => consumerGroupOf(feed, 'mailer');
    await Promise.all(
      upTo(6).map(() => group().consume('Sales', () => Promise.resolve(), { limit: 10 })),
    );
    const end = await feed.end('Sales');
    assert.equal(await group().cursor('Sales'), end);
    await group().forget('Sales');
    // One consumer stops at the fourth event, after another has gone to the end.
    assert.equal(await consumeUpTo(group(), 4n, () => consumeUpTo(group(), 60n)), 4);
    assert.equal(await group().cursor('Sales'), end);
    await group().forget('Sales');
    // One consumer goes to the end, after another has stopped at the fourth event.
    assert.equal(await consumeUpTo(group(), 60n, () => consumeUpTo(group(), 4n)), 60);
    assert.equal(await group().cursor('Sales'), end);
  });

  /** Handles events up to this one, and calls back while it handles that. */
  function consumeUpTo(
    group: ConsumerGroup,
    last: bigint,
    happen: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<number> {
    const stop = new AbortController();
    const run = async ({ sequence }: FeedEvent) => {
      if (sequence !== last) return;
      await happen();
      stop.abort();
    };
    return group.consume('Sales', run, { signal: stop.signal });
  }

  it('can begin at the end, and misses nothing from then on', async () => {
    const { feed, outbox, table } = await newFeed(3);
    const group = consumerGroupOf(feed, 'mailer');
    const seen: number[] = [];
    const run = ({ envelope }: FeedEvent) => Promise.resolve(void seen.push(Number(envelope.id)));
    await group.consume('Sales', run, { from: 'end' });
    await change(outbox, 4, 5);
    await testRelay(table).partition('Sales');
    await group.consume('Sales', run, { from: 'end' });
    assert.deepEqual(seen, [4, 5]);
  });

  it('stops between two events when it is told to', async () => {
    const { feed } = await newFeed(10);
    const group = consumerGroupOf(feed, 'mailer');
    assert.equal(await consumeUpTo(group, 4n), 4);
    assert.equal(await group.consume('Sales', () => Promise.resolve()), 6);
  });
});

describe('retention', () => {
  const keepMs = 3_600_000;
  const { clock } = time;

  it('deletes what is older, and tells those who come back too late', async () => {
    const { feed, outbox, table } = await newFeed(150);
    const { events, cursor } = await feed.read('Sales', { limit: 20 });
    await time.pass(keepMs + 1000);
    await change(outbox, 151);
    await testRelay(table).partition('Sales');
    assert.equal(await trimFeed(feed, 'Sales', { keepMs, clock }), 150);
    assert.deepEqual(idsOf(await readAll(feed)), [151]);
    await assert.rejects(
      feed.read('Sales', { cursor }),
      (error) =>
        error instanceof FeedTrimmedError &&
        /21 to 150/.test(error.message) &&
        error.cursor === feed.cursorAt('Sales', 150n),
    );
    assert.equal(events.length, 20);
    const resumed = await feed.read('Sales', { cursor: feed.cursorAt('Sales', 150n) });
    assert.deepEqual(idsOf(resumed.events), [151]);
  });

  it('keeps what a group has not handled, unless told otherwise', async () => {
    const { feed } = await newFeed(10);
    const group = consumerGroupOf(feed, 'mailer');
    const stop = new AbortController();
    const handleFour = ({ sequence }: FeedEvent) =>
      Promise.resolve(sequence === 4n ? stop.abort() : undefined);
    await group.consume('Sales', handleFour, { signal: stop.signal });
    await time.pass(keepMs + 1000);
    assert.equal(await trimFeed(feed, 'Sales', { keepMs, clock }), 4);
    assert.equal(await trimFeed(feed, 'Sales', { keepMs, clock, max: 2, keepUnhandled: false }), 2);
    await assert.rejects(
      group.consume('Sales', () => Promise.resolve()),
      FeedTrimmedError,
    );
    await group.forget('Sales');
    await group.forget('Sales');
    assert.equal(await trimFeed(feed, 'Sales', { keepMs, clock }), 4);
  });

  it('keeps everything for a group that stands before its first event', async () => {
    const { feed } = await newFeed(3);
    const group = consumerGroupOf(feed, 'mailer');
    const away = () => Promise.reject(new Error('the mail server is away'));
    await assert.rejects(group.consume('Sales', away), /is away/);
    await time.pass(keepMs + 1000);
    assert.equal(await trimFeed(feed, 'Sales', { keepMs, clock }), 0);
    assert.equal(await group.consume('Sales', () => Promise.resolve()), 3);
    // A group that begins on a feed of which events are gone misses none of those that are kept.
    assert.equal(await trimFeed(feed, 'Sales', { keepMs, clock, max: 2 }), 2);
    const late = consumerGroupOf(feed, 'search-index');
    await assert.rejects(late.consume('Sales', away), /is away/);
    assert.equal(await late.consume('Sales', () => Promise.resolve()), 1);
  });

  it('leaves a feed that can be read on, wherever it crashes', costly(), async () => {
    await crashEverywhere<Parts>({
      prepare: async () => {
        const parts = await newFeed(120);
        await time.pass(keepMs + 1000);
        return parts;
      },
      run: async ({ table }, doomed) =>
        trimFeed(changeFeedOf(doomed.wrap(table)), 'Sales', { keepMs, clock, max: 110 }),
      recover: async ({ feed }) => {
        const left = numbersOf(await readAll(feed));
        assert.deepEqual(left, upTo(120).slice(-left.length));
        await trimFeed(feed, 'Sales', { keepMs, clock, max: left.length - 10 });
      },
      check: async ({ feed, outbox, table }) => {
        await change(outbox, 121);
        await testRelay(table).partition('Sales');
        assert.deepEqual(idsOf(await readAll(feed)), upTo(121).slice(110));
      },
    });
  });
});

describe('a table that announces its changes', () => {
  it('puts every write of others into its feed, and nothing that failed', async () => {
    const { table, feed } = await newParts();
    const model = testModel(table);
    const { employees } = model.entities;
    const key = { department: 'Sales', id: 456 };
    await employees.insert(newEmployee());
    await assert.rejects(employees.insert(newEmployee()), EntityExistsError);
    await employees.update(key, (employee) => ({ ...employee, changes: 1 }));
    await employees.merge(key, { name: 'Smith' }, { ifMatch: 'any' });
    await employees.upsertReplace(newEmployee({ id: 457 }));
    await employees.delete(key, { ifMatch: 'any' });
    assert.deepEqual((await model.drain()).unfinished, []);
    const changes = [];
    for (const event of await readAll(feed)) {
      const changed = await payloadOf(RowsChangedMessage, event);
      for (const { rowKey, change } of changed?.rows ?? []) changes.push(`${change} ${rowKey}`);
    }
    assert.deepEqual(changes, [
      'inserted empid_000456',
      'replaced empid_000456',
      'merged empid_000456',
      'stored empid_000457',
      'deleted empid_000456',
    ]);
  });

  it('announces a transaction as one change, and keeps its room', async () => {
    const { feed, table } = await newParts();
    const row = (id: number) => ({ partitionKey: 'Sales', rowKey: `r${id}`, properties: {} });
    const inserts = upTo(99).map((id) => ({ kind: 'insert', row: row(id) }) as const);
    const announced = testModel(table).table;
    const results = await announced.transact(inserts);
    assert.equal(results.length, 99);
    assert.ok(results.every(({ etag }) => etag !== undefined));
    await assert.rejects(
      announced.transact([...inserts, { kind: 'insert', row: row(100) }]),
      /1 are derived, together 101; a transaction holds 100/,
    );
    await assert.rejects(
      announced.transact([inserts[7] ?? assert.fail()]),
      (error) => error instanceof TransactionFailedError && error.index === 0,
    );
    await testRelay(table).partition('Sales');
    const events = await readAll(feed);
    assert.equal(events.length, 1);
    const changed = await payloadOf(RowsChangedMessage, events[0] ?? assert.fail());
    assert.equal(changed?.rows.length, 99);
  });

  it(
    'tells every change of many writers, none twice, none that did not happen',
    costly(),
    async () => {
      const { table, feed } = await newParts();
      const applied: string[] = [];
      await Promise.all(
        upTo(16).map(async () => {
          const { employees } = testModel(table, systemClock).entities;
          for (let n = 0; n < 4; n += 1) {
            try {
              await employees.insert(newEmployee({ id: n }));
              applied.push(`inserted empid_00000${n}`);
            } catch (error) {
              if (!(error instanceof EntityExistsError)) throw error;
            }
          }
        }),
      );
      await testRelay(table).partition('Sales');
      const told = [];
      for (const event of await readAll(feed)) {
        const changed = await payloadOf(RowsChangedMessage, event);
        for (const { rowKey, change } of changed?.rows ?? []) told.push(`${change} ${rowKey}`);
      }
      assert.deepEqual(told.toSorted(), applied.toSorted());
      assert.equal(applied.length, 4);
    },
  );
});
