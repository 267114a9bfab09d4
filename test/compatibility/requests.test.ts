import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { holdRows } from '../support/compatibility-rows.js';
import { allowedOrigin, startWorld, type AnyService } from '../support/compatibility-world.js';
import { RawConnection } from '../support/raw-http.js';
import { changesetParts, insertOperation, sendChangeset } from '../wire/kit/batch.js';
import { acceptNone, entityPath, quoted } from '../wire/kit/client.js';
import { messageBody, queryOf } from '../wire/kit/queue-client.js';
import { elementText, elementTexts, messagesOf } from '../wire/kit/queue-xml.js';
import type { Headers } from '../wire/kit/request-bytes.js';
import type { WireResponse } from '../wire/kit/response.js';
import { accountSas, withSas } from '../wire/kit/sas.js';

// The headers and query parameters of docs/reference/compatibility.md: each is sent to a server,
// which must take notice of it, ignore it or refuse it as the page says.

const { tables, queues, services, table, queue } = await startWorld();
const entity = entityPath(table, 'p', '1');
const longAgo = 'Fri, 21 Nov 2014 10:00:00 GMT';

async function onBoth(probe: (service: AnyService) => Promise<void>): Promise<void> {
  for (const service of services) await probe(service);
}

function assertStatus(response: WireResponse, status: number, code?: string): void {
  assert.equal(response.status, status, response.text);
  if (code !== undefined) assert.equal(response.header('x-ms-error-code'), code);
}

/** A read with the header is answered in full, as one without. */
async function ignoredOn(service: AnyService, headers: Headers): Promise<void> {
  const [without, response] = [await service.send({}), await service.send({ headers })];
  assertStatus(response, 200);
  assert.equal(response.body.length, without.body.length);
  assert.equal(response.header('content-type'), without.header('content-type'));
}

const ignored = (headers: Headers) => () => onBoth((service) => ignoredOn(service, headers));
const ignoredBy = (name: 'tables' | 'queues', headers: Headers) => () =>
  onBoth(async (service) => {
    if (service.name === name) await ignoredOn(service, headers);
  });

function preflight(service: AnyService, headers: Headers): Promise<WireResponse> {
  const origin = { Origin: allowedOrigin, 'Access-Control-Request-Method': 'GET' };
  return service.send({ method: 'OPTIONS', auth: 'none', headers: { ...origin, ...headers } });
}

holdRows('Request headers', [
  [
    ['Accept', 'tables'],
    'supported',
    async () => {
      const response = await tables.send({ headers: { Accept: acceptNone } });
      assert.match(response.header('content-type') ?? '', /odata=nometadata/);
      assertStatus(await tables.send({ headers: { Accept: '*/*' } }), 200);
      assertStatus(await tables.send({ headers: { Accept: 'text/html' } }), 415);
    },
  ],
  [['Accept', 'queues'], 'absent', ignoredBy('queues', { Accept: 'application/json' })],
  [
    ['Accept-Encoding', 'both'],
    'absent',
    () =>
      onBoth(async (service) => {
        await ignoredOn(service, { 'Accept-Encoding': 'gzip, br' });
        const response = await service.send({ headers: { 'Accept-Encoding': 'gzip' } });
        assert.equal(response.header('content-encoding'), undefined);
      }),
  ],
  [
    ['Access-Control-Request-Headers', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const asked = { 'Access-Control-Request-Headers': 'x-ms-date' };
        const allowed = await preflight(service, asked);
        assertStatus(allowed, 200);
        assert.equal(allowed.header('access-control-allow-headers'), 'x-ms-date');
        const refused = { 'Access-Control-Request-Headers': 'x-other' };
        assertStatus(await preflight(service, refused), 403, 'CorsPreflightFailure');
      }),
  ],
  [
    ['Access-Control-Request-Method', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        assertStatus(await preflight(service, {}), 200);
        const other = { 'Access-Control-Request-Method': 'DELETE' };
        assertStatus(await preflight(service, other), 403, 'CorsPreflightFailure');
        const none = { 'Access-Control-Request-Method': undefined };
        assertStatus(await preflight(service, none), 400, 'InvalidHeaderValue');
      }),
  ],
  [
    ['Authorization', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        assertStatus(await service.send({}), 200);
        const wrong = { Authorization: 'SharedKeyLite devstoreaccount1:AAAA' };
        assertStatus(await service.send({ headers: wrong }), 403, 'AuthenticationFailed');
      }),
  ],
  [
    ['Connection', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        using connection = new RawConnection(service.port);
        connection.write(service.bytes({ headers: { Connection: 'close' } }));
        assert.match((await connection.readToEnd()).toString('latin1'), /^Connection: close\r$/m);
      }),
  ],
  [
    ['Content-Encoding', 'both'],
    'absent',
    () =>
      onBoth(async (service) => {
        const headers = { 'Content-Encoding': 'gzip' };
        const request = await service.write();
        assertStatus(await service.send({ ...request, headers }), 201);
        const body = gzipSync(request.body ?? '');
        assertStatus(await service.send({ ...request, headers, body }), 400);
      }),
  ],
  [
    ['Content-ID', 'tables'],
    'supported',
    async () => {
      const operation = insertOperation(table, { PartitionKey: 'id', RowKey: '1' });
      const headers = { ...operation.headers, 'Content-ID': '7' };
      const [part] = changesetParts(await sendChangeset(tables, [{ ...operation, headers }]));
      assert.match(part?.head ?? '', /^Content-ID: 7\r$/m);
    },
  ],
  [
    ['Content-Length', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const request = await service.write();
        assertStatus(await service.send(request), 201);
        using connection = new RawConnection(service.port);
        const { method = '', path = '' } = request;
        const headers = { 'Content-Length': undefined, Connection: 'close' };
        connection.write(service.bytes({ method, path, headers }));
        const answer = (await connection.readToEnd()).toString('latin1');
        assert.match(answer, /^HTTP\/1\.1 411 [^]*MissingContentLengthHeader/);
      }),
  ],
  [
    ['Content-MD5', 'queues'],
    'supported',
    async () => {
      const path = `/${await queues.newQueue()}/messages`;
      const headers = { 'Content-MD5': '1B2M2Y8AsgTpgAmY7PhCfg==' };
      const request = { method: 'POST', path, body: messageBody('text'), headers };
      assertStatus(await queues.send(request), 400, 'Md5Mismatch');
    },
  ],
  [
    ['Content-MD5', 'tables'],
    'differs',
    async () => {
      const headers = { 'Content-MD5': '1B2M2Y8AsgTpgAmY7PhCfg==' };
      const auth = 'SharedKey' as const;
      const written = { method: 'PUT', path: entityPath(table, 'md5', '1'), body: '{}', auth };
      assertStatus(await tables.send({ ...written, headers }), 204);
      const bytes = tables.bytes({ ...written, headers }).toString('latin1');
      const changed = await tables.sendRaw(bytes.replace('1B2M2Y8A', '1B2M2Y8B'));
      assertStatus(changed, 403, 'AuthenticationFailed');
    },
  ],
  [
    ['Content-Type', 'tables'],
    'supported',
    async () => {
      const send = (type: string) =>
        tables.send({
          method: 'PUT',
          path: entityPath(table, 'type', '1'),
          body: '{}',
          headers: { 'Content-Type': type },
        });
      assertStatus(await send('application/json;odata=nometadata;charset=utf-8'), 204);
      assertStatus(await send('application/atom+xml'), 415, 'AtomFormatNotSupported');
      assertStatus(await send('text/plain'), 415, 'MediaTypeNotSupported');
    },
  ],
  [
    ['Content-Type', 'queues'],
    'absent',
    async () => {
      const path = `/${await queues.newQueue()}/messages`;
      const headers = { 'Content-Type': 'image/png' };
      const request = { method: 'POST', path, body: messageBody('text'), headers };
      assertStatus(await queues.send(request), 201);
    },
  ],
  [['DataServiceVersion', 'tables'], 'absent', ignoredBy('tables', { DataServiceVersion: 'x' })],
  [
    ['Date', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const dated = (Date: string) => service.send({ headers: { 'x-ms-date': undefined, Date } });
        assertStatus(await dated(new Date().toUTCString()), 200);
        assertStatus(await dated(longAgo), 403, 'AuthenticationFailed');
      }),
  ],
  [
    ['Expect', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const headers = { Expect: '100-continue', Connection: 'close' };
        const answer = async (more: Headers) => {
          using connection = new RawConnection(service.port);
          const request = { ...(await service.write()), headers: { ...headers, ...more } };
          connection.write(service.bytes(request));
          return (await connection.readToEnd()).toString('latin1');
        };
        assert.match(await answer({}), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
        assert.match(await answer({ Authorization: 'SharedKey a:AAAA' }), /^HTTP\/1\.1 403 /);
      }),
  ],
  [
    ['Host', 'both'],
    'supported',
    async () => {
      const host = { Host: 'tables.example:7' };
      const read = await tables.send({ path: entity, headers: host });
      assert.match(read.text, /"odata\.metadata":"http:\/\/tables\.example:7\/devstoreaccount1\//);
      const list = await queues.send({ headers: { Host: 'queues.example' } });
      assert.match(list.text, /ServiceEndpoint="http:\/\/queues\.example\/devstoreaccount1\/"/);
      await onBoth(async (service) => {
        using connection = new RawConnection(service.port);
        connection.write(service.bytes({ headers: { Host: undefined, Connection: 'close' } }));
        assert.match((await connection.readToEnd()).toString('latin1'), /^HTTP\/1\.1 400 /);
      });
    },
  ],
  [
    ['If-Match', 'tables'],
    'supported',
    async () => {
      const etag = `W/"datetime'2020-01-01T00%3A00%3A00Z'"`;
      const put = (value: string) =>
        tables.send({
          method: 'PUT',
          path: entity,
          body: '{"n":1}',
          headers: { 'If-Match': value },
        });
      assertStatus(await put('*'), 204);
      assertStatus(await put(etag), 412, 'UpdateConditionNotSatisfied');
      assertStatus(await put('nonsense'), 400, 'InvalidInput');
    },
  ],
  [['If-Match', 'queues'], 'absent', ignoredBy('queues', { 'If-Match': '"other"' })],
  [
    ['If-Modified-Since', 'both'],
    'absent',
    ignored({ 'If-Modified-Since': new Date(Date.now() + 60_000).toUTCString() }),
  ],
  [
    ['If-None-Match', 'tables'],
    'supported',
    async () => {
      const headers = { 'If-None-Match': '*' };
      const write = { method: 'PUT', path: entity, body: '{"n":1}', headers };
      assertStatus(await tables.send(write), 400, 'InvalidInput');
      assertStatus(await tables.send({ path: entity, headers }), 200);
    },
  ],
  [['If-Unmodified-Since', 'both'], 'absent', ignored({ 'If-Unmodified-Since': longAgo })],
  [
    ['MaxDataServiceVersion', 'tables'],
    'absent',
    ignoredBy('tables', { MaxDataServiceVersion: '1.0;NetFx' }),
  ],
  [
    ['Origin', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const allow = async (Origin: string) =>
          (await service.send({ headers: { Origin } })).header('access-control-allow-origin');
        assert.equal(await allow(allowedOrigin), allowedOrigin);
        assert.equal(await allow('http://b.example'), undefined);
      }),
  ],
  [
    ['Prefer', 'tables'],
    'supported',
    async () => {
      for (const [index, [Prefer, status]] of (
        [
          ['return-content', 201],
          ['return-no-content', 204],
        ] as const
      ).entries()) {
        const row = { PartitionKey: 'prefer', RowKey: `${index}` };
        const response = await tables.insert(table, row, { Prefer });
        assertStatus(response, status);
        assert.equal(response.header('preference-applied'), Prefer);
      }
    },
  ],
  [['Range', 'both'], 'absent', ignored({ Range: 'bytes=0-1' })],
  [
    ['Sec-Fetch-Site', 'both'],
    'differs',
    () =>
      onBoth(async (service) => {
        for (const [site, status] of [
          ['none', 200],
          ['same-origin', 200],
        ] as const) {
          assertStatus(await service.send({ headers: { 'Sec-Fetch-Site': site } }), status);
        }
      }),
  ],
  [
    ['Transfer-Encoding', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const request = await service.write();
        const text = String(request.body);
        const body = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
        const headers = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
        assertStatus(await service.send({ ...request, body, headers }), 201);
      }),
  ],
  [['User-Agent', 'both'], 'absent', ignored({ 'User-Agent': 'nobody/1.0' })],
  [
    ['X-HTTP-Method', 'tables'],
    'supported',
    async () => {
      const path = entityPath(table, 'tunnel', '1');
      for (const method of ['MERGE', 'PATCH', 'PUT']) {
        const headers = { 'X-HTTP-Method': method };
        assertStatus(await tables.send({ method: 'POST', path, body: '{}', headers }), 204);
      }
      const get = { 'X-HTTP-Method': 'GET' };
      assertStatus(await tables.send({ method: 'POST', path, headers: get }), 200);
      const remove = { 'X-HTTP-Method': 'DELETE', 'If-Match': '*' };
      assertStatus(await tables.send({ method: 'POST', path, headers: remove }), 204);
      const head = { 'X-HTTP-Method': 'HEAD' };
      assertStatus(await tables.send({ method: 'POST', path, headers: head }), 400);
    },
  ],
  [
    ['x-ms-client-request-id', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        const echoed = async (id: string) =>
          (await service.send({ headers: { 'x-ms-client-request-id': id } })).header(
            'x-ms-client-request-id',
          );
        assert.equal(await echoed('my id'), 'my id');
        assert.equal(await echoed('x'.repeat(1_024)), 'x'.repeat(1_024));
        assert.equal(await echoed('x'.repeat(1_025)), undefined);
      }),
  ],
  [
    ['x-ms-date', 'both'],
    'supported',
    () =>
      onBoth(async (service) => {
        assertStatus(await service.send({ headers: { Date: longAgo } }), 200);
        const old = { 'x-ms-date': longAgo };
        assertStatus(await service.send({ headers: old }), 403, 'AuthenticationFailed');
      }),
  ],
  [
    ['x-ms-meta-', 'queues'],
    'supported',
    async () => {
      const name = await queues.newQueue('meta', { 'x-ms-meta-Colour': 'Blue' });
      const { headers } = await queues.send({ path: `/${name}?comp=metadata` });
      assert.deepEqual(
        headers.filter(([each]) => /^x-ms-meta-/i.test(each)),
        [['x-ms-meta-Colour', 'Blue']],
      );
    },
  ],
  [
    ['x-ms-return-client-request-id', 'both'],
    'absent',
    () =>
      onBoth(async (service) => {
        const headers = {
          'x-ms-client-request-id': 'mine',
          'x-ms-return-client-request-id': 'false',
        };
        const response = await service.send({ headers });
        assert.equal(response.header('x-ms-client-request-id'), 'mine');
      }),
  ],
  [
    ['x-ms-version', 'both'],
    'differs',
    () =>
      onBoth(async (service) => {
        const versioned = (version: string) =>
          service.send({ headers: { 'x-ms-version': version } });
        for (const version of ['2016-05-31', '2031-01-01']) {
          const response = await versioned(version);
          assertStatus(response, 200);
          assert.equal(response.header('x-ms-version'), version);
        }
        assertStatus(await versioned('soon'), 400, 'InvalidHeaderValue');
      }),
  ],
]);

const refusedOption = (option: string) => async () => {
  assertStatus(await tables.send({ path: `/${table}()?${option}` }), 501, 'NotImplemented');
};

/** Three tables rows in two partitions, and their names, to page through. */
const paged = await tables.newTable('paged');
await tables.put(
  paged,
  { PartitionKey: 'a', RowKey: '1' },
  { PartitionKey: 'a', RowKey: '2' },
  { PartitionKey: 'b', RowKey: '1' },
);
await tables.newTable('zebra');

const page = (next?: Readonly<Record<string, string>>) =>
  tables.query(paged, { top: 2, ...(next === undefined ? {} : { next }) });

/** `api-version` decides beside a signature, and is nothing beside a shared key. */
async function assertApiVersion(service: AnyService): Promise<void> {
  const sp = 'rl';
  const token = accountSas({ sv: '2019-02-02', ss: 'tq', srt: 'sco', sp });
  const path = service.name === 'tables' ? '/Tables' : '/?comp=list';
  const signed = await service.send({
    path: `${withSas(path, token)}&api-version=2017-07-29`,
    auth: 'none',
    headers: { 'x-ms-version': undefined },
  });
  assertStatus(signed, 200);
  assert.equal(signed.header('x-ms-version'), '2017-07-29');
  const mark = path.includes('?') ? '&' : '?';
  const keyed = await service.send({ path: `${path}${mark}api-version=2017-07-29` });
  assertStatus(keyed, 200);
  assert.notEqual(keyed.header('x-ms-version'), '2017-07-29');
}

async function assertTimeout(service: AnyService): Promise<void> {
  const path = service.name === 'tables' ? '/Tables?' : '/?comp=list&';
  for (const timeout of ['1', '30', '31', '90']) {
    assertStatus(await service.send({ path: `${path}timeout=${timeout}` }), 200);
  }
  assertStatus(
    await service.send({ path: `${path}timeout=soon` }),
    400,
    'InvalidQueryParameterValue',
  );
}

holdRows('Query parameters of tables', [
  [
    ['$filter'],
    'supported',
    async () => {
      const filter = `PartitionKey eq ${quoted('a')} and not (RowKey lt '2')`;
      assert.deepEqual(await tables.rowKeys(paged, filter), ['2']);
      assertStatus(await tables.query(paged, { filter: `startswith(RowKey,'1')` }), 501);
    },
  ],
  [
    ['$select'],
    'supported',
    async () => {
      const headers = { Accept: acceptNone };
      const { text } = await tables.send({ path: `${entity}?$select=n,missing`, headers });
      assert.equal(text, '{"n":1,"missing":null}');
      const names = (count: number) =>
        Array.from({ length: count }, (_, index) => `n${index}`).join(',');
      assertStatus(await tables.query(table, { select: names(255) }), 200);
      assertStatus(await tables.query(table, { select: names(256) }), 400, 'InvalidInput');
    },
  ],
  [
    ['$top'],
    'supported',
    async () => {
      for (const [top, count] of [
        [0, 0],
        [1, 1],
        [1000, 3],
      ] as const) {
        assert.equal((await tables.query(paged, { top })).items.length, count);
      }
      for (const top of [1001, -1, 'many']) {
        assertStatus(await tables.query(paged, { top }), 400, 'InvalidInput');
      }
    },
  ],
  [
    ['$format'],
    'supported',
    async () => {
      const path = `${entity}?$format=application%2Fjson%3Bodata%3Dfullmetadata`;
      const response = await tables.send({ path, headers: { Accept: acceptNone } });
      assert.match(response.header('content-type') ?? '', /odata=fullmetadata/);
    },
  ],
  [['$orderby'], 'absent', refusedOption('$orderby=RowKey')],
  [['$skip'], 'absent', refusedOption('$skip=1')],
  [['$expand'], 'absent', refusedOption('$expand=x')],
  [['$count'], 'absent', refusedOption('$count=true')],
  [['$inlinecount'], 'absent', refusedOption('$inlinecount=allpages')],
  [
    ['NextPartitionKey'],
    'supported',
    async () => {
      const first = await page();
      assert.equal(first.header('x-ms-continuation-nextpartitionkey'), '1!4!Yg--');
      const { items } = await page({ NextPartitionKey: '1!4!Yg--', NextRowKey: '1!4!MQ--' });
      assert.deepEqual(
        items.map(({ PartitionKey }) => PartitionKey),
        ['b'],
      );
      assert.equal((await page({ NextPartitionKey: '' })).items.length, 2);
      assertStatus(await page({ NextPartitionKey: 'nonsense' }), 400, 'InvalidInput');
    },
  ],
  [
    ['NextRowKey'],
    'supported',
    async () => {
      const from = async (next: Readonly<Record<string, string>>) =>
        (await page({ NextPartitionKey: '1!4!YQ--', ...next })).items[0]?.['RowKey'];
      assert.equal(await from({ NextRowKey: '1!4!Mg--' }), '2');
      assert.equal(await from({}), '1');
    },
  ],
  [
    ['NextTableName'],
    'supported',
    async () => {
      const first = await tables.send({ path: '/Tables?$top=1' });
      const token = first.header('x-ms-continuation-nexttablename') ?? '';
      const rest = await tables.send({
        path: `/Tables?NextTableName=${encodeURIComponent(token)}`,
      });
      const names = [...first.items, ...rest.items].map(({ TableName }) => TableName);
      assert.deepEqual(
        names,
        (await tables.send({})).items.map(({ TableName }) => TableName),
      );
    },
  ],
  [
    ['comp'],
    'supported',
    async () => {
      assertStatus(await tables.send({ path: `/${table}?comp=acl` }), 200);
      for (const [comp, status] of [
        ['properties', 200],
        ['stats', 400],
      ] as const) {
        assertStatus(await tables.send({ path: `/?restype=service&comp=${comp}` }), status);
      }
      const other = await tables.send({ path: `/${table}?comp=other` });
      assertStatus(other, 400, 'InvalidQueryParameterValue');
    },
  ],
  [
    ['restype'],
    'supported',
    async () => {
      const other = await tables.send({ path: '/?restype=other&comp=properties' });
      assertStatus(other, 400, 'InvalidQueryParameterValue');
    },
  ],
  [['timeout'], 'supported', () => onTables(assertTimeout)],
  [['api-version'], 'supported', () => onTables(assertApiVersion)],
  [
    ['any other'],
    'absent',
    async () => {
      for (const option of ['$foo=1', 'foo=1', '$TOP=1', 'numofmessages=x']) {
        const { items } = await tables.send({ path: `/${paged}()?${option}` });
        assert.equal(items.length, 3, option);
      }
    },
  ],
]);

async function onTables(probe: (service: AnyService) => Promise<void>): Promise<void> {
  await onBoth((service) => (service.name === 'tables' ? probe(service) : Promise.resolve()));
}

async function onQueues(probe: (service: AnyService) => Promise<void>): Promise<void> {
  await onBoth((service) => (service.name === 'queues' ? probe(service) : Promise.resolve()));
}

const listed = async (query: string): Promise<string[]> =>
  elementTexts((await queues.expect(200, { path: `/?comp=list&${query}` })).text, 'Name');

holdRows('Query parameters of queues', [
  [
    ['comp'],
    'supported',
    async () => {
      assertStatus(await queues.send({ path: '/?comp=list' }), 200);
      for (const comp of ['metadata', 'acl']) {
        assertStatus(await queues.send({ path: `/${queue}?comp=${comp}` }), 200);
      }
      for (const [comp, status] of [
        ['properties', 200],
        ['stats', 400],
        ['other', 400],
      ] as const) {
        assertStatus(await queues.send({ path: `/?restype=service&comp=${comp}` }), status);
      }
      const path = '/?restype=service&comp=userdelegationkey';
      const key = await queues.send({ method: 'POST', path, body: '<KeyInfo/>' });
      assert.notEqual(key.header('x-ms-error-code'), 'InvalidQueryParameterValue');
    },
  ],
  [
    ['restype'],
    'supported',
    async () => {
      const other = await queues.send({ path: '/?restype=other&comp=properties' });
      assertStatus(other, 400, 'InvalidQueryParameterValue');
    },
  ],
  [
    ['prefix'],
    'supported',
    async () => {
      const name = await queues.newQueue('prefixed');
      assert.deepEqual(await listed('prefix=prefixed'), [name]);
    },
  ],
  [
    ['marker'],
    'supported',
    async () => {
      const all = await listed('');
      const first = await queues.expect(200, { path: '/?comp=list&maxresults=1' });
      const marker = encodeURIComponent(elementText(first.text, 'NextMarker') ?? '');
      assert.deepEqual([all[0], ...(await listed(`marker=${marker}`))], all);
      assertStatus(await queues.send({ path: '/?comp=list&marker=x' }), 400, 'InvalidMarker');
    },
  ],
  [
    ['maxresults'],
    'supported',
    async () => {
      assert.equal((await listed('maxresults=1')).length, 1);
      assert.deepEqual(await listed('maxresults=9999'), await listed(''));
      const none = await queues.send({ path: '/?comp=list&maxresults=0' });
      assertStatus(none, 400, 'OutOfRangeQueryParameterValue');
    },
  ],
  [
    ['include'],
    'supported',
    async () => {
      await queues.newQueue('included', { 'x-ms-meta-Colour': 'blue' });
      const path = '/?comp=list&prefix=included';
      assert.doesNotMatch((await queues.send({ path })).text, /Colour/);
      const shown = await queues.send({ path: `${path}&include=metadata` });
      assert.match(shown.text, /<Metadata><Colour>blue<\/Colour><\/Metadata>/);
    },
  ],
  [
    ['numofmessages'],
    'supported',
    async () => {
      const name = await queues.newQueue();
      for (const text of ['1', '2', '3']) await queues.put(name, text);
      assert.equal((await queues.peek(name, { numofmessages: 2 })).length, 2);
      for (const count of [0, 33]) {
        const path = `/${name}/messages?numofmessages=${count}`;
        assertStatus(await queues.send({ path }), 400, 'OutOfRangeQueryParameterValue');
      }
    },
  ],
  [
    ['visibilitytimeout'],
    'supported',
    async () => {
      const name = await queues.newQueue();
      await queues.put(name, 'later', { visibilitytimeout: 60 });
      assert.deepEqual(await queues.texts(name), []);
      const path = `/${name}/messages?visibilitytimeout=604801`;
      assertStatus(await queues.send({ path }), 400, 'OutOfRangeQueryParameterValue');
      const message = await queues.put(name, 'text');
      const receipt = { popreceipt: message.PopReceipt };
      const update = `/${name}/messages/${message.MessageId}${queryOf(receipt)}`;
      const without = await queues.send({ method: 'PUT', path: update });
      assertStatus(without, 400, 'MissingRequiredQueryParameter');
    },
  ],
  [
    ['messagettl'],
    'supported',
    async () => {
      const name = await queues.newQueue();
      const { ExpirationTime } = await queues.put(name, 'for ever', { messagettl: -1 });
      assert.equal(ExpirationTime, 'Fri, 31 Dec 9999 23:59:59 GMT');
      const path = `/${name}/messages?messagettl=-1`;
      const old = { method: 'POST', path, body: messageBody('text'), version: '2016-05-31' };
      assertStatus(await queues.send(old), 400);
    },
  ],
  [
    ['peekonly'],
    'supported',
    async () => {
      const looked = await queues.expect(200, { path: `/${queue}/messages?peekonly=true` });
      assert.equal(messagesOf(looked)[0]?.PopReceipt, undefined);
      assert.deepEqual(await queues.texts(queue), ['text']);
    },
  ],
  [
    ['popreceipt'],
    'supported',
    async () => {
      const name = await queues.newQueue();
      const message = await queues.put(name, 'text');
      const path = `/${name}/messages/${message.MessageId}`;
      for (const method of ['PUT', 'DELETE']) {
        const without = await queues.send({ method, path: `${path}?visibilitytimeout=0` });
        assertStatus(without, 400, 'MissingRequiredQueryParameter');
      }
      assertStatus(await queues.delete(name, message), 204);
    },
  ],
  [['timeout'], 'supported', () => onQueues(assertTimeout)],
  [['api-version'], 'supported', () => onQueues(assertApiVersion)],
  [
    ['any other'],
    'absent',
    async () => {
      const all = await listed('');
      assert.deepEqual(await listed('foo=1&$top=1&popreceipt=x'), all);
      assert.equal((await listed('MaxResults=1')).length, 1, 'names have no case');
    },
  ],
]);
