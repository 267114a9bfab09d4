import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { systemClock } from '../../base/clock.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import { encodeTuple } from '../../kv/tuple.js';
import type { ServiceProperties } from '../../model/resources/service-properties.js';
import { servicePropertiesKey } from '../containers/keys.js';
import { defaultServiceProperties, ServicePropertiesService } from './service-properties.js';

const all: ServiceProperties = {
  logging: {
    version: '2.0',
    read: true,
    write: false,
    delete: true,
    retention: { enabled: true, days: 365 },
  },
  hourMetrics: { version: '1.0', enabled: false, retention: { enabled: false } },
  minuteMetrics: {
    version: '1.0',
    enabled: true,
    includeApis: false,
    retention: { enabled: true, days: 1 },
  },
  cors: [
    {
      allowedOrigins: ['http://a.example', '*'],
      allowedMethods: ['GET', 'PUT'],
      allowedHeaders: ['x-ms-meta-target*'],
      exposedHeaders: [],
      maxAgeSeconds: 500,
    },
    {
      allowedOrigins: ['https://ü.example'],
      allowedMethods: ['MERGE'],
      allowedHeaders: [],
      exposedHeaders: ['x-"quoted"'],
      maxAgeSeconds: 0,
    },
  ],
};

const open = async (engine: EngineName, t: TestContext) =>
  withPartitionRule(await openTestStore(engine, t, systemClock));

for (const engine of engineNames) {
  describe(`service properties over ${engine}`, () => {
    it('of a new account have hour metrics for a week and nothing else', async (t) => {
      const properties = new ServicePropertiesService(await open(engine, t));
      assert.deepEqual(await properties.get('queue', 'acct'), {
        logging: {
          version: '1.0',
          read: false,
          write: false,
          delete: false,
          retention: { enabled: false },
        },
        hourMetrics: {
          version: '1.0',
          enabled: true,
          includeApis: true,
          retention: { enabled: true, days: 7 },
        },
        minuteMetrics: { version: '1.0', enabled: false, retention: { enabled: false } },
        cors: [],
      });
    });

    it('come back as they were set, from every process', async (t) => {
      const store = await open(engine, t);
      await new ServicePropertiesService(store).set('queue', 'acct', all);
      assert.deepEqual(await new ServicePropertiesService(store).get('queue', 'acct'), all);
    });

    it('keep what a change does not mention', async (t) => {
      const properties = new ServicePropertiesService(await open(engine, t));
      await properties.set('queue', 'acct', { cors: all.cors });
      await properties.set('queue', 'acct', { logging: all.logging });
      const { cors, logging } = all;
      const expected = { ...defaultServiceProperties, cors, logging };
      assert.deepEqual(await properties.get('queue', 'acct'), expected);
      await properties.set('queue', 'acct', { cors: [] });
      assert.deepEqual(await properties.get('queue', 'acct'), { ...expected, cors: [] });
    });

    it('lose no change when several are made side by side', async (t) => {
      const store = await open(engine, t);
      const set = (change: Partial<ServiceProperties>) =>
        new ServicePropertiesService(store).set('queue', 'acct', change);
      const { cors, logging, hourMetrics, minuteMetrics } = all;
      await Promise.all([
        set({ cors }),
        set({ logging }),
        set({ hourMetrics }),
        set({ minuteMetrics }),
      ]);
      assert.deepEqual(await new ServicePropertiesService(store).get('queue', 'acct'), all);
    });

    it('belong to one service of one account', async (t) => {
      const properties = new ServicePropertiesService(await open(engine, t));
      await properties.set('queue', 'acct', all);
      assert.deepEqual(await properties.get('table', 'acct'), defaultServiceProperties);
      assert.deepEqual(await properties.get('queue', 'other'), defaultServiceProperties);
    });

    it('have of blobs the retention and the website, which are off', async (t) => {
      const properties = new ServicePropertiesService(await open(engine, t));
      const own = {
        deleteRetention: { enabled: false, allowPermanentDelete: false },
        staticWebsite: { enabled: false },
      };
      assert.deepEqual(await properties.get('blob', 'acct'), {
        ...defaultServiceProperties,
        ...own,
      });
      await properties.set('blob', 'acct', { cors: all.cors });
      assert.deepEqual(await properties.get('blob', 'acct'), {
        ...defaultServiceProperties,
        ...own,
        cors: all.cors,
      });
    });
  });
}

describe('rules about origins', () => {
  const [rule] = all.cors;
  const cors = rule === undefined ? [] : [rule];
  /** Lets a read end that has begun. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('are known at once in the process that sets them', async (t) => {
    const service = new ServicePropertiesService(await open('memory', t));
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 0), []);
    await service.set('queue', 'acct', { cors });
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 1), cors);
    assert.deepEqual(service.recentCorsRules('table', 'acct', 1), []);
    assert.deepEqual(service.recentCorsRules('queue', 'other', 1), []);
    await service.set('queue', 'acct', { logging: all.logging });
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 2), cors);
    await service.set('queue', 'acct', { cors: [] });
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 3), []);
  });

  it('of another process are asked for at most once a second', async (t) => {
    const store = await open('memory', t);
    let reads = 0;
    const counted = Object.create(store, {
      get: {
        value: (key: Uint8Array) => {
          reads += 1;
          return store.get(key);
        },
      },
    }) as typeof store;
    const [here, there] = [
      new ServicePropertiesService(counted),
      new ServicePropertiesService(store),
    ];
    await there.set('queue', 'acct', { cors });
    for (let nowMs = 5_000; nowMs < 6_000; nowMs += 100) {
      here.recentCorsRules('queue', 'acct', nowMs);
    }
    assert.equal(reads, 1);
    await settle();
    assert.deepEqual(here.recentCorsRules('queue', 'acct', 5_999), cors);
    await there.set('queue', 'acct', { cors: [] });
    assert.deepEqual(here.recentCorsRules('queue', 'acct', 5_999), cors);
    here.recentCorsRules('queue', 'acct', 6_000);
    await settle();
    assert.deepEqual(here.recentCorsRules('queue', 'acct', 6_001), []);
    assert.equal(reads, 2);
  });

  it('that were asked for before a change do not undo it', async (t) => {
    const store = await open('memory', t);
    const reads: (() => void)[] = [];
    const slow = Object.create(store, {
      get: {
        value: async (key: Uint8Array) => {
          const entry = await store.get(key);
          await new Promise<void>((resolve) => reads.push(resolve));
          return entry;
        },
      },
    }) as typeof store;
    const service = new ServicePropertiesService(slow);
    service.recentCorsRules('queue', 'acct', 0);
    const set = service.set('queue', 'acct', { cors });
    while (reads.length < 1) await settle();
    const [old] = reads;
    for (let turn = 0; turn < 20; turn += 1) {
      for (const resolve of reads.slice(1)) resolve();
      await settle();
    }
    await set;
    old?.();
    await settle();
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 1), cors);
  });

  it('stay what they were when the store cannot be read', async (t) => {
    const store = await open('memory', t);
    let fails = false;
    const failing = Object.create(store, {
      get: {
        value: (key: Uint8Array) => (fails ? Promise.reject(new Error('broken')) : store.get(key)),
      },
    }) as typeof store;
    const service = new ServicePropertiesService(failing);
    await service.set('queue', 'acct', { cors });
    fails = true;
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 9_000), cors);
    await settle();
    assert.deepEqual(service.recentCorsRules('queue', 'acct', 9_001), cors);
  });
});

describe('properties that were loaded', () => {
  it('are known at once in a process that has not set them', async (t) => {
    const store = await open('memory', t);
    await new ServicePropertiesService(store).set('queue', 'acct', all);
    const service = new ServicePropertiesService(store);
    await service.load('queue', 'acct');
    assert.deepEqual(service.recent('queue', 'acct', 0), all);
    await service.set('queue', 'acct', { cors: [] });
    await service.load('queue', 'acct');
    assert.deepEqual(service.recent('queue', 'acct', 0).cors, []);
  });
});

describe('logging', () => {
  it('is told of when it is on after a change, before the change is acknowledged', async (t) => {
    const logged: string[] = [];
    const store = await open('memory', t);
    const service = new ServicePropertiesService(store, {
      onLogging: async (account) => {
        await new Promise(setImmediate);
        logged.push(account);
      },
    });
    const off = { ...all.logging, read: false, delete: false };
    await service.set('queue', 'acct', { logging: off });
    assert.deepEqual(logged, []);
    await service.set('queue', 'acct', { logging: all.logging });
    assert.deepEqual(logged, ['acct']);
  });
});

describe('stored service properties', () => {
  it('of another format are refused', async (t) => {
    const store = await open('memory', t);
    const key = servicePropertiesKey('queue', 'acct');
    const puts = [{ key, value: encodeTuple([2, '{}']) }];
    await store.commit({ checks: [], puts, deletes: [] });
    const properties = new ServicePropertiesService(store);
    await assert.rejects(properties.get('queue', 'acct'), /format 2/);
    await assert.rejects(properties.set('queue', 'acct', all), /format 2/);
  });
});
