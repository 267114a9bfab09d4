import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableServiceClient } from '@azure/data-tables';
import { QueueServiceClient, newPipeline } from '@azure/storage-queue';
import { overHttp, queueKey, queues, settings, tableKey, tables } from './server.js';

// Properties belong to a whole service: each test sets those that it looks at.

const retentionPolicy = { enabled: true, days: 5 };
const metrics = { version: '1.0', enabled: true, includeAPIs: true, retentionPolicy };
const logging = { version: '1.0', read: true, write: true, retentionPolicy };
const rule = (allowedOrigins, exposedHeaders, maxAgeInSeconds) => ({
  allowedOrigins,
  allowedMethods: 'GET,PUT',
  allowedHeaders: 'x-ms-*',
  exposedHeaders,
  maxAgeInSeconds,
});

const services = [
  {
    name: 'tables',
    client: tables,
    endpoint: settings.TableEndpoint,
    logging: 'logging',
    deletion: 'delete',
  },
  {
    name: 'queues',
    client: queues,
    endpoint: settings.QueueEndpoint,
    logging: 'queueAnalyticsLogging',
    deletion: 'deleteProperty',
  },
];

for (const { name, client, endpoint, logging: loggingName, deletion } of services) {
  describe(`properties of ${name}`, () => {
    const preflight = (origin, method, header) =>
      fetch(`${endpoint}/anything`, {
        method: 'OPTIONS',
        headers: {
          Origin: origin,
          'Access-Control-Request-Method': method,
          'Access-Control-Request-Headers': header,
        },
      });

    it('are set and got', async () => {
      const whole = { ...logging, [deletion]: false };
      await client.setProperties({
        [loggingName]: whole,
        hourMetrics: metrics,
        minuteMetrics: metrics,
        cors: [rule('http://a.example,http://b.example', 'x-ms-meta-a', 500)],
      });
      const found = await client.getProperties();
      assert.deepEqual(found[loggingName], whole);
      assert.deepEqual(found.hourMetrics, metrics);
      assert.deepEqual(found.minuteMetrics, metrics);
      assert.deepEqual(found.cors, [rule('http://a.example,http://b.example', 'x-ms-meta-a', 500)]);
    });

    it('say how preflights are answered', async () => {
      const properties = { hourMetrics: metrics, minuteMetrics: metrics };
      const cors = [rule('http://a.example', 'x-ms-*', 60)];
      await client.setProperties({ ...properties, cors });
      const answer = await preflight('http://a.example', 'PUT', 'x-ms-date');
      assert.equal(answer.status, 200);
      const headers = Object.fromEntries(answer.headers);
      assert.equal(headers['access-control-allow-origin'], 'http://a.example');
      assert.equal(headers['access-control-allow-methods'], 'PUT');
      assert.equal(headers['access-control-allow-headers'], 'x-ms-date');
      assert.equal(headers['access-control-max-age'], '60');
      for (const asked of [
        ['http://b.example', 'PUT', 'x-ms-date'],
        ['http://a.example', 'DELETE', 'x-ms-date'],
        ['http://a.example', 'PUT', 'content-type'],
      ]) {
        assert.equal((await preflight(...asked)).status, 403, asked.join(' '));
      }
      // CORS gives no rights: a request without a signature is refused, readably.
      const refusal = await fetch(`${endpoint}/anything`, {
        headers: { Origin: 'http://a.example' },
      });
      assert.ok(refusal.status >= 401);
      assert.equal(refusal.headers.get('access-control-allow-origin'), 'http://a.example');
      await client.setProperties({ ...properties, cors: [] });
      assert.equal((await preflight('http://a.example', 'PUT', 'x-ms-date')).status, 403);
    });
  });
}

describe('statistics', () => {
  it('of tables come from the secondary endpoint', async () => {
    const endpoint = `${settings.TableEndpoint}-secondary`;
    const { geoReplication } = await new TableServiceClient(
      endpoint,
      tableKey,
      overHttp,
    ).getStatistics();
    assert.equal(geoReplication.status, 'live');
  });

  it('of queues come from the secondary endpoint', async () => {
    const endpoint = `${settings.QueueEndpoint}-secondary`;
    const service = new QueueServiceClient(endpoint, newPipeline(queueKey));
    assert.equal((await service.getStatistics()).geoReplication.status, 'live');
  });
});
