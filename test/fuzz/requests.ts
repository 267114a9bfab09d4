import type { SimRandom } from '../support/sim-random.js';
import { changesetBody, plainBatchBody, type Operation } from '../wire/kit/batch.js';
import { entityPath } from '../wire/kit/client.js';

/** A request in its parts, ready to be spoiled. The path has no account in front of it. */
export interface FuzzRequest {
  readonly service: 'table' | 'queue';
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export const fuzzTables = ['fuzza', 'FuzzB', 'fuzzc'];
const service = 'table' as const;
const json = { 'Content-Type': 'application/json' };
const bodies = [
  '{"PartitionKey":"p","RowKey":"r","n":1,"s":"text","d":3.5,"b":true}',
  '{"PartitionKey":"p","RowKey":"r2","l@odata.type":"Edm.Int64","l":"9007199254740993"}',
  '{"PartitionKey":"","RowKey":"","t@odata.type":"Edm.DateTime","t":"2024-05-05T05:05:05.2Z"}',
  '{"PartitionKey":"q","RowKey":"O\'Neil","g":"c9da6455-213d-42c9-9a79-3e9149a57833","g@odata.type":"Edm.Guid"}',
  '{"PartitionKey":"q","RowKey":"x","bin@odata.type":"Edm.Binary","bin":"AAECAw==","nan@odata.type":"Edm.Double","nan":"NaN"}',
  '{"odata.etag":"W/\\"x\\"","Timestamp":"2024-01-01T00:00:00Z","n":null}',
  '{}',
];
const filters = [
  "PartitionKey eq 'p'",
  "PartitionKey ge 'p' and RowKey lt 'z' or not (n gt 3)",
  "(t ge datetime'2024-01-01T00:00:00Z') and b",
  "g eq guid'c9da6455-213d-42c9-9a79-3e9149a57833' or bin eq X'00ff' or l gt 5L",
  "3.5 lt d and s ne 'it''s'",
  'false',
];
const ifMatches = ['*', 'W/"datetime\'2024-05-05T05%3A05%3A05.2Z\'"'];
const keys = ['p', 'q', 'r', 'r2', '', "O'Neil", 'a b', '%', '日本'];

/** A request that a client may well send. */
export function soundRequest(random: SimRandom): FuzzRequest {
  const table = random.pick(fuzzTables);
  const kind = random.weighted({
    tables: 3,
    create: 5,
    drop: 1,
    insert: 8,
    write: 10,
    remove: 3,
    read: 5,
    query: 12,
    batch: 10,
    service: 3,
  });
  const request = { service, query: [], headers: {}, body: undefined };
  const entity = entityPath(table, random.pick(keys), random.pick(keys));
  switch (kind) {
    case 'tables':
      return { ...request, method: 'GET', path: '/Tables', query: queryOf(random) };
    case 'create':
      return {
        ...request,
        method: 'POST',
        path: '/Tables',
        headers: json,
        body: `{"TableName":"${table}"}`,
      };
    case 'drop':
      return { ...request, method: 'DELETE', path: `/Tables('${table}')` };
    case 'insert': {
      const headers = { ...json, ...(random.chance(0.5) ? { Prefer: 'return-no-content' } : {}) };
      return { ...request, method: 'POST', path: `/${table}`, headers, body: random.pick(bodies) };
    }
    case 'write': {
      const method = random.pick(['PUT', 'MERGE', 'PATCH']);
      const headers = {
        ...json,
        ...(random.chance(0.5) ? { 'If-Match': random.pick(ifMatches) } : {}),
      };
      return { ...request, method, path: entity, headers, body: random.pick(bodies) };
    }
    case 'remove':
      return { ...request, method: 'DELETE', path: entity, headers: { 'If-Match': '*' } };
    case 'read':
      return { ...request, method: 'GET', path: entity, query: [['$select', 'n,s']] };
    case 'query':
      return { ...request, method: 'GET', path: `/${table}()`, query: queryOf(random) };
    case 'service':
      return {
        ...request,
        method: random.pick(['GET', 'PUT', 'OPTIONS']),
        path: '/',
        query: serviceOption(random),
      };
    default:
      return batchRequest(random, table);
  }
}

function queryOf(random: SimRandom): [string, string][] {
  const all: [string, string][] = [
    ['$filter', random.pick(filters)],
    ['$top', String(random.pick([0, 1, 10, 1000]))],
    ['$select', random.pick(['*', 'n', 'PartitionKey,RowKey,s', ''])],
    ['$format', 'application/json;odata=fullmetadata'],
    ['NextPartitionKey', '1!4!cA--'],
    ['NextRowKey', '1!0!'],
    ['NextTableName', '1!8!ZnV6emE-'],
    ['timeout', '30'],
  ];
  return all.filter(() => random.chance(0.3));
}

function serviceOption(random: SimRandom): [string, string][] {
  return [
    ['restype', 'service'],
    ['comp', random.pick(['properties', 'stats', 'acl'])],
  ];
}

function batchRequest(random: SimRandom, table: string): FuzzRequest {
  const base = 'http://127.0.0.1/devstoreaccount1';
  const operations = Array.from({ length: random.between(1, 5) }, (): Operation => {
    const { method, path, headers, body } = soundWrite(random, table);
    return {
      method,
      path,
      headers: { ...headers, Accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
    };
  });
  const query: Operation[] = [{ method: 'GET', path: `/${table}(PartitionKey='p',RowKey='r')` }];
  const text = random.chance(0.15) ? plainBatchBody(base, query) : changesetBody(base, operations);
  const body = random.chance(0.2) ? text.replaceAll('\r\n', '\n') : text;
  const boundary = /^--(\S+)/.exec(body)?.[1] ?? '';
  const headers = { 'Content-Type': `multipart/mixed; boundary=${boundary}` };
  return { service, method: 'POST', path: '/$batch', query: [], headers, body };
}

function soundWrite(random: SimRandom, table: string): FuzzRequest {
  const rowKey = `b${random.int(50)}`;
  const path = entityPath(table, 'p', rowKey);
  const body = `{"PartitionKey":"p","RowKey":"${rowKey}","n":${random.int(1000)}}`;
  const method = random.pick(['POST', 'PUT', 'MERGE', 'DELETE']);
  const request = { service, method, path, query: [], headers: json, body };
  if (method === 'POST') return { ...request, path: `/${table}` };
  if (method === 'DELETE') return { ...request, headers: { 'If-Match': '*' }, body: undefined };
  return request;
}
