import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { systemClock } from '../../base/clock.js';
import { CommitUnknownError } from '../../kv/errors.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Store } from '../../kv/store.js';
import { decodeBag } from '../../model/bag/bag.js';
import type { MetricsProperties } from '../../model/resources/service-properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { ServicePropertiesService } from '../accounts/service-properties.js';
import { TableService } from '../tables/table-service.js';
import { MetricsWriter } from './metrics-writer.js';
import { RequestMetrics } from './request-metrics.js';

const begun = Date.UTC(2024, 2, 1, 12, 30) * 1000;
const hourTable = '$MetricsHourPrimaryTransactionsTable';
const minuteTable = '$MetricsMinutePrimaryTransactionsTable';
const on: MetricsProperties = {
  version: '1.0',
  enabled: true,
  includeApis: true,
  retention: { enabled: false },
};
const off: MetricsProperties = { version: '1.0', enabled: false, retention: { enabled: false } };

/** A process: its writer and services over a store. */
function processOver(store: Store) {
  const tables = new TableService({ store, clock: systemClock });
  const properties = new ServicePropertiesService(store);
  const services = { tables, properties };
  const metrics = new RequestMetrics();
  const writer = new MetricsWriter({ store, services });
  return {
    ...services,
    writer,
    count(operation: string, times = 1, endMicros = begun) {
      for (let time = 0; time < times; time += 1) {
        metrics.count({
          endMicros,
          account: 'acct',
          service: 'table',
          location: 'Primary',
          operation,
          outcome: 'Success',
          caller: 'owner',
          ingressBytes: 10,
          egressBytes: 20,
          endToEndMs: 4,
          serverMs: 2,
        });
      }
    },
    async write() {
      writer.add(metrics.take());
      await writer.write();
    },
  };
}

const open = async (engine: EngineName, t: TestContext) =>
  withPartitionRule(await openTestStore(engine, t, systemClock));

/** The requests in the rows of a table: `partition row requests`. */
async function rows(tables: TableService, table: string): Promise<string[]> {
  try {
    const { entities } = await tables.queryEntities('acct', table, {});
    return entities.map(({ partitionKey, rowKey, bag }) => {
      const count = decodeBag(bag).find(({ name }) => name === 'TotalRequests')?.value.value;
      return `${partitionKey} ${rowKey} ${String(count)}`;
    });
  } catch (error) {
    if (error instanceof StorageError) return [error.code];
    throw error;
  }
}

for (const engine of engineNames) {
  describe(`tables of metrics over ${engine}`, () => {
    it('get what several processes count, and none overwrites what another wrote', async (t) => {
      const store = await open(engine, t);
      const processes = Array.from({ length: 4 }, () => processOver(store));
      for (let round = 0; round < 5; round += 1) {
        for (const each of processes) {
          each.count('InsertEntity', 3);
          each.count('QueryEntity', 2);
        }
        await Promise.all(processes.map((each) => each.write()));
      }
      const { tables } = processOver(store);
      assert.deepEqual(await rows(tables, hourTable), [
        '20240301T1200 user;All 100',
        '20240301T1200 user;InsertEntity 60',
        '20240301T1200 user;QueryEntity 40',
      ]);
      assert.deepEqual(await rows(tables, minuteTable), ['TableNotFound']);
    });
  });
}

describe('tables of metrics', () => {
  it('have what the properties of the service switch on', async (t) => {
    const store = await open('memory', t);
    const one = processOver(store);
    const { properties, tables } = one;
    const minuteMetrics = { ...on, includeApis: false };
    await properties.set('table', 'acct', { hourMetrics: off, minuteMetrics });
    one.count('InsertEntity', 2);
    one.count('InsertEntity', 1, begun + 60_000_000);
    await one.write();
    assert.deepEqual(await rows(tables, hourTable), ['TableNotFound']);
    assert.deepEqual(await rows(tables, minuteTable), [
      '20240301T1230 user;All 2',
      '20240301T1231 user;All 1',
    ]);
    await properties.set('table', 'acct', { minuteMetrics: off });
    one.count('InsertEntity');
    await one.write();
    assert.equal((await rows(tables, minuteTable)).length, 2);
  });

  it('have a row for an hour without requests, which adds nothing to one with some', async (t) => {
    const store = await open('memory', t);
    const one = processOver(store);
    const hour = begun - 30 * 60_000_000;
    await one.properties.set('table', 'other', { hourMetrics: off });
    await one.writer.closeHour(['acct', 'other'], hour);
    assert.deepEqual(await rows(one.tables, hourTable), ['20240301T1200 user;All 0']);
    one.count('InsertEntity', 2);
    await one.write();
    await one.writer.closeHour(['acct'], hour);
    assert.deepEqual(await rows(one.tables, hourTable), [
      '20240301T1200 user;All 2',
      '20240301T1200 user;InsertEntity 2',
    ]);
    const others = await one.tables.systemTables('other');
    assert.ok(others.length > 0);
    assert.ok(others.every(({ name }) => name !== hourTable));
  });

  it('get later what a store did not take, once', async (t) => {
    const store = await open('memory', t);
    let failure: Error | undefined;
    const failing = Object.create(store, {
      commit: {
        value: (batch: Parameters<Store['commit']>[0]) =>
          failure === undefined ? store.commit(batch) : Promise.reject(failure),
      },
    }) as Store;
    const one = processOver(failing);
    one.count('InsertEntity', 2);
    await one.write();
    failure = new Error('full');
    one.count('InsertEntity', 3);
    await assert.rejects(one.write(), failure);
    one.count('QueryEntity', 4);
    await assert.rejects(one.write(), failure);
    failure = undefined;
    await one.write();
    await one.write();
    assert.deepEqual(await rows(one.tables, hourTable), [
      '20240301T1200 user;All 9',
      '20240301T1200 user;InsertEntity 5',
      '20240301T1200 user;QueryEntity 4',
    ]);
    failure = new CommitUnknownError('may have been written');
    one.count('InsertEntity');
    await assert.rejects(one.write(), failure);
    failure = undefined;
    await one.write();
    assert.equal((await rows(one.tables, hourTable))[0], '20240301T1200 user;All 9');
  });

  it('lose the oldest when a store takes nothing for hours', async (t) => {
    const one = processOver(await open('memory', t));
    const metrics = new RequestMetrics();
    let dropped = 0;
    for (let at = 0; at < 1200; at += 1) {
      metrics.count({
        endMicros: begun + at * 60_000_000,
        account: 'acct',
        service: 'table',
        location: 'Primary',
        operation: 'InsertEntity',
        outcome: 'Success',
        caller: 'owner',
        ingressBytes: 0,
        egressBytes: 0,
        endToEndMs: 0,
        serverMs: 0,
      });
      dropped += one.writer.add(metrics.take());
    }
    // Twenty and a half hours, and as many minutes.
    assert.equal(dropped, 1200 + 21 - 1000);
  });
});
