import type { SimRandom } from '../support/sim-random.js';
import { changesetBody, plainBatchBody, type Operation } from '../wire/kit/batch.js';
import { entityPath } from '../wire/kit/client.js';
import { continuationTo } from './continuations.js';
import { policiesXml, propertiesXml } from './documents.js';

/** A request in parts that can be changed. The path does not begin with the account. */
export interface FuzzRequest {
  readonly service: 'table' | 'queue';
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export const fuzzTables: readonly string[] = ['fuzza', 'FuzzB', 'fuzzc'];

/** The entities that requests refer to. */
export interface Rows {
  readonly tables: readonly string[];
  readonly partitions: readonly string[];
  readonly rows: readonly string[];
}

const service = 'table' as const;
const json = { 'Content-Type': 'application/json' };
const xml = { 'Content-Type': 'application/xml' };
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
const fuzzRows: Rows = { tables: fuzzTables, partitions: keys, rows: keys };

/** A valid table request. */
export function soundRequest(random: SimRandom, among = fuzzRows): FuzzRequest {
  const table = random.pick(among.tables);
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
    acl: 3,
  });
  const request = { service, query: [], headers: {}, body: undefined };
  const entity = entityPath(table, random.pick(among.partitions), random.pick(among.rows));
  switch (kind) {
    case 'tables':
      return { ...request, method: 'GET', path: '/Tables', query: queryOf(random, among) };
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
      return {
        ...request,
        method: 'POST',
        path: `/${table}`,
        headers,
        body: bodyOf(random, among),
      };
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
      return { ...request, method: 'GET', path: `/${table}()`, query: queryOf(random, among) };
    case 'service': {
      const method = random.pick(['GET', 'PUT', 'OPTIONS']);
      const body = method === 'PUT' ? { headers: xml, body: propertiesXml() } : {};
      return { ...request, method, path: '/', query: serviceOption(random), ...body };
    }
    case 'acl': {
      const method = random.pick(['GET', 'HEAD', 'PUT']);
      const body = method === 'PUT' ? { headers: xml, body: policiesXml('raud') } : {};
      return { ...request, method, path: `/${table}`, query: [['comp', 'acl']], ...body };
    }
    default:
      return batchRequest(random, table, among);
  }
}

function bodyOf(random: SimRandom, { partitions, rows }: Rows): string {
  if (random.chance(0.5)) return random.pick(bodies);
  return JSON.stringify({ PartitionKey: random.pick(partitions), RowKey: random.pick(rows), n: 1 });
}

function queryOf(random: SimRandom, { partitions, rows }: Rows): [string, string][] {
  const all: [string, string][] = [
    ['$filter', random.pick(filters)],
    ['$top', String(random.pick([0, 1, 10, 1000]))],
    ['$select', random.pick(['*', 'n', 'PartitionKey,RowKey,s', ''])],
    ['$format', 'application/json;odata=fullmetadata'],
    ['NextPartitionKey', continuationTo(random.pick(partitions))],
    ['NextRowKey', continuationTo(random.pick(rows))],
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

function batchRequest(random: SimRandom, table: string, among: Rows): FuzzRequest {
  const partition = random.pick(among.partitions);
  const base = 'http://127.0.0.1/devstoreaccount1';
  const operations = Array.from({ length: random.between(1, 5) }, (): Operation => {
    const row = random.chance(0.5) ? random.pick(among.rows) : `b${random.int(50)}`;
    const { method, path, headers, body } = soundWrite(random, table, [partition, row]);
    return {
      method,
      path,
      headers: { ...headers, Accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
    };
  });
  const query: Operation[] = [
    { method: 'GET', path: entityPath(table, partition, random.pick(among.rows)) },
  ];
  const text = random.chance(0.15) ? plainBatchBody(base, query) : changesetBody(base, operations);
  const body = random.chance(0.2) ? text.replaceAll('\r\n', '\n') : text;
  const boundary = /^--(\S+)/.exec(body)?.[1] ?? '';
  const headers = { 'Content-Type': `multipart/mixed; boundary=${boundary}` };
  return { service, method: 'POST', path: '/$batch', query: [], headers, body };
}

function soundWrite(
  random: SimRandom,
  table: string,
  [partition, row]: readonly [string, string],
): FuzzRequest {
  const path = entityPath(table, partition, row);
  const body = JSON.stringify({ PartitionKey: partition, RowKey: row, n: random.int(1000) });
  const method = random.pick(['POST', 'PUT', 'MERGE', 'DELETE']);
  const request = { service, method, path, query: [], headers: json, body };
  if (method === 'POST') return { ...request, path: `/${table}` };
  if (method === 'DELETE') return { ...request, headers: { 'If-Match': '*' }, body: undefined };
  return request;
}
