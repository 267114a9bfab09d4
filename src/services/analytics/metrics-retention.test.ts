import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestStore } from '../../../test/support/stores.js';
import { manualClock } from '../../base/clock.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import { ServicePropertiesService } from '../accounts/service-properties.js';
import { TableService } from '../tables/table-service.js';
import { metricsRetention } from './metrics-retention.js';
import { MetricsWriter } from './metrics-writer.js';

const hour = 3_600_000_000;
const day = 24 * hour;
const begun = Date.UTC(2024, 2, 1, 12) * 1000;
const name = '$MetricsHourPrimaryTransactionsTable';

describe('rows of metrics', () => {
  it('are deleted after the days of their service, in bounded steps', async (t) => {
    const clock = manualClock(begun);
    const store = withPartitionRule(await openTestStore('memory', t, clock));
    const tables = new TableService({ store, clock });
    const properties = new ServicePropertiesService(store);
    const services = { tables, properties };
    const writer = new MetricsWriter({ store, services });
    for (let at = 0; at < 48; at += 1) await writer.closeHour(['acct', 'other'], begun + at * hour);
    const hourMetrics = { version: '1.0', enabled: false, retention: { enabled: true, days: 2 } };
    await properties.set('table', 'acct', { hourMetrics });
    const keepAll = { ...hourMetrics, retention: { enabled: false } };
    await properties.set('table', 'other', { hourMetrics: keepAll });
    const hours = async (account: string) => {
      const { entities } = await tables.queryEntities(account, name, {});
      return entities.map(({ partitionKey }) => partitionKey);
    };
    const retention = metricsRetention({ store, clock, ...services });
    const sweep = async () => {
      for (let steps = 0; ; steps += 1) {
        const { deleted, more } = await retention.step({ entriesMax: 3 });
        assert.ok(deleted <= 3);
        if (!more) return steps;
      }
    };
    clock.advanceMicros(2 * day);
    await sweep();
    assert.equal((await hours('acct')).length, 48);
    clock.advanceMicros(10 * hour);
    assert.ok((await sweep()) >= 3);
    const kept = await hours('acct');
    assert.equal(kept.length, 38);
    assert.equal(kept[0], '20240301T2200');
    assert.equal((await hours('other')).length, 48);
    // The queue service of both accounts keeps the default of a week.
    clock.advanceMicros(7 * day);
    await sweep();
    assert.equal((await hours('acct')).length, 0);
    const queues = '$MetricsHourPrimaryTransactionsQueue';
    assert.deepEqual((await tables.queryEntities('acct', queues, {})).entities, []);
  });

  it('are looked at once in an hour', async (t) => {
    const clock = manualClock(begun);
    const store = await openTestStore('memory', t, clock);
    let reads = 0;
    const counted = Object.create(store, {
      range: {
        value: (...args: Parameters<typeof store.range>) => {
          reads += 1;
          return store.range(...args);
        },
      },
    }) as typeof store;
    const tables = new TableService({ store: counted, clock });
    const properties = new ServicePropertiesService(counted);
    const retention = metricsRetention({ store: counted, clock, tables, properties });
    await retention.step({ entriesMax: 10 });
    const once = reads;
    assert.ok(once > 0);
    for (let at = 0; at < 5; at += 1) await retention.step({ entriesMax: 10 });
    assert.equal(reads, once);
    clock.advanceMicros(hour);
    await retention.step({ entriesMax: 10 });
    assert.equal(reads, 2 * once);
  });
});
