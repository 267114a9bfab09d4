import { bodyBytesMax, filled, headerBytesMax, type HostileRequest } from './hostile-request.js';
import { bigEntity, bigTable, rowKey, wideEntity, wideTable } from './world.js';

const json = { 'Content-Type': 'application/json' };
const service = 'table';
const keys = '"PartitionKey":"p","RowKey":"hostile"';
const wide = `/${wideTable}()`;
const wideRow = `/${wideTable}(PartitionKey='p',RowKey='${rowKey(7)}')`;
const bigRow = `/${bigTable}(PartitionKey='p',RowKey='${rowKey(7)}')`;
const big = bigEntity('hostile');

function filter(text: string): string {
  return `?$filter=${encodeURIComponent(text).replaceAll('%20', '+').replaceAll('%27', "'")}`;
}

/** Longest filter of these terms that fits into a request. */
function longFilter(separator: string, term: (place: number) => string): string {
  return filter(filled(headerBytesMax - 2_000, separator, term));
}

const filters: readonly (readonly [what: string, query: string])[] = [
  ['most values of one property', longFilter(' or ', (place) => `P249 eq ${place + 1_000}`)],
  ['most ranges of one property', longFilter(' or ', (place) => `P249 gt ${place + 1_000}`)],
  ['most properties', longFilter(' or ', (place) => `P${place % 250} gt ${place + 999}`)],
  ['most names that no row has', longFilter(' or ', (place) => `Q${place} eq 1`)],
  ['most keys to leave out', longFilter(' and ', (place) => `RowKey ne '${place}'`)],
  [
    'most partitions and rows to leave out',
    longFilter(' and ', (place) => `${place % 2 === 0 ? 'RowKey' : 'PartitionKey'} ne '${place}'`),
  ],
  [
    'most overlapping ranges of keys',
    longFilter(' or ', (place) => `(PartitionKey gt '${place}' and RowKey eq '${place}')`),
  ],
  ['deepest nesting', filter(`${'('.repeat(20_000)}P1 eq 2000${')'.repeat(20_000)}`)],
];

/** Members that each have to be looked at, in a body of 4 MiB. */
function bodyOf(member: (place: number) => string): string {
  return `{${keys},${filled(bodyBytesMax - 200, ',', member)}}`;
}

const bodies: readonly (readonly [what: string, body: string])[] = [
  ['most names', bodyOf((place) => `"p${place.toString(36)}":1`)],
  ['most nulls', bodyOf((place) => `"p${place.toString(36)}":null`)],
  ['most metadata', bodyOf((place) => `"odata.p${place.toString(36)}":1`)],
  ['4 MiB of white space', `{${keys}${' '.repeat(bodyBytesMax - 200)}}`],
  ['deepest nesting', `{${keys},"odata.x":${'['.repeat(2_000_000)}`],
  ['one number of 4 MiB', `{${keys},"n":${'9'.repeat(bodyBytesMax - 200)}}`],
  ['one text of escapes', `{${keys},"t":"${'\\n'.repeat(bodyBytesMax / 2 - 200)}"}`],
  ['an entity of 1 MiB', big],
];

const boundary = 'batch_stalls';
const multipart = { 'Content-Type': `multipart/mixed; boundary=${boundary}` };

function changeset(parts: readonly string[]): string {
  const inner = parts.map(
    (body) =>
      `--changes\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n` +
      `PUT http://127.0.0.1/devstoreaccount1/${wideTable}(PartitionKey='p',RowKey='${
        /"RowKey":"([^"]*)"/.exec(body)?.[1] ?? ''
      }') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n${body}\r\n`,
  );
  return (
    `--${boundary}\r\nContent-Type: multipart/mixed; boundary=changes\r\n\r\n` +
    `${inner.join('')}--changes--\r\n--${boundary}--\r\n`
  );
}

const batches: readonly (readonly [what: string, body: string])[] = [
  [
    '100 entities of 250 properties',
    changeset(Array.from({ length: 100 }, (_, place) => wideEntity(`b${place}`))),
  ],
  ['4 MiB in four entities', changeset(['a', 'b', 'c', 'd'].map((row) => bigEntity(row)))],
  ['most delimiters', `--${boundary}\r\n`.repeat(bodyBytesMax / 20)],
  ['4 MiB of line breaks', '\r\n'.repeat(bodyBytesMax / 2 - 100)],
];

const identifier = (place: number): string =>
  `<SignedIdentifier><Id>${place}</Id><AccessPolicy/></SignedIdentifier>`;
export const hostilePolicies = `<SignedIdentifiers>${filled(64_000, '', identifier)}</SignedIdentifiers>`;
export const hostileProperties = `<StorageServiceProperties>${filled(64_000, '', () => '<Cors/>')}</StorageServiceProperties>`;

/** The most hostile requests known of each operation of tables. */
export const hostileTableRequests: readonly HostileRequest[] = [
  ...filters.map(([what, query]): HostileRequest => {
    return { operation: 'QueryEntities', what, service, method: 'GET', path: `${wide}${query}` };
  }),
  {
    operation: 'QueryEntities',
    what: 'the largest page, with full metadata',
    service,
    method: 'GET',
    path: `/${bigTable}()`,
    headers: { Accept: 'application/json;odata=fullmetadata' },
  },
  {
    operation: 'QueryEntities',
    what: 'most columns of most rows',
    service,
    method: 'GET',
    path: `${wide}?$select=${Array.from({ length: 250 }, (_, place) => `P${249 - place}`).join()}`,
    headers: { Accept: 'application/json;odata=fullmetadata' },
  },
  {
    operation: 'QueryEntities',
    what: 'most columns that no row has',
    service,
    method: 'GET',
    path: `${wide}?$select=${Array.from({ length: 255 }, (_, place) => `${'Q'.repeat(230)}${place}`).join()}`,
  },
  {
    operation: 'QueryEntities',
    what: 'the longest token',
    service,
    method: 'GET',
    path: `${wide}?NextPartitionKey=1!50000!${'A'.repeat(50_000)}`,
  },
  { operation: 'GetEntity', what: '1 MiB', service, method: 'GET', path: bigRow },
  ...bodies.map(([what, body]): HostileRequest => {
    const path = `/${bigTable}`;
    return { operation: 'InsertEntity', what, service, method: 'POST', path, headers: json, body };
  }),
  ...(['UpdateEntity', 'InsertOrReplaceEntity'] as const).map((operation): HostileRequest => {
    const headers = operation === 'UpdateEntity' ? { ...json, 'If-Match': '*' } : json;
    const what = 'an entity of 1 MiB';
    return { operation, what, service, method: 'PUT', path: bigRow, headers, body: big };
  }),
  ...(['MergeEntity', 'InsertOrMergeEntity'] as const).map((operation): HostileRequest => {
    const headers = operation === 'MergeEntity' ? { ...json, 'If-Match': '*' } : json;
    const what = '1 MiB into 1 MiB';
    return { operation, what, service, method: 'MERGE', path: bigRow, headers, body: big };
  }),
  {
    operation: 'DeleteEntity',
    what: 'the longest condition',
    service,
    method: 'DELETE',
    path: wideRow,
    headers: { 'If-Match': 'W/"x",'.repeat(9_000) },
  },
  ...batches.map(([what, body]): HostileRequest => {
    const operation = 'EntityGroupTransaction';
    return { operation, what, service, method: 'POST', path: '/$batch', headers: multipart, body };
  }),
  { operation: 'QueryTables', what: '1,000 tables', service, method: 'GET', path: '/Tables' },
  {
    operation: 'QueryTables',
    what: 'most names in a filter',
    service,
    method: 'GET',
    path: `/Tables${longFilter(' or ', (place) => `TableName eq 't${place}'`)}`,
  },
  { operation: 'GetTable', what: 'one', service, method: 'GET', path: `/Tables('${bigTable}')` },
  {
    operation: 'CreateTable',
    what: 'most names in the body',
    service,
    method: 'POST',
    path: '/Tables',
    headers: json,
    body: bodyOf((place) => `"p${place.toString(36)}":1`),
  },
  {
    operation: 'DeleteTable',
    what: 'the longest name',
    service,
    method: 'DELETE',
    path: `/Tables('${'x'.repeat(50_000)}')`,
  },
  { operation: 'GetTableAcl', what: 'one', service, method: 'GET', path: `/${bigTable}?comp=acl` },
  {
    operation: 'SetTableAcl',
    what: 'most policies',
    service,
    method: 'PUT',
    path: `/${bigTable}?comp=acl`,
    body: hostilePolicies,
  },
  ...(['GetTableServiceProperties', 'SetTableServiceProperties'] as const).map(
    (operation): HostileRequest => {
      const path = '/?restype=service&comp=properties';
      return operation === 'GetTableServiceProperties'
        ? { operation, what: 'one', service, method: 'GET', path }
        : { operation, what: 'most rules', service, method: 'PUT', path, body: hostileProperties };
    },
  ),
  {
    operation: 'GetTableServiceStats',
    what: 'one',
    service,
    method: 'GET',
    path: '/?restype=service&comp=stats',
  },
  {
    operation: 'PreflightTableRequest',
    what: 'most headers asked for',
    service,
    method: 'OPTIONS',
    path: `/${bigTable}`,
    headers: {
      Origin: 'https://stalls.example',
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': filled(55_000, ',', (place) => `h${place}`),
    },
  },
];
