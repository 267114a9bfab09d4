import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TabulariumServer } from '../../../src/app/index.js';
import { lenientItemNames, type LenientItem } from '../../../src/http/operations/request-rules.js';
import {
  sendChangeset,
  changesetError,
  assertChangesetDone,
  type Operation,
} from '../kit/batch.js';
import { entityPath, type WireClient } from '../kit/client.js';
import { lasting, sasQuery, tableSas } from '../kit/sas.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import { startFixture, startFixtureOf } from '../kit/server.js';

// Each item in both modes: as the cloud service, and lenient in this item alone. Permissions of
// upserts: src/http/tables/write-entity.test.ts.

const strict = await startFixture();

type Answer = readonly [status: number, code: string];

async function check(
  client: WireClient,
  request: Parameters<WireClient['send']>[0],
): Promise<Answer> {
  const response = await client.send(request);
  return [response.status, response.header('x-ms-error-code') ?? ''];
}

interface Case {
  /** Sends the request of the item; the table may be used for it. */
  readonly send: (client: WireClient, table: string) => Promise<unknown>;
  readonly refused: unknown;
  readonly accepted: unknown;
}

const manyProperties = (count: number, prefix = 'p') =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, at]));

const oddNames = { 'a-b': 1, 'c.d': 2, 'e f': 3, '1st': 4, 'g:h$i': 5 };

const cases: Readonly<Partial<Record<LenientItem, Case>>> = {
  clock: {
    send: (client) => check(client, { headers: { 'x-ms-date': 'Fri, 01 Mar 2019 12:00:00 GMT' } }),
    refused: [403, 'AuthenticationFailed'],
    accepted: [200, ''],
  },
  top: {
    send: async (client, table) => {
      await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
      const paths = [`/${table}()?$top=1001`, '/Tables?$top=5000', `/${table}()?$top=-1`];
      return Promise.all(paths.map((path) => check(client, { path })));
    },
    refused: Array.from({ length: 3 }, () => [400, 'InvalidInput']),
    accepted: [
      [200, ''],
      [200, ''],
      [400, 'InvalidInput'],
    ],
  },
  'query-options': {
    send: (client, table) => {
      const options = [
        '$orderby=Timestamp',
        '$skip=1',
        '$expand=x',
        '$count=true',
        '$inlinecount=',
      ];
      const paths = [...options.map((option) => `/${table}()?${option}`), '/Tables?$orderby=x'];
      return Promise.all(paths.map((path) => check(client, { path })));
    },
    refused: Array.from({ length: 6 }, () => [501, 'NotImplemented']),
    accepted: Array.from({ length: 6 }, () => [200, '']),
  },
  accept: {
    send: async (client, table) => {
      const accepts = ['application/atom+xml', undefined, 'text/html'];
      const path = `/${table}()`;
      const sent = accepts.map((Accept) => client.send({ path, headers: { Accept } }));
      const error = await client.send({ path: '/missing()', headers: { Accept: 'text/html' } });
      return [...(await Promise.all(sent)), error].map((response) => [
        response.status,
        response.header('content-type'),
      ]);
    },
    refused: Array.from({ length: 4 }, () => [415, 'application/xml;charset=utf-8']),
    accepted: [200, 200, 200, 404].map((status) => [
      status,
      'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
    ]),
  },
  'delete-etag': {
    send: async (client, table) => {
      await client.put(
        table,
        { PartitionKey: 'p', RowKey: 'r' },
        { PartitionKey: 'p', RowKey: 's' },
      );
      const single = await check(client, { method: 'DELETE', path: entityPath(table, 'p', 'r') });
      const deletion: Operation = {
        method: 'DELETE',
        path: entityPath(table, 'p', 's'),
        headers: { Accept: 'application/json' },
      };
      const response = await sendChangeset(client, [deletion]);
      const left = (await client.rowKeys(table)).length;
      if (left === 0) assertChangesetDone(response, [204]);
      else assert.equal(changesetError(response).status, 400);
      return [single, left];
    },
    refused: [[400, 'MissingRequiredHeader'], 2],
    accepted: [[204, ''], 0],
  },
  'property-count': {
    send: async (client, table) => {
      const keys = { PartitionKey: 'p', RowKey: 'r' };
      const inserted = await client.insert(table, { ...keys, ...manyProperties(300) });
      await client.insert(table, { ...keys, RowKey: 's', ...manyProperties(200) });
      const merged = await client.send({
        method: 'MERGE',
        path: entityPath(table, 'p', 's'),
        body: JSON.stringify(manyProperties(200, 'q')),
        headers: { 'If-Match': '*' },
      });
      const read = await client.get(table, 'p', 's');
      const count = Object.keys(read.json).filter((name) => /^[pq]\d/.test(name)).length;
      return [inserted.status, merged.status, count];
    },
    refused: [400, 400, 200],
    accepted: [201, 204, 400],
  },
  'property-names': {
    send: async (client, table) => {
      const keys = { PartitionKey: 'p', RowKey: 'r' };
      const inserted = await client.insert(table, { ...keys, ...oddNames });
      const read = await client.get(table, 'p', 'r');
      const back = Object.fromEntries(
        Object.entries(read.json).filter(([name]) => Object.hasOwn(oddNames, name)),
      );
      const worse = ['a"b', 'a\\b', 'a\nb', 'a,b', 'a@b', ''].map((name) =>
        client.insert(table, { ...keys, RowKey: 'w', [name]: 1 }),
      );
      const statuses = (await Promise.all(worse)).map(({ status }) => status);
      return [inserted.status, back, statuses];
    },
    refused: [400, {}, Array.from({ length: 6 }, () => 400)],
    accepted: [201, oddNames, Array.from({ length: 6 }, () => 400)],
  },
};

const reading = tableSas({ ...lasting, tn: 'tanycredential', sp: 'r' });

const credentialCases: typeof cases = {
  date: {
    send: (client) => check(client, { headers: { 'x-ms-date': undefined } }),
    refused: [403, 'AuthenticationFailed'],
    accepted: [200, ''],
  },
  'any-credential': {
    send: (client, table) => {
      const wrong = { Authorization: 'SharedKeyLite devstoreaccount1:AAAA' };
      const none = { Authorization: 'Basic YTpi' };
      const path = (query: string) => `/${table}()?${query}`;
      const wrongPermissions = sasQuery({ ...reading, sp: 'raud' });
      return Promise.all([
        check(client, { path: path(sasQuery(reading)), headers: wrong }),
        check(client, { path: path(sasQuery(reading)), headers: none }),
        check(client, { path: path(wrongPermissions) }),
        check(client, { path: path(wrongPermissions), headers: wrong }),
        check(client, { path: path('sig=x'), headers: wrong }),
        check(client, { path: path('$top=1'), headers: wrong }),
      ]);
    },
    refused: [
      [403, 'AuthenticationFailed'],
      [400, 'InvalidAuthenticationInfo'],
      [200, ''],
      [403, 'AuthenticationFailed'],
      [403, 'AuthenticationFailed'],
      [403, 'AuthenticationFailed'],
    ],
    accepted: [
      [200, ''],
      [200, ''],
      [200, ''],
      [403, 'AuthenticationFailed'],
      [403, 'AuthenticationFailed'],
      [403, 'AuthenticationFailed'],
    ],
  },
};

describe('a lenient server', () => {
  for (const [item, { send, refused, accepted }] of Object.entries({
    ...cases,
    ...credentialCases,
  })) {
    it(`does with '${item}' what the cloud refuses, and nothing else`, async (t) => {
      const lenient = await startFixtureOf(t, { lenient: [item as LenientItem] });
      const others = lenientItemNames.filter((name) => name !== item);
      const other = await startFixtureOf(t, { lenient: others });
      const table = `t${item.replaceAll(/[^a-z]/g, '')}`;
      for (const { client } of [strict, lenient, other]) await client.createTable(table);
      assert.deepEqual(await send(strict.client, table), refused, 'strict');
      assert.deepEqual(await send(lenient.client, table), accepted, 'lenient');
      // The clock decides over all requests, and is only one of many.
      if (item !== 'clock') assert.deepEqual(await send(other.client, table), refused, 'others');
    });
  }

  it('has no item without a test', () => {
    assert.deepEqual(
      [...Object.keys(cases), ...Object.keys(credentialCases), 'upsert-permissions'].sort(),
      [...lenientItemNames].sort(),
    );
  });

  it('compares a date that is there with the clock', async (t) => {
    const { client } = await startFixtureOf(t, { lenient: ['date'] });
    for (const date of ['Fri, 01 Mar 2019 12:00:00 GMT', 'today']) {
      const answer = await check(client, { headers: { 'x-ms-date': date } });
      assert.deepEqual(answer, [403, 'AuthenticationFailed']);
    }
  });

  for (const [name, open] of [
    ['queues', (server: TabulariumServer) => QueueWireClient.of(server)],
    ['blobs', (server: TabulariumServer) => BlobWireClient.of(server)],
  ] as const) {
    it(`takes requests to ${name} without a date or with an old one as well`, async (t) => {
      for (const [item, date] of [
        ['date', undefined],
        ['clock', 'Fri, 01 Mar 2019 12:00:00 GMT'],
      ] as const) {
        for (const lenient of [false, [item]] as const) {
          const { server } = await startFixtureOf(t, { lenient });
          const client = open(server);
          const { status } = await client.send({
            path: '/?comp=list',
            headers: { 'x-ms-date': date },
          });
          client.close();
          assert.equal(status, lenient === false ? 403 : 200);
        }
      }
    });
  }

  it('checks signatures, whatever is allowed', async (t) => {
    const { client } = await startFixtureOf(t, { lenient: true });
    const wrong = { Authorization: 'SharedKeyLite devstoreaccount1:AAAA' };
    assert.deepEqual(await check(client, { headers: wrong }), [403, 'AuthenticationFailed']);
    const { status } = await client.send({ headers: { Authorization: undefined } });
    assert.ok(status === 401 || status === 403, String(status));
  });
});
