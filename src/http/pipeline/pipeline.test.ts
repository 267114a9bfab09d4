import assert from 'node:assert/strict';
import { createHash, createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { startEcho } from '../../../test/support/echo-server.js';
import { sendBytes } from '../../../test/support/raw-http.js';
import type { WireResponse } from '../../../test/wire/kit/response.js';
import { developmentAccount } from '../../services/accounts/directory.js';
import { signRequest } from '../../wire/auth/shared-key/shared-key.js';
import { defaultApiVersion } from '../../wire/http/api-versions.js';
import type { HttpService } from '../exchange/service.js';

// The pipeline as queues use it, in front of one operation that reads at most 1,000 bytes.

const [secret = ''] = developmentAccount.keys;
const signer = {
  name: developmentAccount.name,
  key: createSecretKey(Buffer.from(secret, 'base64')),
};

const queueLike: Partial<HttpService> = {
  name: 'queue',
  verifiesChecksums: true,
  renderError: ({ code, status, details }) => ({
    status,
    headers: [],
    body: Buffer.from(
      JSON.stringify([code, ...details.map(([name, value]) => `${name}=${value}`)]),
    ),
  }),
};

interface Request {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

const path = `/${developmentAccount.name}/q`;
const common = ['Host', 'x', 'x-ms-date', 'Fri, 01 Mar 2024 12:00:00 GMT'];

/** The bytes of a request as described, and `more` headers that are not signed. */
function bytesOf(request: Request, more: readonly string[] = []): string {
  const { method = 'GET', query = '', headers = [], body = '' } = request;
  const lines: string[] = [];
  const all = [...common, ...headers, ...more];
  for (let index = 0; index < all.length; index += 2)
    lines.push(`${all[index]}: ${all[index + 1]}`);
  const target = query === '' ? path : `${path}?${query}`;
  return `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** An empty version: the header is left out. */
function signed(request: Request, version = '2021-12-02'): string {
  const { method = 'GET', query: rawQuery = '', headers = [] } = request;
  const versionHeader = version === '' ? [] : ['x-ms-version', version];
  const authorization = signRequest('SharedKey', signer, {
    form: 'blob-queue',
    method,
    rawPath: path,
    rawQuery,
    version,
    headers: [...common, ...headers, ...versionHeader],
  });
  return bytesOf(request, [...versionHeader, 'Authorization', authorization]);
}

function md5Of(text: string): string {
  return createHash('md5').update(text).digest('base64');
}

async function answered(bytes: string): Promise<WireResponse> {
  await using server = await startEcho(() => Promise.resolve('fine'), { service: queueLike });
  return await sendBytes(server.port, bytes);
}

async function refused(bytes: string): Promise<readonly [status: number, ...error: string[]]> {
  const { status, text } = await answered(bytes);
  assert.notEqual(text, 'fine');
  return [status, ...(JSON.parse(text) as string[])];
}

describe('the sender of a request', () => {
  it('is known by a signature over headers and query as sent', async () => {
    const headers = [
      'X-Ms-Meta-Case',
      ' Kept ',
      'Content-Length',
      '2',
      'content-type',
      'text/plain',
    ];
    const request = { method: 'PUT', query: 'b=%2B&A=1&b=', headers, body: 'ab' };
    assert.equal((await answered(signed(request))).text, 'fine');
  });

  it('is not known by a signature over something else', async () => {
    const bytes = signed({ query: 'a=1' }).replace('a=1', 'a=2');
    const [status, code, detail = ''] = await refused(bytes);
    assert.deepEqual([status, code], [403, 'AuthenticationFailed']);
    assert.match(detail, /^AuthenticationErrorDetail=/);
    assert.ok(detail.includes(`/${signer.name}${path}\na:2'`));
  });

  it('is asked for since 2019-12-12, and only refused before', async () => {
    const [status, code] = await refused(bytesOf({}, ['x-ms-version', '2019-12-12']));
    assert.deepEqual([status, code], [401, 'NoAuthenticationInformation']);
    const before = await refused(bytesOf({}, ['x-ms-version', '2019-10-10']));
    assert.deepEqual(before.slice(0, 2), [403, 'AuthenticationFailed']);
  });

  it('cannot be read from a malformed header', async () => {
    const [status, code] = await refused(bytesOf({}, ['Authorization', 'SharedKey x']));
    assert.deepEqual([status, code], [400, 'InvalidAuthenticationInfo']);
  });

  it('is no longer known when a header that is signed comes twice', async () => {
    const headers = ['x-ms-meta-a', '1'];
    const bytes = signed({ headers }).replace('\r\n\r\n', '\r\nX-MS-Meta-A: 2\r\n\r\n');
    assert.deepEqual(await refused(bytes), [
      400,
      'InvalidHeaderValue',
      'HeaderName=x-ms-meta-a',
      'HeaderValue=2',
    ]);
  });
});

describe('the checks of a request', () => {
  it('execute a request without a version in the default one, also when it is signed', async () => {
    const response = await answered(signed({}, ''));
    assert.equal(response.text, 'fine');
    assert.equal(response.header('x-ms-version'), defaultApiVersion);
  });

  it('refuse a version that is no date', async () => {
    assert.deepEqual(await refused(bytesOf({}, ['x-ms-version', 'latest'])), [
      400,
      'InvalidHeaderValue',
      'HeaderName=x-ms-version',
      'HeaderValue=latest',
    ]);
  });

  it('refuse a time limit that is no number, whatever the case of its name', async () => {
    const [status, code, name, value] = await refused(signed({ query: 'TimeOut=soon' }));
    assert.deepEqual([status, code], [400, 'InvalidQueryParameterValue']);
    assert.deepEqual([name, value], ['QueryParameterName=timeout', 'QueryParameterValue=soon']);
    assert.equal((await answered(signed({ query: 'TimeOut=5' }))).text, 'fine');
  });

  it('refuse a body that does not match its Content-MD5', async () => {
    const put = (md5: string) =>
      signed({
        method: 'PUT',
        headers: ['Content-MD5', md5, 'Content-Length', '4'],
        body: 'text',
      });
    assert.equal((await answered(put(md5Of('text')))).text, 'fine');
    const details = [`UserSpecifiedMd5=${md5Of('test')}`, `ServerCalculatedMd5=${md5Of('text')}`];
    assert.deepEqual(await refused(put(md5Of('test'))), [400, 'Md5Mismatch', ...details]);
    assert.deepEqual(await refused(put('text')), [400, 'InvalidMd5']);
  });

  it('refuse a body beyond the bound of its operation, and name the bound', async () => {
    const tooLarge = [413, 'RequestBodyTooLarge', 'MaxLimit=1000'];
    const declared = signed({ method: 'PUT', headers: ['Content-Length', '1001'] });
    assert.deepEqual(await refused(declared), tooLarge);
    const chunked = signed({
      method: 'PUT',
      headers: ['Transfer-Encoding', 'chunked'],
      body: `3e9\r\n${'x'.repeat(1001)}\r\n0\r\n\r\n`,
    });
    assert.deepEqual(await refused(chunked), tooLarge);
    const unencoded = ['Transfer-Encoding', '', 'Content-Length', '1001'];
    assert.deepEqual(await refused(signed({ method: 'PUT', headers: unencoded })), tooLarge);
  });
});

describe('the record of a request', () => {
  it('names the service, also of what the parser refused', async () => {
    await using server = await startEcho(() => Promise.resolve('fine'), { service: queueLike });
    await sendBytes(server.port, signed({}));
    await sendBytes(server.port, 'nonsense\r\n\r\n');
    assert.deepEqual(
      server.records.map(({ service, status }) => [service, status]),
      [
        ['queue', 200],
        ['queue', 400],
      ],
    );
  });
});
