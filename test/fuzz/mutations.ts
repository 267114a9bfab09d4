import type { SimRandom } from '../support/sim-random.js';
import {
  queueHeaderValues,
  queueTokens,
  randomQueueOption,
  mutatedXml,
} from './queue-mutations.js';
import { fuzzQueues, soundQueueRequest } from './queue-requests.js';
import type { Credential } from './credentials.js';
import { guardedQueue, guardedTable } from './guarded.js';
import { fuzzTables, soundRequest, type FuzzRequest, type Rows } from './requests.js';
import { spliced } from './splice.js';

const pathTokens = [
  "'",
  "''",
  '(',
  ')',
  ',',
  '=',
  '/',
  '//',
  '\\',
  '%',
  '%2',
  '%zz',
  '%00',
  '%FF',
  '%C0%80',
  '%ED%A0%80',
  '%27',
  '%2F',
  '%252F',
  '.',
  '..',
  '$',
  '$batch',
  'Tables',
  ';',
  '@',
  '&',
  '[',
  '{',
  '|',
  '^',
  '`',
  '~',
  "PartitionKey='",
  "RowKey='",
  '%F0%9F%98%80',
  '-secondary',
  '*',
  '!',
  'é',
  '\u00ff',
];
const valueTokens = [
  '',
  '0',
  '-1',
  '1e9',
  '99999999999999999999',
  'NaN',
  'null',
  "'",
  "''",
  '(',
  ')',
  ' ',
  '%',
  '\u0000',
  '\uffff',
  'and',
  'or',
  'not',
  'eq',
  'not not',
  "datetime'",
  "guid'x'",
  "X'0'",
  'L',
  '1!',
  '1!0!',
  '1!99!AAAA',
  '!',
  '*',
  'startswith(n,1)',
  'a/b',
  'true',
  '((((',
  '🙂',
  ',',
  ',,',
  '$value',
  'application/xml',
  'odata=verbose',
  '+',
];
const jsonTokens = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u',
  '\\ud800',
  'null',
  'true',
  '1',
  '-',
  '1e',
  '1e999',
  '01',
  '0x1',
  'NaN',
  '"odata.type"',
  '"n@odata.type":"Edm.Int32",',
  '"n@odata.type":5,',
  '"@odata.type":"Edm.String",',
  '"PartitionKey":5,',
  '"RowKey":null,',
  '"n":{"a":1},',
  '"n":[1,2],',
  '\u0000',
  '\t',
  '\n',
  '🙂',
  '//',
  '/*',
  '"x-y":1,',
  '"__proto__":1,',
  '"Timestamp":[],',
  '9223372036854775808',
  '"9223372036854775808"',
];
const lineTokens = [
  '',
  '--',
  'Content-Type: application/http',
  'Content-Type: multipart/mixed; boundary=x',
  'Content-ID: 7',
  'Content-Length: 99999',
  'If-Match: *',
  'X-HTTP-Method: MERGE',
  'GET / HTTP/1.1',
  'POST /$batch HTTP/1.1',
  'Transfer-Encoding: chunked',
  ': no name',
  'Host:',
  '{}',
  'HTTP/1.1',
  'PUT http://[::1/x HTTP/1.1',
  ' folded',
];
const headerValues: Readonly<Record<string, readonly string[]>> = {
  Accept: [
    '',
    '*/*',
    'application/atom+xml',
    'application/json;odata=verbose',
    ',,;',
    'text/html',
    'q'.repeat(3000),
  ],
  'Content-Type': [
    '',
    'text/plain',
    'multipart/mixed',
    'multipart/mixed; boundary=',
    'multipart/mixed; boundary="a',
    'application/xml',
  ],
  'If-Match': [
    '',
    '*',
    'W/',
    'W/""',
    '"x"',
    'W/"a", W/"b"',
    'W/"datetime\'9999-99-99T99%3A99%3A99Z\'"',
    'é',
  ],
  'If-None-Match': ['*', 'W/"x"'],
  Prefer: ['return-content', 'return-no-content', 'respond-async', ''],
  'X-HTTP-Method': ['MERGE', 'PUT', 'DELETE', 'GET', 'NOPE', '', 'merge'],
  'x-ms-version': [
    '',
    '2009-09-19',
    '2011-08-18',
    '2013-08-15',
    '2015-12-11',
    '2026-06-06',
    '2099-01-01',
    '2019-02-29',
    '0000-00-00',
    'latest',
    'é',
    '1'.repeat(1000),
    '2019-02-02, 2019-02-02',
  ],
  'x-ms-client-request-id': ['', 'x'.repeat(2000), 'é'],
  DataServiceVersion: ['', '1.0', 'x'],
  MaxDataServiceVersion: ['9.9', ''],
  'Content-MD5': ['', 'AAAA', 'not base64 at all'],
  Origin: [
    'http://a.example',
    'null',
    '',
    '*',
    'http://a.example, http://b.example',
    'é',
    'x'.repeat(3000),
  ],
  'Access-Control-Request-Method': ['GET', 'PUT', '', 'get', '*', 'GET, PUT', 'é', 'MERGE'],
  'Access-Control-Request-Headers': [
    '',
    'x-a',
    'x-a,,x-b',
    ',',
    '*',
    'x-ms-date, é',
    'x-a,'.repeat(2000),
  ],
  Expect: ['100-continue', 'miracles', ''],
  Connection: ['close', 'keep-alive', 'upgrade', ''],
  'If-Modified-Since': ['', 'yesterday'],
  'Content-Encoding': ['gzip', 'identity'],
  'x-ms-date': ['', 'yesterday', 'Fri, 21 Nov 1905 10:00:00 GMT'],
  Authorization: [
    '',
    'SharedKey',
    'SharedKey a:b:c',
    'SharedKeyLite devstoreaccount1:AAAA',
    'Bearer x.y.z',
    'Basic eDp5',
  ],
  Range: ['bytes=0-1'],
  Host: ['', 'example.com', 'a.table.core.windows.net', '[::1]:80', 'x'.repeat(300)],
};
const methods = [
  'GET',
  'PUT',
  'POST',
  'DELETE',
  'MERGE',
  'PATCH',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'LOCK',
  'M-SEARCH',
  'ACL',
  'get',
  'FROB',
  'X'.repeat(300),
];

/** Tables that every request may change, and the one that narrow credentials must not reach. */
const rowsOfNarrow: Rows = {
  tables: [guardedTable, guardedTable, guardedTable.toLowerCase(), ...fuzzTables],
  partitions: ['own', 'own', 'own', 'vault', 'a-vault', 'p'],
  rows: ['a1', 'a1', 'm', 'n0', 'n1', '0', '1', 'r'],
};
const queuesOfNarrow = [guardedQueue, ...fuzzQueues];

/** A valid request with some parts changed. It asks for guarded content if `reach` allows it. */
export function fuzzRequest(
  random: SimRandom,
  service: FuzzRequest['service'],
  { reach, isOwner, container }: Credential,
): FuzzRequest {
  const isOfAll = reach === 'all';
  // Mostly the container that the signature is for, or else all requests would be refused for it.
  const meant = container !== undefined && random.chance(0.8) ? [container] : undefined;
  let request =
    service === 'queue'
      ? soundQueueRequest(random, meant ?? (isOfAll ? fuzzQueues : queuesOfNarrow))
      : soundRequest(
          random,
          isOfAll ? undefined : { ...rowsOfNarrow, ...(meant && { tables: meant }) },
        );
  const rounds = isOwner ? [0, 1, 1, 1, 2, 3, 6] : [0, 0, 0, 1, 1, 2, 4];
  for (let left = random.pick(rounds); left > 0; left -= 1) {
    request = mutated(random, request);
  }
  return request;
}

function mutated(random: SimRandom, request: FuzzRequest): FuzzRequest {
  const { service, path, query, headers, body } = request;
  const isOfQueues = service === 'queue';
  const tokens = isOfQueues ? queueTokens : [];
  const part = random.weighted({
    path: 5,
    query: query.length > 0 ? 8 : 0,
    option: 3,
    header: 6,
    method: 2,
    body: body === undefined ? 1 : 12,
  });
  switch (part) {
    case 'path':
      return { ...request, path: `/${spliced(random, path.slice(1), [...pathTokens, ...tokens])}` };
    case 'query': {
      const index = random.int(query.length);
      return {
        ...request,
        query: query.map(([name, value], at) =>
          at === index
            ? [name, spliced(random, value, [...valueTokens, ...tokens])]
            : [name, value],
        ),
      };
    }
    case 'option':
      return {
        ...request,
        query: [...query, isOfQueues ? randomQueueOption(random) : randomOption(random)],
      };
    case 'header': {
      const values = isOfQueues ? { ...headerValues, ...queueHeaderValues } : headerValues;
      const name = random.pick(Object.keys(values));
      return { ...request, headers: { ...headers, [name]: random.pick(values[name] ?? ['']) } };
    }
    case 'method':
      return { ...request, method: random.pick(methods) };
    default:
      return {
        ...request,
        body:
          isOfQueues || body?.startsWith('<') === true
            ? mutatedXml(random, body ?? '')
            : mutatedBody(random, path, body ?? ''),
      };
  }
}

function randomOption(random: SimRandom): [string, string] {
  const name = random.pick([
    '$filter',
    '$top',
    '$orderby',
    '$skip',
    'comp',
    'restype',
    'sig',
    'sv',
    'timeout',
    'x',
    '',
  ]);
  if (name === '$filter' && random.chance(0.3)) return [name, deepFilter(random)];
  return [name, random.pick([...valueTokens, 'acl', 'service', ...fuzzTables])];
}

function deepFilter(random: SimRandom): string {
  const count = random.between(10, 3000);
  return random.chance(0.5)
    ? `${'('.repeat(count)}n eq 1${')'.repeat(random.chance(0.7) ? count : count - 1)}`
    : Array.from({ length: count }, () => 'n eq 1').join(random.pick([' or ', ' and ']));
}

function mutatedBody(random: SimRandom, path: string, body: string): string {
  if (path.includes('batch') && random.chance(0.8)) return mutatedLines(random, body);
  switch (random.weighted({ splice: 10, nest: 1, long: 1, many: 1, empty: 1, other: 1 })) {
    case 'splice':
      return spliced(random, body, jsonTokens);
    case 'nest':
      return `{"n":${'['.repeat(random.between(10, 50_000))}`;
    case 'long':
      return body.replace('"', `"long":"${'x'.repeat(random.between(30_000, 70_000))}","`);
    case 'many': {
      const members = Array.from(
        { length: random.between(250, 600) },
        (_, index) => `"p${index}":${index}`,
      );
      return `{${members.join(',')}}`;
    }
    case 'empty':
      return '';
    default:
      return soundRequest(random).body ?? '[]';
  }
}

function mutatedLines(random: SimRandom, body: string): string {
  const lines = body.split('\n');
  const at = random.int(lines.length);
  const line = lines[at] ?? '';
  switch (
    random.weighted({ drop: 3, twice: 2, insert: 4, splice: 4, swap: 1, cut: 2, repeat: 1 })
  ) {
    case 'drop':
      lines.splice(at, 1);
      break;
    case 'twice':
      lines.splice(at, 0, line);
      break;
    case 'insert':
      lines.splice(at, 0, `${random.pick(lineTokens)}\r`);
      break;
    case 'splice':
      lines[at] = spliced(random, line, [...jsonTokens, ...pathTokens]);
      break;
    case 'swap':
      lines.splice(at, 1);
      lines.splice(random.int(lines.length + 1), 0, line);
      break;
    case 'cut':
      return body.slice(0, random.int(body.length));
    default:
      return body + body;
  }
  return lines.join('\n');
}
