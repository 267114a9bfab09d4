import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { absent, differs, holdRows, rowsOn, supported } from '../support/compatibility-rows.js';
import { allowedOrigin, startWorld, type AnyService } from '../support/compatibility-world.js';
import { RawConnection } from '../support/raw-http.js';
import { changesetParts, insertOperation, sendChangeset } from '../wire/kit/batch.js';
import { acceptNone, entityPath } from '../wire/kit/client.js';
import { assertStatus } from '../wire/kit/errors.js';
import { messageBody } from '../wire/kit/queue-client.js';
import type { Headers } from '../wire/kit/request-bytes.js';
import type { WireResponse } from '../wire/kit/response.js';

// The request headers of docs/reference/compatibility.md: a server must use, ignore or refuse each
// as the page says.

const { tables, queues, services, table } = await startWorld();
const onBoth = rowsOn(services);
const entity = entityPath(table, 'p', '1');
const longAgo = 'Fri, 21 Nov 2014 10:00:00 GMT';

/** Checks that a read with the header has the same full response as one without. */
async function ignoredOn(service: AnyService, headers: Headers): Promise<void> {
  const [without, response] = [await service.send({}), await service.send({ headers })];
  assertStatus(response, 200);
  assert.equal(response.body.length, without.body.length);
  assert.equal(response.header('content-type'), without.header('content-type'));
}

const ignored = (headers: Headers) => () => onBoth.run((service) => ignoredOn(service, headers));
const ignoredBy = (name: 'tables' | 'queues', headers: Headers) => () =>
  onBoth.run(async (service) => {
    if (service.name === name) await ignoredOn(service, headers);
  });

function preflight(service: AnyService, headers: Headers): Promise<WireResponse> {
  const origin = { Origin: allowedOrigin, 'Access-Control-Request-Method': 'GET' };
  return service.send({ method: 'OPTIONS', auth: 'none', headers: { ...origin, ...headers } });
}

holdRows('Request headers', [
  supported('Accept | tables', async () => {
    const response = await tables.send({ headers: { Accept: acceptNone } });
    assert.match(response.header('content-type') ?? '', /odata=nometadata/);
    assertStatus(await tables.send({ headers: { Accept: '*/*' } }), 200);
    assertStatus(await tables.send({ headers: { Accept: 'text/html' } }), 415);
  }),
  absent('Accept | queues', ignoredBy('queues', { Accept: 'application/json' })),
  onBoth.absent('Accept-Encoding | both', async (service) => {
    await ignoredOn(service, { 'Accept-Encoding': 'gzip, br' });
    const response = await service.send({ headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(response.header('content-encoding'), undefined);
  }),
  onBoth.supported('Access-Control-Request-Headers | both', async (service) => {
    const asked = { 'Access-Control-Request-Headers': 'x-ms-date' };
    const allowed = await preflight(service, asked);
    assertStatus(allowed, 200);
    assert.equal(allowed.header('access-control-allow-headers'), 'x-ms-date');
    const refused = { 'Access-Control-Request-Headers': 'x-other' };
    assertStatus(await preflight(service, refused), 403, 'CorsPreflightFailure');
  }),
  onBoth.supported('Access-Control-Request-Method | both', async (service) => {
    assertStatus(await preflight(service, {}), 200);
    const other = { 'Access-Control-Request-Method': 'DELETE' };
    assertStatus(await preflight(service, other), 403, 'CorsPreflightFailure');
    const none = { 'Access-Control-Request-Method': undefined };
    assertStatus(await preflight(service, none), 400, 'InvalidHeaderValue');
  }),
  onBoth.supported('Authorization | both', async (service) => {
    assertStatus(await service.send({}), 200);
    const wrong = { Authorization: 'SharedKeyLite devstoreaccount1:AAAA' };
    assertStatus(await service.send({ headers: wrong }), 403, 'AuthenticationFailed');
  }),
  onBoth.supported('Connection | both', async (service) => {
    using connection = new RawConnection(service.port);
    connection.write(service.bytes({ headers: { Connection: 'close' } }));
    assert.match((await connection.readToEnd()).toString('latin1'), /^Connection: close\r$/m);
  }),
  onBoth.absent('Content-Encoding | both', async (service) => {
    const headers = { 'Content-Encoding': 'gzip' };
    const request = await service.write();
    assertStatus(await service.send({ ...request, headers }), 201);
    const body = gzipSync(request.body ?? '');
    assertStatus(await service.send({ ...request, headers, body }), 400);
  }),
  supported('Content-ID | tables', async () => {
    const operation = insertOperation(table, { PartitionKey: 'id', RowKey: '1' });
    const headers = { ...operation.headers, 'Content-ID': '7' };
    const [part] = changesetParts(await sendChangeset(tables, [{ ...operation, headers }]));
    assert.match(part?.head ?? '', /^Content-ID: 7\r$/m);
  }),
  onBoth.supported('Content-Length | both', async (service) => {
    const request = await service.write();
    assertStatus(await service.send(request), 201);
    using connection = new RawConnection(service.port);
    const { method = '', path = '' } = request;
    const headers = { 'Content-Length': undefined, Connection: 'close' };
    connection.write(service.bytes({ method, path, headers }));
    const answer = (await connection.readToEnd()).toString('latin1');
    assert.match(answer, /^HTTP\/1\.1 411 [^]*MissingContentLengthHeader/);
  }),
  supported('Content-MD5 | queues', async () => {
    const path = `/${await queues.newQueue()}/messages`;
    const headers = { 'Content-MD5': '1B2M2Y8AsgTpgAmY7PhCfg==' };
    const request = { method: 'POST', path, body: messageBody('text'), headers };
    assertStatus(await queues.send(request), 400, 'Md5Mismatch');
  }),
  differs('Content-MD5 | tables', async () => {
    const headers = { 'Content-MD5': '1B2M2Y8AsgTpgAmY7PhCfg==' };
    const auth = 'SharedKey' as const;
    const written = { method: 'PUT', path: entityPath(table, 'md5', '1'), body: '{}', auth };
    assertStatus(await tables.send({ ...written, headers }), 204);
    const bytes = tables.bytes({ ...written, headers }).toString('latin1');
    const changed = await tables.sendRaw(bytes.replace('1B2M2Y8A', '1B2M2Y8B'));
    assertStatus(changed, 403, 'AuthenticationFailed');
  }),
  supported('Content-Type | tables', async () => {
    const send = (type: string) =>
      tables.send({
        method: 'PUT',
        path: entityPath(table, 'type', '1'),
        body: '{}',
        headers: { 'Content-Type': type },
      });
    assertStatus(await send('application/json;odata=nometadata;charset=utf-8'), 204);
    assertStatus(await send('Application/JSON ; charset=utf-8'), 204);
    assertStatus(await send('application/atom+xml'), 415, 'AtomFormatNotSupported');
    assertStatus(await send('application/atom+xml;type=entry'), 415, 'AtomFormatNotSupported');
    assertStatus(await send('text/plain'), 415, 'MediaTypeNotSupported');
  }),
  absent('Content-Type | queues', async () => {
    const path = `/${await queues.newQueue()}/messages`;
    const headers = { 'Content-Type': 'image/png' };
    const request = { method: 'POST', path, body: messageBody('text'), headers };
    assertStatus(await queues.send(request), 201);
  }),
  absent('DataServiceVersion | tables', ignoredBy('tables', { DataServiceVersion: 'x' })),
  onBoth.supported('Date | both', async (service) => {
    const dated = (Date: string) => service.send({ headers: { 'x-ms-date': undefined, Date } });
    assertStatus(await dated(new Date().toUTCString()), 200);
    assertStatus(await dated(longAgo), 403, 'AuthenticationFailed');
  }),
  onBoth.supported('Expect | both', async (service) => {
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
  supported('Host | both', async () => {
    const host = { Host: 'tables.example:7' };
    const read = await tables.send({ path: entity, headers: host });
    assert.match(read.text, /"odata\.metadata":"http:\/\/tables\.example:7\/devstoreaccount1\//);
    const list = await queues.send({ headers: { Host: 'queues.example' } });
    assert.match(list.text, /ServiceEndpoint="http:\/\/queues\.example\/devstoreaccount1\/"/);
    await onBoth.run(async (service) => {
      using connection = new RawConnection(service.port);
      connection.write(service.bytes({ headers: { Host: undefined, Connection: 'close' } }));
      assert.match((await connection.readToEnd()).toString('latin1'), /^HTTP\/1\.1 400 /);
    });
  }),
  supported('If-Match | tables', async () => {
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
  }),
  absent('If-Match | queues', ignoredBy('queues', { 'If-Match': '"other"' })),
  absent(
    'If-Modified-Since | both',
    ignored({ 'If-Modified-Since': new Date(Date.now() + 60_000).toUTCString() }),
  ),
  supported('If-None-Match | tables', async () => {
    const headers = { 'If-None-Match': '*' };
    const write = { method: 'PUT', path: entity, body: '{"n":1}', headers };
    assertStatus(await tables.send(write), 400, 'InvalidInput');
    assertStatus(await tables.send({ path: entity, headers }), 200);
  }),
  absent('If-Unmodified-Since | both', ignored({ 'If-Unmodified-Since': longAgo })),
  absent(
    'MaxDataServiceVersion | tables',
    ignoredBy('tables', { MaxDataServiceVersion: '1.0;NetFx' }),
  ),
  onBoth.supported('Origin | both', async (service) => {
    const allow = async (Origin: string) =>
      (await service.send({ headers: { Origin } })).header('access-control-allow-origin');
    assert.equal(await allow(allowedOrigin), allowedOrigin);
    assert.equal(await allow('http://b.example'), undefined);
  }),
  supported('Prefer | tables', async () => {
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
  }),
  absent('Range | both', ignored({ Range: 'bytes=0-1' })),
  onBoth.differs('Sec-Fetch-Site | both', async (service) => {
    for (const [site, status] of [
      ['none', 200],
      ['same-origin', 200],
    ] as const) {
      assertStatus(await service.send({ headers: { 'Sec-Fetch-Site': site } }), status);
    }
  }),
  onBoth.supported('Transfer-Encoding | both', async (service) => {
    const request = await service.write();
    const text = String(request.body);
    const body = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const headers = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
    assertStatus(await service.send({ ...request, body, headers }), 201);
  }),
  absent('User-Agent | both', ignored({ 'User-Agent': 'nobody/1.0' })),
  supported('X-HTTP-Method | tables', async () => {
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
  }),
  onBoth.supported('x-ms-client-request-id | both', async (service) => {
    const echoed = async (id: string) =>
      (await service.send({ headers: { 'x-ms-client-request-id': id } })).header(
        'x-ms-client-request-id',
      );
    assert.equal(await echoed('my id'), 'my id');
    assert.equal(await echoed('x'.repeat(1_024)), 'x'.repeat(1_024));
    assert.equal(await echoed('x'.repeat(1_025)), undefined);
  }),
  differs('x-ms-content-crc64 | queues', async () => {
    const path = `/${await queues.newQueue()}/messages`;
    const headers = { 'x-ms-content-crc64': 'AAAAAAAAAAA=' };
    const request = { method: 'POST', path, body: messageBody('text'), headers };
    assertStatus(await queues.send(request), 400, 'Crc64Mismatch');
  }),
  onBoth.supported('x-ms-date | both', async (service) => {
    assertStatus(await service.send({ headers: { Date: longAgo } }), 200);
    const old = { 'x-ms-date': longAgo };
    assertStatus(await service.send({ headers: old }), 403, 'AuthenticationFailed');
  }),
  supported('x-ms-meta- | queues', async () => {
    const name = await queues.newQueue('meta', { 'x-ms-meta-Colour': 'Blue' });
    const { headers } = await queues.send({ path: `/${name}?comp=metadata` });
    assert.deepEqual(
      headers.filter(([each]) => /^x-ms-meta-/i.test(each)),
      [['x-ms-meta-Colour', 'Blue']],
    );
  }),
  onBoth.absent('x-ms-return-client-request-id | both', async (service) => {
    const headers = {
      'x-ms-client-request-id': 'mine',
      'x-ms-return-client-request-id': 'false',
    };
    const response = await service.send({ headers });
    assert.equal(response.header('x-ms-client-request-id'), 'mine');
  }),
  onBoth.differs('x-ms-version | both', async (service) => {
    const versioned = (version: string) => service.send({ headers: { 'x-ms-version': version } });
    for (const version of ['2016-05-31', '2031-01-01']) {
      const response = await versioned(version);
      assertStatus(response, 200);
      assert.equal(response.header('x-ms-version'), version);
    }
    assertStatus(await versioned('soon'), 400, 'InvalidHeaderValue');
  }),
]);
