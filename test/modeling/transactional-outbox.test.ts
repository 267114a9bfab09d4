import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import type { QueueClient } from '@azure/storage-queue';
import { manualClock, type Clock } from '../../src/base/clock.js';
import {
  codecOf,
  EntityExistsError,
  key,
  openTable,
  TransactionFailedError,
  type RequestReport,
  type RowWrite,
  type StandardSchema,
  type TableGateway,
} from '../../src/modeling/index.js';
import { withEncryption } from '../../src/modeling/encryption/encrypted-table.js';
import { keyRing } from '../../src/modeling/encryption/key-wrapper.js';
import { readOnly } from '../../src/modeling/patterns/contexts/index.js';
import { BucketGateway } from '../../src/modeling/patterns/high-volume-delete/bucket-gateway.js';
import { openModel } from '../../src/modeling/model/index.js';
import { samePartition, withIndexes } from '../../src/modeling/patterns/indexes/index.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/index.js';
import {
  toHandlers,
  toQueue,
  type Dispatch,
} from '../../src/modeling/patterns/transactional-outbox/dispatch.js';
import { outboxOf, type Outbox } from '../../src/modeling/patterns/transactional-outbox/outbox.js';
import {
  poisonMessages,
  waitingMessages,
} from '../../src/modeling/patterns/transactional-outbox/outbox-row.js';
import {
  knownPartitions,
  tableRegistryOf,
  type OutboxRegistry,
} from '../../src/modeling/patterns/transactional-outbox/registry.js';
import {
  hintHandlerOf,
  relayOf,
  type Relay,
  RelayBlockedError,
  type RelayEvent,
} from '../../src/modeling/patterns/transactional-outbox/relay.js';
import { ticksOfMicros } from '../../src/modeling/rows/ticks.js';
import { keyPayload } from '../../src/modeling/worker/entity-payload.js';
import { handle } from '../../src/modeling/worker/handler.js';
import { defineMessage } from '../../src/modeling/worker/message-type.js';
import type { QueuePort } from '../../src/modeling/worker/queue-port.js';
import { queueWorkerOf, type QueueWorker } from '../../src/modeling/worker/worker.js';
import { startServer } from '../support/start-server.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { CountingKey } from './support/encryption-keys.js';
import { HiredEmployee, employeeKey, newEmployee, type EmployeeKey } from './support/employees.js';
import { impatientTimers } from './support/impatient-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { LostAnswers } from './support/lost-answers.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import {
  messageCount,
  startQueueWorld,
  visibleEnvelopes,
  visibleTexts,
} from './support/queue-world.js';
import { costly } from '../support/run-length.js';

// The transactional outbox over real tables and queues.

const world = await startQueueWorld();
const { time } = world;
const Hired = defineMessage('hired', { payload: keyPayload(HiredEmployee) });
const jones: EmployeeKey = { department: 'Sales', id: 456 };

function insertOf(values: Parameters<typeof newEmployee>[0] = {}): RowWrite {
  return { kind: 'insert', row: codecOf(HiredEmployee).toRow(newEmployee(values)) };
}

interface Parts {
  readonly table: TableGateway;
  readonly registryTable: TableGateway;
  readonly hints: QueuePort;
  readonly poison: QueuePort;
  /** The queue that messages are relayed to. */
  readonly target: QueuePort;
}

interface RealParts extends Parts {
  readonly hints: QueueClient;
  readonly target: QueueClient;
}

async function newParts(observer?: (report: RequestReport) => void): Promise<RealParts> {
  const options = observer === undefined ? {} : { observer };
  const { queue, poison } = await world.newSource();
  return {
    table: await world.newTable(options),
    registryTable: await world.newTable(options),
    hints: queue,
    poison,
    target: await world.newQueue(),
  };
}

function doomedParts(parts: Parts, doomed: Doomed): Parts {
  return {
    table: doomed.wrap(parts.table),
    registryTable: doomed.wrap(parts.registryTable),
    hints: doomed.wrap(parts.hints),
    poison: doomed.wrap(parts.poison),
    target: doomed.wrap(parts.target),
  };
}

function registryOf({ table, registryTable }: Parts): OutboxRegistry {
  return tableRegistryOf(registryTable, table.table, { buckets: 2 });
}

function testOutbox(parts: Parts, clock: Clock = time.clock): Outbox {
  const { table, hints } = parts;
  return outboxOf({ table, registry: registryOf(parts), hints, clock });
}

function testRelay(
  parts: Parts,
  dispatch: Dispatch = toQueue(parts.target),
  more: { readonly attemptsMax?: number; readonly observer?: (event: RelayEvent) => void } = {},
): Relay {
  return relayOf({ table: parts.table, registry: registryOf(parts), dispatch, ...more });
}

function workerOf({ hints: queue, poison }: Parts, relay: Relay): QueueWorker {
  return queueWorkerOf({
    sources: [{ queue, poison }],
    handlers: [hintHandlerOf([relay])],
    clock: time.clock,
    timers: impatientTimers,
  });
}

async function hire(outbox: Outbox, values: Parameters<typeof newEmployee>[0] = {}) {
  const { department, id } = newEmployee(values);
  const message = await outbox.message(department, Hired, { department, id }, { id: `${id}` });
  await outbox.transact([insertOf(values)], [message]);
  return message;
}

async function waitingIn(table: TableGateway, partitionKey = 'Sales'): Promise<number> {
  return (await table.page(waitingMessages(partitionKey))).rows.length;
}

describe('a change and its announcement', () => {
  it('delivers a message that is too large for a queue in base64', async () => {
    const parts = await newParts();
    const payload: StandardSchema<string> = {
      '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: String(value) }) },
    };
    const Note = defineMessage('note', { payload });
    const outbox = testOutbox(parts);
    // 60,000 bytes of UTF-8, which are 80,000 in base64.
    const large = await outbox.message('Sales', Note, '漢'.repeat(20_000));
    const small = await outbox.message('Sales', Note, '漢');
    await outbox.transact([insertOf()], [large, small]);
    const relay = testRelay(parts, toQueue(parts.target, { encoding: 'base64' }));
    assert.equal((await relay.partition('Sales')).dispatched, 2);
    const texts = await visibleTexts(parts.target);
    assert.deepEqual(
      texts.map((text) => text.startsWith('{')),
      [true, false],
    );
    assert.deepEqual(
      (await visibleEnvelopes(parts.target)).map(({ id }) => id),
      [large.id, small.id],
    );
  });

  it(
    'are stored both or not at all, and announced in the end, wherever a process crashes',
    costly(),
    async () => {
      const requests = await crashEverywhere<RealParts>({
        prepare: () => newParts(),
        run: async (parts, doomed) => {
          const fragile = doomedParts(parts, doomed);
          await hire(testOutbox(fragile));
          await workerOf(fragile, testRelay(fragile)).drain();
        },
        restart: () => time.pass(60_000),
        recover: async (parts, doomed) => {
          const fragile = doomedParts(parts, doomed);
          await testRelay(fragile).sweep();
          await workerOf(fragile, testRelay(fragile)).drain();
        },
        check: async ({ table, target, hints }) => {
          const employee = await table.get(employeeKey(jones));
          const announced = await visibleEnvelopes(target);
          assert.equal(announced.length > 0, employee !== undefined);
          assert.ok(announced.every(({ id, type }) => id === '456' && type === 'hired'));
          assert.equal(await waitingIn(table), 0);
          assert.equal(await messageCount(hints), 0);
        },
        crashRecovery: true,
      });
      const change = ['write', 'transact', 'sendMessage'];
      const relaying = ['page', 'sendMessage', 'transact', 'deleteMessage'];
      assert.deepEqual(
        requests.filter((name) => name !== 'receiveMessages'),
        [...change, ...relaying],
      );
    },
  );

  it('fail together, and announce nothing', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts));
    await workerOf(parts, testRelay(parts)).drain();
    await assert.rejects(
      hire(testOutbox(parts)),
      (error) =>
        error instanceof TransactionFailedError &&
        error.index === 0 &&
        error.reason instanceof EntityExistsError,
    );
    assert.equal(await waitingIn(parts.table), 0);
    assert.equal(await messageCount(parts.hints), 0);
    assert.equal((await testRelay(parts).sweep()).dispatched, 0);
  });

  it('are found by a sweep when the hint was lost', async () => {
    const parts = await newParts();
    const lost: unknown[] = [];
    const missing = await world.newQueue();
    await missing.delete();
    const outbox = outboxOf({
      table: parts.table,
      registry: registryOf(parts),
      hints: missing,
      onHintFailed: (error) => lost.push(error),
    });
    await hire(outbox);
    assert.equal(lost.length, 1);
    const { partitions, dispatched, unfinished } = await testRelay(parts).sweep();
    assert.deepEqual(
      { partitions, dispatched, unfinished },
      {
        partitions: 1,
        dispatched: 1,
        unfinished: [],
      },
    );
    assert.equal((await visibleEnvelopes(parts.target)).length, 1);
  });

  it('make the requests that their docs promise', async () => {
    const requests: string[] = [];
    const parts = await newParts(({ kind, entities }) => requests.push(`${kind} ${entities}`));
    const take = () => requests.splice(0);
    const outbox = testOutbox(parts);
    await hire(outbox);
    assert.deepEqual(take(), ['insert 1', 'transaction 2']);
    await hire(outbox, { id: 457 });
    assert.deepEqual(take(), ['transaction 2']);
    await testRelay(parts).partition('Sales');
    assert.deepEqual(take(), ['query 2', 'transaction 2']);
    await testRelay(parts).sweep();
    assert.deepEqual(take().toSorted(), ['query 0', 'query 0', 'query 1']);
  });

  it('are recognised when only the answer was lost', async () => {
    const started = await startServer();
    const client = TableClient.fromConnectionString(started.server.connectionString(), 'lost', {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 1, retryDelayInMs: 1 },
    });
    await client.createTable();
    const answers = new LostAnswers();
    answers.install(client);
    const table = openTable(client);
    const outbox = outboxOf({ table, registry: knownPartitions(['Sales']) });
    // The client sends the transaction again, which conflicts with its own first attempt.
    answers.lose(1, 'POST');
    await hire(outbox);
    // The responses to all attempts are lost.
    answers.lose(2, 'POST');
    await hire(outbox, { id: 457 });
    assert.equal(await waitingIn(table), 2);
    await started[Symbol.asyncDispose]();
  });
});

describe('a relay', () => {
  it('hands on each message, in the order of commits, wherever it crashes', costly(), async () => {
    await crashEverywhere<RealParts>({
      prepare: async () => {
        const parts = await newParts();
        for (let id = 1; id <= 3; id += 1) await hire(testOutbox(parts), { id });
        return parts;
      },
      run: async (parts, doomed) => testRelay(doomedParts(parts, doomed)).partition('Sales'),
      recover: (parts, doomed) => testRelay(doomedParts(parts, doomed)).partition('Sales'),
      check: async ({ table, target }) => {
        const ids = (await visibleEnvelopes(target)).map(({ id }) => id);
        assert.deepEqual([...new Set(ids)], ['1', '2', '3']);
        assert.equal(await waitingIn(table), 0);
      },
      crashRecovery: true,
    });
  });

  it('keeps the order of commits although the clocks of writers differ', async () => {
    const parts = await newParts();
    const fast = testOutbox(parts, manualClock(time.clock.nowMicros() + 3_600_000_000));
    const slow = testOutbox(parts, manualClock(time.clock.nowMicros() - 3_600_000_000));
    const handled: string[] = [];
    for (let id = 1; id <= 10; id += 1) await hire(id % 3 === 0 ? slow : fast, { id });
    const relay = testRelay(parts, ({ id }) => Promise.resolve(void handled.push(id)));
    await relay.partition('Sales');
    assert.deepEqual(handled, ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10']);
  });

  it('keeps the order of commits over pages that were read at different times', async () => {
    const parts = await newParts();
    const { table } = parts;
    const early = testOutbox(parts, manualClock(1_000_000_000_000_000));
    const late = testOutbox(parts, manualClock(2_000_000_000_000_000));
    await hire(early, { id: 1 });
    await hire(late, { id: 2 });
    let pages = 0;
    // Pages of one row. After the first page, 3 is committed before the row of that page and 4
    // before the next row.
    const paged: TableGateway = {
      table: table.table,
      get: (key, select) => table.get(key, select),
      write: (write) => table.write(write),
      transact: (writes) => table.transact(writes),
      page: async (query) => {
        const page = await table.page({ ...query, limit: 1 });
        pages += 1;
        if (pages === 1) {
          await hire(testOutbox(parts, manualClock(999_999_999_000_000)), { id: 3 });
          await hire(testOutbox(parts, manualClock(1_500_000_000_000_000)), { id: 4 });
        }
        return page;
      },
    };
    const handled: string[] = [];
    const dispatch: Dispatch = ({ id }) => Promise.resolve(void handled.push(id));
    await relayOf({ table: paged, registry: registryOf(parts), dispatch }).partition('Sales');
    assert.deepEqual(handled, ['1', '2', '3', '4']);
  });

  it('loses nothing when many of them meet', costly(), async () => {
    const parts = await newParts();
    const outbox = testOutbox(parts);
    for (let id = 0; id < 80; id += 1) await hire(outbox, { id });
    const handled = new Set<string>();
    const dispatch: Dispatch = ({ id }) => Promise.resolve(void handled.add(id));
    await Promise.all(
      Array.from({ length: 8 }, () => testRelay(parts, dispatch).partition('Sales')),
    );
    assert.equal(handled.size, 80);
    assert.equal(await waitingIn(parts.table), 0);
  });

  it('hands each message on once, however many hints of its partition come', costly(), async () => {
    const parts = await newParts();
    const outbox = testOutbox(parts);
    for (let id = 0; id < 30; id += 1) await hire(outbox, { id });
    const handled: string[] = [];
    const relay = testRelay(parts, ({ id }) => Promise.resolve(void handled.push(id)));
    const reports = await Promise.all(Array.from({ length: 16 }, () => relay.partition('Sales')));
    assert.equal(handled.length, 30);
    assert.equal(
      reports.reduce((sum, { dispatched }) => sum + dispatched, 0),
      30,
    );
  });

  it('hands on more messages than one page or transaction holds', costly(), async () => {
    const parts = await newParts();
    const outbox = testOutbox(parts);
    const writes = [];
    for (let id = 0; id < 1200; id += 1) {
      writes.push(await outbox.message('Sales', Hired, { ...jones, id }, { id: `${id}` }));
      if (writes.length === 100) await outbox.transact([], writes.splice(0));
    }
    const handled: number[] = [];
    const dispatch: Dispatch = ({ id }) => Promise.resolve(void handled.push(Number(id)));
    const { dispatched } = await testRelay(parts, dispatch).partition('Sales');
    assert.equal(dispatched, 1200);
    assert.deepEqual(
      handled,
      Array.from({ length: 1200 }, (_, id) => id),
    );
    assert.equal(await waitingIn(parts.table), 0);
  });

  it('handles messages itself when it is given handlers', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts));
    const seen: string[] = [];
    const handler = handle(Hired, ({ department, id }, context) => {
      seen.push(`${department} ${id} ${context.id} ${context.dequeueCount}`);
      return Promise.resolve();
    });
    await testRelay(parts, toHandlers([handler])).partition('Sales');
    assert.deepEqual(seen, ['Sales 456 456 1']);
  });
});

describe('a message that cannot be handed on', () => {
  const failingFor =
    (bad: string, error: () => Error, handled: string[]): Dispatch =>
    ({ id }) => {
      if (id === bad) return Promise.reject(error());
      handled.push(id);
      return Promise.resolve();
    };

  it('holds back those behind it, keeps its place, and is given up in the end', async () => {
    const parts = await newParts();
    for (let id = 1; id <= 4; id += 1) await hire(testOutbox(parts), { id });
    const handled: string[] = [];
    const events: RelayEvent[] = [];
    const relay = testRelay(
      parts,
      failingFor('2', () => new Error('refused'), handled),
      { attemptsMax: 3, observer: (event) => events.push(event) },
    );
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await assert.rejects(relay.partition('Sales'), RelayBlockedError);
      assert.deepEqual(handled, ['1']);
    }
    assert.deepEqual(await relay.partition('Sales'), { dispatched: 2, poisoned: 1 });
    assert.deepEqual(handled, ['1', '3', '4']);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['dispatched', 'failed', 'failed', 'poisoned', 'dispatched', 'dispatched'],
    );
    const { rows } = await parts.table.page(poisonMessages('Sales'));
    assert.deepEqual(
      rows.map(({ properties }) => [properties['Failures'], properties['LastError']]),
      [
        [
          { type: 'Int32', value: 3 },
          { type: 'String', value: 'refused' },
        ],
      ],
    );
    assert.equal(await waitingIn(parts.table), 0);
  });

  it('can be tried again, in its place', async () => {
    const parts = await newParts();
    for (let id = 1; id <= 2; id += 1) await hire(testOutbox(parts), { id });
    const handled: string[] = [];
    const refuse = failingFor('1', () => new Error('refused'), []);
    await testRelay(parts, refuse, { attemptsMax: 1 }).partition('Sales');
    await hire(testOutbox(parts), { id: 3 });
    const relay = testRelay(
      parts,
      failingFor('none', () => new Error('x'), handled),
    );
    assert.equal(await relay.redrive('Sales'), 1);
    assert.equal(await relay.redrive('Sales'), 0);
    await relay.partition('Sales');
    assert.deepEqual(handled, ['1', '3']);
  });

  it('is found to be tried again behind a page without rows', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts), { id: 1 });
    const refuse = failingFor('1', () => new Error('refused'), []);
    await testRelay(parts, refuse, { attemptsMax: 1 }).partition('Sales');
    const { table } = parts;
    const sparse: TableGateway = {
      table: table.table,
      get: (key, select) => table.get(key, select),
      write: (write) => table.write(write),
      transact: (writes) => table.transact(writes),
      page: async ({ cursor, ...query }) =>
        cursor === undefined ? { rows: [], cursor: 'begin' } : table.page(query),
    };
    assert.equal(await testRelay({ ...parts, table: sparse }).redrive('Sales'), 1);
    assert.equal(await waitingIn(table), 1);
  });

  it('is tried again with all others though the answer is lost', async () => {
    const parts = await newParts();
    for (let id = 1; id <= 2; id += 1) await hire(testOutbox(parts), { id });
    const refuse: Dispatch = () => Promise.reject(new Error('refused'));
    await testRelay(parts, refuse, { attemptsMax: 1 }).partition('Sales');
    const { table } = parts;
    const repeating: TableGateway = {
      table: table.table,
      get: (key, select) => table.get(key, select),
      page: (query) => table.page(query),
      write: (write) => table.write(write),
      transact: async (writes) => {
        await table.transact(writes);
        return table.transact(writes);
      },
    };
    assert.equal(await testRelay({ ...parts, table: repeating }).redrive('Sales'), 2);
    assert.equal(await waitingIn(table), 2);
  });

  it('is not counted against it that its relay was stopped', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts), { id: 1 });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const stop = new AbortController();
      const dispatch: Dispatch = () => {
        stop.abort();
        return Promise.reject(new Error('stopped'));
      };
      const relay = testRelay(parts, dispatch, { attemptsMax: 2 });
      const stopped = relay.partition('Sales', { signal: stop.signal });
      await assert.rejects(stopped, RelayBlockedError);
    }
    assert.equal(await waitingIn(parts.table), 1);
    assert.equal((await parts.table.page(poisonMessages('Sales'))).rows.length, 0);
  });

  it('is handed on though the clock of the shard that it was committed on was ahead', async () => {
    const rows = new MemoryRows(() => 1_000_000_000_000_000);
    const stop = new AbortController();
    let requests = 0;
    const table = new MemoryTable(rows, {
      before: async () => {
        requests += 1;
        if (requests > 50) stop.abort();
        await Promise.resolve();
      },
    });
    const registry = knownPartitions(['Sales']);
    const outbox = outboxOf({ table, registry, clock: time.clock });
    const { write } = await outbox.message('Sales', Hired, jones);
    const ahead = { type: 'DateTime', value: ticksOfMicros(1_000_000_060_000_000) } as const;
    const properties = { ...write.row.properties, CommittedAt: ahead };
    rows.apply([{ kind: 'insert', row: { ...write.row, properties } }]);
    const relay = relayOf({ table, registry, dispatch: () => Promise.resolve() });
    const { dispatched } = await relay.partition('Sales', { signal: stop.signal });
    assert.equal(dispatched, 1);
  });

  it('is left to another worker, with its hint, when its worker stops', async () => {
    const parts = await newParts();
    for (let id = 1; id <= 2; id += 1) await hire(testOutbox(parts), { id });
    const stop = new AbortController();
    const stopping: Dispatch = () => {
      stop.abort(new Error('the worker stops'));
      return Promise.resolve();
    };
    const [hint] = await visibleEnvelopes(parts.hints);
    assert.ok(hint);
    const context = { id: hint.id, queue: 'hints', dequeueCount: 1 };
    const stopped = hintHandlerOf([testRelay(parts, stopping)]).run(hint, {
      ...context,
      signal: stop.signal,
    });
    await assert.rejects(stopped, /the worker stops/);
    assert.equal(await waitingIn(parts.table), 1);
    const { signal } = new AbortController();
    await hintHandlerOf([testRelay(parts)]).run(hint, { ...context, signal });
    assert.equal(await waitingIn(parts.table), 0);
  });

  it('is never given up for reasons that pass by themselves', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts), { id: 1 });
    const busy = () => Object.assign(new Error('busy'), { statusCode: 503 });
    const relay = testRelay(parts, failingFor('1', busy, []), { attemptsMax: 2 });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await assert.rejects(relay.partition('Sales'), RelayBlockedError);
    }
    assert.equal(await waitingIn(parts.table), 1);
    assert.equal((await parts.table.page(poisonMessages('Sales'))).rows.length, 0);
  });

  it('waits for a program that knows its type, however often another one meets it', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts), { id: 1 });
    const relay = testRelay(parts, toHandlers([]), { attemptsMax: 2 });
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await assert.rejects(relay.partition('Sales'), RelayBlockedError);
    }
    const { rows } = await parts.table.page(poisonMessages('Sales'));
    assert.equal(rows.length, 0);
    assert.equal(await waitingIn(parts.table), 1);
  });

  it('does not keep a sweep from other partitions', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts), { id: 1 });
    await hire(testOutbox(parts), { id: 2, department: 'Marketing' });
    const handled: string[] = [];
    const report = await testRelay(
      parts,
      failingFor('1', () => new Error('refused'), handled),
    ).sweep();
    assert.deepEqual(handled, ['2']);
    assert.deepEqual(
      report.unfinished.map(({ partitionKey }) => partitionKey),
      ['Sales'],
    );
  });

  it('is given up at once when the row holds none', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts), { id: 1 });
    const { rows } = await parts.table.page(waitingMessages('Sales'));
    const [row = assert.fail()] = rows;
    const corrupted = { ...row, properties: { Message: { type: 'String', value: '{}' } } } as const;
    await parts.table.write({ kind: 'replace', row: corrupted, etag: '*' });
    assert.deepEqual(await testRelay(parts).partition('Sales'), { dispatched: 0, poisoned: 1 });
    assert.equal(await waitingIn(parts.table), 0);
  });
});

describe('a registry of partitions', () => {
  it(
    'knows each partition once, whoever registers it, over more than a page',
    costly(),
    async () => {
      const table = await world.newTable();
      const names = Array.from({ length: 1100 }, (_, index) => `partition ${index}`);
      const registries = [1, 2].map(() => tableRegistryOf(table, 'some', { buckets: 1 }));
      for (let at = 0; at < names.length; at += 50) {
        const some = names.slice(at, at + 50);
        await Promise.all(
          registries.flatMap((registry) => some.map((name) => registry.register(name))),
        );
      }
      await tableRegistryOf(table, 'other', { buckets: 1 }).register('of another table');
      const found: string[] = [];
      for await (const name of registries[0]?.partitions() ?? []) found.push(name);
      assert.deepEqual(found.toSorted(), names.toSorted());
    },
  );

  it('refuses a partition that it does not know, before anything changes', async () => {
    const table = await world.newTable();
    const outbox = outboxOf({ table, registry: knownPartitions(['Marketing']) });
    await assert.rejects(hire(outbox), /'Sales' is none of the partitions/);
    assert.equal(await table.get(employeeKey(jones)), undefined);
  });
});

describe('a change that a table refuses by itself', () => {
  const stored = employeeKey(jones);
  const secret: RowWrite = {
    kind: 'merge',
    row: { ...stored, properties: { name: { type: 'String', value: 'x' } }, encrypt: ['name'] },
    etag: '*',
  };
  const large: RowWrite = {
    kind: 'insert',
    row: { ...stored, properties: { photo: { type: 'Binary', value: new Uint8Array(9_000_000) } } },
  };
  const indexed = withIndexes(HiredEmployee, {
    name: samePartition({ rowKey: (p) => key`name_${p.name}_${p.id.padded(6)}` }),
  });
  const many = Array.from({ length: 60 }, (_, id) => insertOf({ id }));
  const memory = () => new MemoryTable(new MemoryRows());
  const ofLarge = () => withLargeValues(memory(), { compression: 'identity' });

  it('registers no partition, however the table is wrapped', async () => {
    const refused: readonly (readonly [
      TableGateway,
      readonly RowWrite[],
      RegExp | { name: string },
    ])[] = [
      [await world.newTable(), [{ ...secret, etag: '' }], /needs the ETag/],
      [
        withEncryption(memory(), { keys: keyRing(new CountingKey('master').kek) }),
        [secret],
        /cannot be merged/,
      ],
      [ofLarge(), [large], { name: 'TooLargeError' }],
      [new BucketGateway(ofLarge(), () => Promise.resolve()), [large], { name: 'TooLargeError' }],
      [openModel({ table: memory(), entities: { indexed } }).table, many, /transaction/],
    ];
    for (const [table, writes, reason] of refused) {
      const registryRows = new MemoryRows();
      const registry = tableRegistryOf(new MemoryTable(registryRows), table.table);
      const outbox = outboxOf({ table, registry });
      const message = await outbox.message('Sales', Hired, jones);
      await assert.rejects(outbox.transact(writes, [message]), reason);
      assert.deepEqual(registryRows.all, []);
      assert.deepEqual((await table.page({})).rows, []);
      await hire(outbox, { id: 7 });
      assert.equal(registryRows.all.length, 1);
    }
  });
});

describe('an outbox over a table that is only read', () => {
  it('registers no partition', async () => {
    const registryRows = new MemoryRows();
    const registry = tableRegistryOf(new MemoryTable(registryRows), 'some');
    const outbox = outboxOf({ table: readOnly(new MemoryTable(new MemoryRows())), registry });
    await assert.rejects(hire(outbox), { name: 'ReadOnlyContextError' });
    assert.deepEqual(registryRows.all, []);
  });
});

describe('an outbox over a registry of the program', () => {
  it('checks and registers a partition once', async () => {
    const calls: string[] = [];
    const rows = new MemoryTable(new MemoryRows());
    const table = wrappedMethods(withLargeValues(rows, {}), (name, send) => {
      if (name === 'check') calls.push(name);
      return send();
    });
    const register = (partitionKey: string): Promise<void> =>
      Promise.resolve(void calls.push(partitionKey));
    const outbox = outboxOf({ table, registry: { ...knownPartitions([]), register } });
    for (const id of [1, 2, 3]) await hire(outbox, { id });
    assert.deepEqual(calls, ['check', 'Sales']);
  });

  it('registers again what was not registered', async () => {
    let attempts = 0;
    const register = async (): Promise<void> => {
      if ((attempts += 1) === 1) throw new Error('no network');
    };
    const table = new MemoryTable(new MemoryRows());
    const outbox = outboxOf({ table, registry: { ...knownPartitions([]), register } });
    await assert.rejects(hire(outbox, { id: 1 }), /no network/);
    assert.deepEqual(table.rows.all, []);
    for (const id of [1, 2]) await hire(outbox, { id });
    assert.equal(attempts, 2);
  });
});

describe('a change that fits once it is encrypted', () => {
  it('is taken as without an outbox', async () => {
    const large = withLargeValues(new MemoryTable(new MemoryRows()), { compression: 'identity' });
    const table = withEncryption(large, { keys: keyRing(new CountingKey('master').kek) });
    // As Strings they take two bytes a character and do not fit into a row, encrypted they do.
    const text = { type: 'String', value: 'x'.repeat(26_000) } as const;
    const names = Array.from({ length: 40 }, (_, index) => `text${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, text]));
    const row = { ...employeeKey(jones), properties, encrypt: names };
    const registry = tableRegistryOf(new MemoryTable(new MemoryRows()), table.table);
    const outbox = outboxOf({ table, registry });
    const message = await outbox.message(row.partitionKey, Hired, jones);
    await outbox.transact([{ kind: 'insert', row }], [message]);
    assert.deepEqual((await table.get(row))?.properties, properties);
  });
});

describe('a relay that runs', () => {
  it('sweeps until it is stopped', async () => {
    const parts = await newParts();
    await hire(testOutbox(parts));
    const stop = new AbortController();
    const swept: number[] = [];
    const relay = relayOf({
      table: parts.table,
      registry: registryOf(parts),
      dispatch: toQueue(parts.target),
      timers: time,
    });
    const running = relay.run({
      signal: stop.signal,
      onSweep: ({ dispatched }) => {
        swept.push(dispatched);
        if (swept.length === 2) stop.abort();
        else void hire(testOutbox(parts), { id: 457 }).then(() => time.pass(60_000));
      },
    });
    await running;
    assert.deepEqual(swept, [1, 1]);
    assert.deepEqual(time.waiting, []);
  });
});
