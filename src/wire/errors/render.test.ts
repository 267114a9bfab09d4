import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorCode } from '../../model/errors/registry.js';
import { renderError } from './render.js';
import { StorageError, type StorageErrorOptions } from '../../model/errors/storage-error.js';

const context = {
  requestId: '2ce0e2f1-0002-0019-20cd-5933a5000000',
  timeMicros: Date.parse('2017-11-10T02:46:51.043Z') * 1000 + 721,
  level: 'minimal',
} as const;
const stamp = `\nRequestId:${context.requestId}\nTime:2017-11-10T02:46:51.0437210Z`;
const jsonStamp = stamp.replaceAll('\n', '\\n');

function render(code: ErrorCode, options?: StorageErrorOptions, level = context.level) {
  const rendered = renderError(new StorageError(code, options), { ...context, level });
  return { ...rendered, body: rendered.body.toString() };
}

describe('renderError', () => {
  it('writes an error of storage as OData JSON with Cache-Control', () => {
    assert.deepEqual(render('ResourceNotFound'), {
      status: 404,
      reason: undefined,
      headers: [
        ['Cache-Control', 'no-cache'],
        ['Content-Type', 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8'],
        ['X-Content-Type-Options', 'nosniff'],
        ['x-ms-error-code', 'ResourceNotFound'],
      ],
      body: `{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"The specified resource does not exist.${jsonStamp}"}}}`,
    });
  });

  it('sends no Cache-Control with an error found before storage', () => {
    const names = render('TableNotFound').headers.map(([name]) => name);
    assert.deepEqual(names, ['Content-Type', 'X-Content-Type-Options', 'x-ms-error-code']);
  });

  it('names the negotiated metadata level', () => {
    const rendered = renderError(new StorageError('InvalidInput'), { ...context, level: 'none' });
    assert.deepEqual(rendered.headers[0], [
      'Content-Type',
      'application/json;odata=nometadata;streaming=true;charset=utf-8',
    ]);
  });

  it('escapes what a client put into a JSON message', () => {
    const { body } = render('InvalidInput', { message: `a"b\\c\n\u0000\ud800</é` });
    const parsed: unknown = JSON.parse(body);
    assert.deepEqual(parsed, {
      'odata.error': {
        code: 'InvalidInput',
        message: { lang: 'en-US', value: `a"b\\c\n\u0000\ud800</é${stamp}` },
      },
    });
  });

  it('writes an authentication failure as front-door XML, its reason phrase the message', () => {
    const message =
      'Server failed to authenticate the request. ' +
      'Make sure the value of Authorization header is formed correctly including the signature.';
    assert.deepEqual(render('AuthenticationFailed'), {
      status: 403,
      reason: message,
      headers: [
        ['Content-Type', 'application/xml'],
        ['x-ms-error-code', 'AuthenticationFailed'],
      ],
      body: `<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>AuthenticationFailed</m:code><m:message xml:lang="en-US">${message}${stamp}</m:message></m:error>`,
    });
  });

  it('answers missing credentials with 401, a challenge and the shared wire code', () => {
    const { status, headers, body } = render('NoAuthenticationInformation');
    assert.equal(status, 401);
    const sent = new Map(headers);
    assert.equal(sent.get('x-ms-error-code'), 'InvalidAuthenticationInfo');
    assert.match(
      sent.get('WWW-Authenticate') ?? '',
      /^Bearer authorization_uri=\S+ resource_id=https:\/\/storage\.azure\.com$/,
    );
    assert.match(body, /<m:code>InvalidAuthenticationInfo<\/m:code>/);
  });

  it('writes an error about the format as OData XML', () => {
    assert.deepEqual(render('AtomFormatNotSupported'), {
      status: 415,
      reason: undefined,
      headers: [
        ['Content-Type', 'application/xml;charset=utf-8'],
        ['x-ms-error-code', 'AtomFormatNotSupported'],
      ],
      body: `<?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>AtomFormatNotSupported</code><message xml:lang="en-US">Atom format is not supported.${stamp}</message></error>`,
    });
  });

  it('writes every OData error as XML when the request named no JSON format', () => {
    const rendered = renderError(new StorageError('TableNotFound'), {
      ...context,
      level: undefined,
    });
    assert.match(rendered.body.toString(), /<error [^>]+><code>TableNotFound<\/code>/);
    assert.deepEqual(rendered.headers[0], ['Content-Type', 'application/xml;charset=utf-8']);
  });

  it('escapes what a client put into XML and keeps it out of the status line', () => {
    const { body, reason } = render('InvalidHeaderValue', { message: `<&"\u0001\r\nX: ü` });
    assert.match(body, />&lt;&amp;&quot;\ufffd&#xD;\nX: ü\nRequestId/);
    assert.equal(reason, '<&"???X: ?');
  });
});
