import { changesetBody, insertOperation, sendBatch, sendChangeset } from '../wire/kit/batch.js';
import { acceptNone, entityPath, type WireClient } from '../wire/kit/client.js';
import { messageBody, type QueueWireClient } from '../wire/kit/queue-client.js';
import { elementText } from '../wire/kit/queue-xml.js';
import type { Headers } from '../wire/kit/request-bytes.js';
import type { WireResponse } from '../wire/kit/response.js';
import { accountSas, queueSas, tableSas, withSas } from '../wire/kit/sas.js';

/**
 * What a server does with a request that the cloud service and Azurite treat differently, in the
 * words of docs/reference/compatibility.md. Both servers can be asked.
 */
export interface Difference<Client> {
  /** The first cell of the row. */
  readonly request: string;
  ask(client: Client): Promise<string>;
}

/** The status, and the code of an error in any form. */
export function outcome(response: WireResponse): string {
  const code =
    /"code":"(\w*)"/.exec(response.text)?.[1] ??
    /<(?:m:)?[Cc]ode>(\w*)</.exec(response.text)?.[1] ??
    response.header('x-ms-error-code');
  if (response.status < 400) return String(response.status);
  return code === undefined || code === ''
    ? `${response.status} without a code`
    : `${response.status} ${code}`;
}

/** The statuses in a batch response, with the code of the first error. */
function innerOutcome(response: WireResponse): string {
  if (response.status !== 202) return outcome(response);
  const statuses = [...response.text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status);
  const code = /"code":"(\w*)"/.exec(response.text)?.[1] ?? /<code>(\w*)</.exec(response.text)?.[1];
  return `202 with ${statuses.join(' and ')}${code === undefined ? '' : ` ${code}`}`;
}

/** The error message in a batch response, without request id and time. */
function innerMessage(response: WireResponse): string {
  return /"value":"(.*?)\\n/.exec(response.text)?.[1] ?? response.text;
}

const keys = { PartitionKey: 'p', RowKey: '1' };

/** A table with entities of these members, as JSON text, under the row keys 1, 2, … */
async function tableOf(client: WireClient, ...members: readonly string[]): Promise<string> {
  const table = await client.newTable('differs');
  for (const [index, text] of members.entries()) {
    await client.put(table, `{"PartitionKey":"p","RowKey":"${index + 1}"${text && `,${text}`}}`);
  }
  return table;
}

/** The response to an insert of these members, and the stored members when it succeeds. */
async function inserted(client: WireClient, members: string): Promise<string> {
  const table = await client.newTable('differs');
  const response = await client.insert(table, `{"PartitionKey":"p","RowKey":"1",${members}}`);
  if (response.status >= 300) return outcome(response);
  const read = await client.get(table, 'p', '1', { Accept: acceptNone });
  const value = /"[VDB]":("?)([^",}]+)\1/.exec(read.text)?.[2];
  return value === undefined ? 'stored' : `stored as ${value}`;
}

/** Inserts such entities; returns the row keys that a filter finds. */
async function found(client: WireClient, filter: string, ...members: string[]): Promise<string> {
  const table = await tableOf(client, ...members);
  const response = await client.query(table, { filter });
  if (response.status !== 200) return outcome(response);
  const rows = response.items.map(({ RowKey }) => String(RowKey));
  return rows.length === 0 ? 'no row' : `row ${rows.join(', ')}`;
}

async function asked(client: WireClient, path: string, headers: Headers = {}): Promise<string> {
  return outcome(
    await client.send({ path: path.replace('{table}', await tableOf(client, '"n":1')), headers }),
  );
}

const inserts = (client: WireClient, ...entities: readonly object[]) =>
  client.newTable('differs').then(async (table) => {
    const operations = entities.map((entity) => insertOperation(table, entity));
    return sendChangeset(client, operations);
  });

const date = (text: string) => `"D@odata.type":"Edm.DateTime","D":"${text}"`;
const binary = (text: string) => `"B@odata.type":"Edm.Binary","B":"${text}"`;
const int64 = (text: string) => `"L@odata.type":"Edm.Int64","L":"${text}"`;
const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
const hourAgo = () => new Date(Date.now() - 3_600_000).toUTCString();

/** What a signature with a key range allows outside of it. */
async function outsideOfRange(
  client: WireClient,
  ask: (table: string, token: ReturnType<typeof tableSas>) => Promise<WireResponse>,
): Promise<string> {
  const table = await client.newTable('differs');
  await client.put(
    table,
    { PartitionKey: 'secret', RowKey: '1' },
    { PartitionKey: 'a', RowKey: '1' },
  );
  const token = tableSas({ sv: '2019-02-02', sp: 'raud', tn: table, spk: 'a', epk: 'a' });
  const response = await ask(table, token);
  const partitions = /"value":\[/.test(response.text)
    ? ` of ${response.items.map(({ PartitionKey }) => String(PartitionKey)).join(', ')}`
    : '';
  return outcome(response) + partitions;
}

const auth = 'none' as const;

export const tableDifferences: readonly Difference<WireClient>[] = [
  {
    request: 'batch with inserts into two partitions',
    ask: async (client) =>
      innerOutcome(await inserts(client, keys, { PartitionKey: 'q', RowKey: '1' })),
  },
  {
    request: 'batch with a query beside a write in its changeset',
    async ask(client) {
      const table = await tableOf(client, '"n":1');
      const operations = [
        { method: 'GET', path: entityPath(table, 'p', '1') },
        insertOperation(table, { PartitionKey: 'p', RowKey: 'new' }),
      ];
      return innerOutcome(await sendBatch(client, changesetBody(client.base, operations)));
    },
  },
  {
    request: 'batch with an empty changeset',
    async ask(client) {
      const body = '--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--\r\n';
      return innerOutcome(await sendBatch(client, body, 'multipart/mixed; boundary=b'));
    },
  },
  {
    request: 'batch that names an entity twice: the message',
    ask: async (client) => innerMessage(await inserts(client, keys, keys)),
  },
  {
    request: 'batch with 101 operations: the message',
    ask: async (client) =>
      innerMessage(
        await inserts(
          client,
          ...Array.from({ length: 101 }, (_, index) => ({ PartitionKey: 'p', RowKey: `${index}` })),
        ),
      ),
  },
  {
    request: 'batch of two inserts: their etags',
    async ask(client) {
      const { text } = await inserts(client, keys, { PartitionKey: 'p', RowKey: '2' });
      const etags = [...text.matchAll(/^ETag: (.+)\r$/gm)].map(([, etag]) => etag);
      return etags[0] === etags[1] ? 'the same' : 'two';
    },
  },
  { request: 'insert of `1.0`', ask: (client) => inserted(client, '"V":1.0') },
  { request: 'insert of `1e0`', ask: (client) => inserted(client, '"V":1e0') },
  {
    request: 'insert of 18446744073709551615 as Edm.Int64',
    ask: (client) => inserted(client, '"V@odata.type":"Edm.Int64","V":"18446744073709551615"'),
  },
  {
    request: 'insert of 99999999999 as Edm.Int32',
    ask: (client) => inserted(client, '"V@odata.type":"Edm.Int32","V":"99999999999"'),
  },
  {
    request: 'insert of `abc` as Edm.Int64',
    ask: (client) => inserted(client, '"V@odata.type":"Edm.Int64","V":"abc"'),
  },
  {
    request: 'insert of `not-a-date` as Edm.DateTime',
    ask: (client) => inserted(client, date('not-a-date')),
  },
  {
    request: 'insert of `zzz` as Edm.Guid',
    ask: (client) => inserted(client, '"V@odata.type":"Edm.Guid","V":"zzz"'),
  },
  { request: 'insert of `***` as Edm.Binary', ask: (client) => inserted(client, binary('***')) },
  {
    request: 'insert of a date in the year 1500',
    ask: (client) => inserted(client, date('1500-01-01T00:00:00Z')),
  },
  {
    request: 'insert of the date `2020-01-01T02:00:00+02:00`',
    ask: (client) => inserted(client, date('2020-01-01T02:00:00+02:00')),
  },
  {
    request: 'insert of 300 properties',
    ask: (client) =>
      inserted(client, Array.from({ length: 300 }, (_, index) => `"p${index}":1`).join(',')),
  },
  {
    request: 'insert of 1.9 million characters',
    ask: (client) =>
      inserted(
        client,
        Array.from({ length: 60 }, (_, index) => `"p${index}":"${'x'.repeat(32_000)}"`).join(','),
      ),
  },
  { request: 'insert of a property `a-b`', ask: (client) => inserted(client, '"a-b":1') },
  {
    request: 'insert of a property with a name of 300 characters',
    ask: (client) => inserted(client, `"${'n'.repeat(300)}":1`),
  },
  {
    request: 'table with a name of 2 characters',
    ask: async (client) =>
      outcome(await client.send({ method: 'POST', path: '/Tables', body: '{"TableName":"ab"}' })),
  },
  {
    request: 'table called `tables`',
    ask: async (client) =>
      outcome(
        await client.send({ method: 'POST', path: '/Tables', body: '{"TableName":"tables"}' }),
      ),
  },
  {
    request: 'delete of an entity without `If-Match`',
    async ask(client) {
      const path = entityPath(await tableOf(client, '"n":1'), 'p', '1');
      return outcome(await client.send({ method: 'DELETE', path }));
    },
  },
  {
    request: 'entity as `(RowKey=…,PartitionKey=…)`',
    ask: (client) => asked(client, "/{table}(RowKey='1',PartitionKey='p')"),
  },
  {
    request: 'query with a URL of 20 KB',
    async ask(client) {
      const filter = Array.from({ length: 400 }, () => `RowKey eq 'a-rather-long-row-key'`);
      return outcome(await client.query(await tableOf(client), { filter: filter.join(' or ') }));
    },
  },
  {
    request: 'query of 8 entities of 900 KB',
    async ask(client) {
      const value = Buffer.alloc(65_536, 1).toString('base64');
      const table = await client.newTable('differs');
      for (let row = 0; row < 8; row += 1) {
        const members = Array.from(
          { length: 14 },
          (_, index) => `"b${index}@odata.type":"Edm.Binary","b${index}":"${value}"`,
        );
        await client.put(table, `{"PartitionKey":"p","RowKey":"${row}",${members.join(',')}}`);
      }
      const response = await client.query(table);
      const token = response.header('x-ms-continuation-nextpartitionkey');
      return `${response.items.length < 8 ? 'some' : 'all'}, ${token === undefined ? 'no token' : 'a token'}`;
    },
  },
  { request: '`$top=1001`', ask: (client) => asked(client, '/{table}()?$top=1001') },
  {
    request: '`$orderby=Timestamp desc`',
    ask: (client) => asked(client, '/{table}()?$orderby=Timestamp%20desc'),
  },
  {
    request: '`$select=n,missing`',
    async ask(client) {
      const table = await tableOf(client, '"n":1');
      const { text } = await client.query(table, {
        select: 'n,missing',
        headers: { Accept: acceptNone },
      });
      return text;
    },
  },
  {
    request: 'query: `odata.metadata`',
    async ask(client) {
      const { json } = await client.query(await tableOf(client));
      return String(json['odata.metadata'])
        .replace(/^.*\$metadata/, '')
        .replace(/differs\w+/, 'table');
    },
  },
  {
    request: 'filter `L eq 5`, an Edm.Int64 of 5',
    ask: (client) => found(client, 'L eq 5', int64('5')),
  },
  { request: "filter `L eq '5'`", ask: (client) => found(client, "L eq '5'", int64('5')) },
  {
    request: "filter `D eq '2024-01-01T00:00:00Z'`, a date",
    ask: (client) => found(client, "D eq '2024-01-01T00:00:00Z'", date('2024-01-01T00:00:00Z')),
  },
  {
    request: "filter `B eq '/w=='`, binary",
    ask: (client) => found(client, "B eq '/w=='", binary('/w==')),
  },
  {
    request: "filter `D eq datetime'…00.123Z'`, stored as `…00.1234567Z`",
    ask: (client) =>
      found(
        client,
        "D eq datetime'2024-01-01T00:00:00.123Z'",
        date('2024-01-01T00:00:00.1234567Z'),
      ),
  },
  {
    request: 'filter `I eq 5L`, an Edm.Int32 of 5',
    ask: (client) => found(client, 'I eq 5L', '"I":5'),
  },
  {
    request: 'filter `D eq 15e-1`, of rows with 1.5 and without `D`',
    ask: (client) => found(client, 'D eq 15e-1', '"D":1.5', '"x":1'),
  },
  {
    request: 'filter `I eq +5`, of rows with 5 and without `I`',
    ask: (client) => found(client, 'I eq +5', '"I":5', '"x":1'),
  },
  {
    request: 'filter `missing eq null`',
    ask: (client) => found(client, 'missing eq null', '"n":1'),
  },
  { request: 'filter `n eq null`', ask: (client) => found(client, 'n eq null', '"n":1') },
  {
    request: "filter `B gt X'01'`, of rows with FF and 01",
    ask: (client) => found(client, "B gt X'01'", binary('/w=='), binary('AQ==')),
  },
  {
    request: 'filter by a guid in upper case',
    ask: (client) =>
      found(client, `G eq guid'${guid.toUpperCase()}'`, `"G@odata.type":"Edm.Guid","G":"${guid}"`),
  },
  {
    request: "filter `PartitionKey eq 'p' and (1)`",
    ask: (client) => found(client, "PartitionKey eq 'p' and (1)", '"n":1'),
  },
  {
    request: "filter `startswith(S,'ab')`",
    ask: (client) => found(client, "startswith(S,'ab')", '"S":"abc"'),
  },
  {
    request: 'filter `n eq m`, two properties',
    ask: (client) => found(client, 'n eq m', '"n":1,"m":1'),
  },
  {
    request: 'signature for the partition `a`: get from another one',
    ask: (client) =>
      outsideOfRange(client, (table, token) =>
        client.send({ path: withSas(entityPath(table, 'secret', '1'), token), auth }),
      ),
  },
  {
    request: 'signature for the partition `a`: query',
    ask: (client) =>
      outsideOfRange(client, (table, token) =>
        client.send({ path: withSas(`/${table}()`, token), auth }),
      ),
  },
  {
    request: 'signature for the partition `a`: insert into another one',
    ask: (client) =>
      outsideOfRange(client, (table, token) =>
        client.send({
          method: 'POST',
          path: withSas(`/${table}`, token),
          auth,
          body: '{"PartitionKey":"b","RowKey":"1"}',
        }),
      ),
  },
  {
    request: 'signature for a table with `d`: deletion of the table',
    ask: (client) =>
      outsideOfRange(client, (table, token) =>
        client.send({ method: 'DELETE', path: withSas(`/Tables('${table}')`, token), auth }),
      ),
  },
  {
    request: 'signature for a table with `u`: insert or replace',
    async ask(client) {
      const table = await client.newTable('differs');
      const token = tableSas({ sv: '2019-02-02', sp: 'u', tn: table });
      const path = withSas(entityPath(table, 'p', '1'), token);
      return outcome(await client.send({ method: 'PUT', path, auth, body: '{}' }));
    },
  },
  {
    request: 'signature for objects of an account: query',
    async ask(client) {
      const token = accountSas({ sv: '2019-02-02', ss: 't', srt: 'o', sp: 'r' });
      return outcome(
        await client.send({ path: withSas(`/${await tableOf(client)}()`, token), auth }),
      );
    },
  },
  {
    request: 'date of a signed request one hour off',
    ask: (client) => asked(client, '/Tables', { 'x-ms-date': hourAgo() }),
  },
  {
    request: 'wrong signature: the body',
    async ask(client) {
      const { text } = await client.send({
        headers: { Authorization: `SharedKeyLite ${client.account}:AAAA` },
      });
      return /<\/?([a-zA-Z:]+)[ >]/.exec(text.replace(/^.*\?>/s, ''))?.[1] ?? text;
    },
  },
  {
    request: '`x-ms-version: 2027-01-01`',
    ask: (client) => asked(client, '/Tables', { 'x-ms-version': '2027-01-01' }),
  },
  {
    request: '`x-ms-version: 2019-02-02`: that of the answer',
    async ask(client) {
      const answered = (await client.send({})).header('x-ms-version');
      return answered === '2019-02-02' ? 'the same' : 'its newest';
    },
  },
  { request: '`timeout=soon`', ask: (client) => asked(client, '/Tables?timeout=soon') },
];

/** Puts a message and updates it with the receipt of the put. */
async function changed(
  client: QueueWireClient,
  change: (queue: string, path: string) => Promise<WireResponse>,
): Promise<string> {
  const queue = await client.newQueue('differs');
  const path = `/${queue}/messages`;
  const { text } = await client.send({ method: 'POST', path, body: messageBody('text') });
  const [id = '', receipt = ''] = ['MessageId', 'PopReceipt'].map(
    (name) => elementText(text, name) ?? '',
  );
  return outcome(await change(queue, `${path}/${id}?popreceipt=${encodeURIComponent(receipt)}`));
}

export const queueDifferences: readonly Difference<QueueWireClient>[] = [
  {
    request: 'deletion with a stale pop receipt',
    ask: (client) =>
      changed(client, async (queue, path) => {
        await client.send({ path: `/${queue}/messages?visibilitytimeout=1` });
        return client.send({ method: 'DELETE', path });
      }),
  },
  {
    request: 'update without `visibilitytimeout`',
    ask: (client) =>
      changed(client, (_queue, path) =>
        client.send({ method: 'PUT', path, body: messageBody('other') }),
      ),
  },
  {
    request: 'put with `visibilitytimeout=604800` and no `messagettl`',
    async ask(client) {
      const path = `/${await client.newQueue('differs')}/messages?visibilitytimeout=604800`;
      return outcome(await client.send({ method: 'POST', path, body: messageBody('text') }));
    },
  },
  {
    request: 'get with `peekonly=yes`',
    async ask(client) {
      const path = `/${await client.newQueue('differs')}/messages?peekonly=yes`;
      return outcome(await client.send({ path }));
    },
  },
  {
    request: 'access policy with the letter `x`',
    async ask(client) {
      const policy =
        '<SignedIdentifiers><SignedIdentifier><Id>i</Id><AccessPolicy><Permission>x</Permission>' +
        '</AccessPolicy></SignedIdentifier></SignedIdentifiers>';
      const path = `/${await client.newQueue('differs')}?comp=acl`;
      return outcome(await client.send({ method: 'PUT', path, body: policy }));
    },
  },
  {
    request: 'signature for a queue with `p`: clearing it',
    async ask(client) {
      const queue = await client.newQueue('differs');
      const path = withSas(`/${queue}/messages`, queueSas(queue, { sv: '2019-02-02', sp: 'raup' }));
      return outcome(await client.send({ method: 'DELETE', path, auth }));
    },
  },
  {
    request: 'date of a signed request one hour off',
    ask: async (client) => outcome(await client.send({ headers: { 'x-ms-date': hourAgo() } })),
  },
  {
    request: '`Content-MD5` of another body',
    async ask(client) {
      const path = `/${await client.newQueue('differs')}/messages`;
      const headers = { 'Content-MD5': '1B2M2Y8AsgTpgAmY7PhCfg==' };
      return outcome(
        await client.send({ method: 'POST', path, body: messageBody('text'), headers }),
      );
    },
  },
  {
    request: '`x-ms-version: 2027-01-01`',
    ask: async (client) => outcome(await client.send({ version: '2027-01-01' })),
  },
  {
    request: 'logging of a new account',
    async ask(client) {
      const { text } = await client.send({ path: '/?restype=service&comp=properties' });
      return /<Read>true<\/Read>/.test(text) ? 'on' : 'off';
    },
  },
  {
    request: 'preflight for a header that only a later rule allows',
    ask: (client) =>
      preflight(client, [rule('http://a.example', ''), rule('http://a.example', 'x-ms-date')], {
        'Access-Control-Request-Headers': 'x-ms-date',
      }),
  },
  {
    request: 'preflight from `http://A.example`, allowed is `http://a.example`',
    ask: (client) =>
      preflight(client, [rule('http://a.example', '')], { Origin: 'http://A.example' }),
  },
];

function rule(origin: string, headers: string): string {
  return (
    `<CorsRule><AllowedOrigins>${origin}</AllowedOrigins><AllowedMethods>GET</AllowedMethods>` +
    `<AllowedHeaders>${headers}</AllowedHeaders><ExposedHeaders></ExposedHeaders>` +
    '<MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>'
  );
}

async function preflight(
  client: QueueWireClient,
  rules: readonly string[],
  headers: Headers,
): Promise<string> {
  const body = `<StorageServiceProperties><Cors>${rules.join('')}</Cors></StorageServiceProperties>`;
  const path = '/?restype=service&comp=properties';
  await client.expect(202, { method: 'PUT', path, body });
  return outcome(
    await client.send({
      method: 'OPTIONS',
      path: '/any',
      auth,
      headers: {
        Origin: 'http://a.example',
        'Access-Control-Request-Method': 'GET',
        ...headers,
      },
    }),
  );
}
