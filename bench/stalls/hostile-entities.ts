import {
  bodyBytesMax,
  filled,
  headerBytesMax,
  type HostileRequest,
  type PlainRequest,
} from './hostile-request.js';
import { bigEntity, bigTable, rowKey, wideEntity, wideTable } from './world.js';

const json = { 'Content-Type': 'application/json' };
const service = 'table';
const keys = '"PartitionKey":"p","RowKey":"hostile"';
const wide = `/${wideTable}()`;
const wideRow = `/${wideTable}(PartitionKey='p',RowKey='${rowKey(7)}')`;
const bigRow = `/${bigTable}(PartitionKey='p',RowKey='${rowKey(7)}')`;
const big = bigEntity('hostile');
const hostileRow = `/${bigTable}(PartitionKey='p',RowKey='hostile')`;
const deleteHostile: PlainRequest = {
  service,
  method: 'DELETE',
  path: hostileRow,
  headers: { 'If-Match': '*' },
};

function filter(text: string): string {
  return `?$filter=${encodeURIComponent(text).replaceAll('%20', '+').replaceAll('%27', "'")}`;
}

/** Longest filter of these terms that fits into a request. */
export function longFilter(separator: string, term: (place: number) => string): string {
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
export function bodyOf(member: (place: number) => string): string {
  return `{${keys},${filled(bodyBytesMax - 200, ',', member)}}`;
}

function bodyOfMany(count: number, member: (place: number) => string): string {
  return `{${keys},${Array.from({ length: count }, (_, place) => member(place)).join()}}`;
}

const bodies: readonly (readonly [what: string, body: string])[] = [
  ['most names', bodyOf((place) => `"p${place.toString(36)}":1`)],
  ['most nulls', bodyOf((place) => `"p${place.toString(36)}":null`)],
  ['most metadata', bodyOf((place) => `"odata.p${place.toString(36)}":1`)],
  ['4 MiB of white space', `{${keys}${' '.repeat(bodyBytesMax - 200)}}`],
  ['deepest nesting', `{${keys},"odata.x":${'['.repeat(2_000_000)}`],
  ['one number of 4 MiB', `{${keys},"n":${'9'.repeat(bodyBytesMax - 200)}}`],
  ['one text of escapes', `{${keys},"t":"${'\\n'.repeat(bodyBytesMax / 2 - 200)}"}`],
  ['most nulls that are taken', bodyOfMany(19_000, (place) => `"p${place.toString(36)}":null`)],
  ['1 MiB in escapes', `{${keys},${escapedTexts()}}`],
  ['an entity of 1 MiB', big],
];

/** Texts that take six characters of JSON for each of theirs. */
function escapedTexts(): string {
  const text = '\\u00e9'.repeat(32_000);
  return Array.from({ length: 16 }, (_, place) => `"t${place}":"${text}"`).join();
}

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

/** The most hostile requests known of each operation of entities. */
export const hostileEntityRequests: readonly HostileRequest[] = [
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
  {
    operation: 'GetEntity',
    what: 'most columns that the row lacks',
    service,
    method: 'GET',
    path: `${bigRow}?$select=${filled(55_000, ',', (place) => `q${place.toString(36)}`)}`,
  },
  ...bodies.map(([what, body]): HostileRequest => {
    const path = `/${bigTable}`;
    const before = [deleteHostile];
    const operation = 'InsertEntity';
    return { operation, what, service, method: 'POST', path, headers: json, body, before };
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
  {
    operation: 'DeleteEntity',
    what: '1 MiB',
    ...deleteHostile,
    before: [{ service, method: 'PUT', path: hostileRow, headers: json, body: big }],
  },
  ...batches.map(([what, body]): HostileRequest => {
    const operation = 'EntityGroupTransaction';
    return { operation, what, service, method: 'POST', path: '/$batch', headers: multipart, body };
  }),
];
