import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import type { FaultEffect, FaultRule } from '../../src/app/index.js';
import {
  defineEntity,
  entitiesOf,
  EntityExistsError,
  etagOf,
  int32,
  key,
  openTable,
  string,
} from '../../src/modeling/index.js';
import { isTransient } from '../../src/modeling/table/transient.js';
import { startServer } from '../support/start-server.js';
import { costly } from '../support/run-length.js';

// The modelling library against a server that injects faults: real responses are lost on a real
// connection.

const started = await startServer();
const { server } = started;
after(async () => {
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});
afterEach(() => server.faults.clear());

let tableCount = 0;

/** A table of counters. The official client has its default retries, with shorter delays. */
async function openCounters(writeStamp: string | false = 'WriteStamp') {
  tableCount += 1;
  const client = TableClient.fromConnectionString(
    server.connectionString(),
    `faulty${tableCount}`,
    {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 10, retryDelayInMs: 1, maxRetryDelayInMs: 4 },
    },
  );
  await client.createTable();
  const definition = defineEntity({
    type: 'Counter',
    properties: { name: string(), value: int32() },
    partitionKey: (p) => key`${p.name}`,
    rowKey: () => key`counter`,
    system: { writeStamp },
  });
  return entitiesOf(definition, openTable(client));
}

type Counters = Awaited<ReturnType<typeof openCounters>>;

function increment(counters: Counters) {
  return counters.update({ name: 'a' }, (now) => ({ ...now, value: now.value + 1 }));
}

/** Injects the fault into the next request with this method. */
function next(method: FaultRule['method'] & {}, effect: FaultEffect): void {
  server.faults.replace([{ name: 'next', method, count: 1, effect }]);
}

const dropped: FaultEffect = { kind: 'drop-response' };

function assertFired(): void {
  assert.equal(server.faults.list()[0]?.fired, 1);
}

describe('a write whose answer the server has dropped', () => {
  it('is recognised as an insert that succeeded', async () => {
    const counters = await openCounters();
    next('POST', dropped);
    const inserted = await counters.insert({ name: 'a', value: 1 });
    assertFired();
    const read = await counters.get({ name: 'a' });
    assert.deepEqual([read?.value, read && etagOf(read)], [1, etagOf(inserted)]);
  });

  it('is recognised as a replace and a merge that succeeded', async () => {
    const counters = await openCounters();
    const inserted = await counters.insert({ name: 'a', value: 1 });
    next('PUT', dropped);
    const replaced = await counters.replace({ ...inserted, value: 2 });
    assertFired();
    next(['MERGE', 'PATCH'], dropped);
    const { etag } = await counters.merge(replaced, { value: 3 });
    assertFired();
    const read = await counters.get({ name: 'a' });
    assert.deepEqual([read?.value, read && etagOf(read)], [3, etag]);
  });

  it('changes once what update changes', async () => {
    const counters = await openCounters();
    await counters.insert({ name: 'a', value: 0 });
    for (let round = 1; round <= 5; round += 1) {
      next(['PUT', 'PATCH', 'MERGE'], dropped);
      assert.equal((await increment(counters)).value, round);
      assertFired();
    }
  });

  it('is taken for the write of somebody else where no stamps are kept', async () => {
    const counters = await openCounters(false);
    next('POST', dropped);
    await assert.rejects(counters.insert({ name: 'a', value: 1 }), EntityExistsError);
  });
});

describe('a read whose answer ends in its middle', () => {
  it('fails with an error that is likely to pass by itself', async () => {
    const counters = await openCounters();
    await counters.insert({ name: 'a', value: 0 });
    next('GET', { kind: 'truncate' });
    await assert.rejects(counters.get({ name: 'a' }), (error) => isTransient(error));
    assertFired();
  });
});

describe('a counter under faults of every kind', () => {
  it('counts every increment once, whatever its writers meet', costly(), async () => {
    const counters = await openCounters();
    await counters.insert({ name: 'a', value: 0 });
    let seed = 20_240_301;
    const sometimes = (effect: FaultEffect, operation = '*'): FaultRule => {
      seed += 1;
      return { table: `faulty${tableCount}`, probability: 0.06, seed, operation, effect };
    };
    server.faults.replace([
      sometimes(dropped),
      sometimes({ kind: 'reset' }),
      sometimes({ kind: 'error', code: 'ServerBusy', retryAfterSeconds: 0 }),
      sometimes({ kind: 'error', code: 'OperationTimedOut' }),
      sometimes({ kind: 'latency', ms: { min: 1, max: 5 } }),
      // The official client does not repeat a read whose response ends early.
      sometimes({ kind: 'truncate' }, 'UpdateEntity'),
    ]);
    // A row keeps the ids of four writes, so at most three others may follow while one is repeated.
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([increment(counters), increment(counters), increment(counters)]);
    }
    const fired = server.faults.list().map((rule) => rule.fired);
    server.faults.clear();
    assert.ok(
      fired.every((count) => count > 0),
      `seed ${seed}: ${fired.join(', ')}`,
    );
    assert.equal((await counters.get({ name: 'a' }))?.value, 60, `seed ${seed}`);
  });
});
