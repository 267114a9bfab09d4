import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  missingQueryParameter,
  outOfRangeQueryParameter,
} from '../../model/errors/query-errors.js';
import { errorRegistry, type ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { renderStorageXmlError } from './storage-xml.js';

const stamp = {
  requestId: '6a03526c-ca2c-4358-a63a-b5d096988533',
  timeMicros: Date.parse('2012-05-02T19:37:24.243Z') * 1000 + 846,
};

describe('renderStorageXmlError', () => {
  it('writes code, stamped message and details in this order, the reason phrase the message', () => {
    const message =
      'One of the query parameters specified in the request URI is outside the permissible range.';
    const error = outOfRangeQueryParameter('numofmessages', '0', 1, 32);
    const { body, ...rest } = renderStorageXmlError(error, stamp);
    assert.deepEqual(rest, {
      status: 400,
      reason: message,
      headers: [
        ['Content-Type', 'application/xml'],
        ['x-ms-error-code', 'OutOfRangeQueryParameterValue'],
      ],
    });
    assert.equal(
      body.toString(),
      '<?xml version="1.0" encoding="utf-8"?><Error><Code>OutOfRangeQueryParameterValue</Code>' +
        `<Message>${message}\nRequestId:6a03526c-ca2c-4358-a63a-b5d096988533\n` +
        'Time:2012-05-02T19:37:24.2438460Z</Message>' +
        '<QueryParameterName>numofmessages</QueryParameterName>' +
        '<QueryParameterValue>0</QueryParameterValue>' +
        '<MinimumAllowed>1</MinimumAllowed><MaximumAllowed>32</MaximumAllowed></Error>',
    );
  });

  it('writes a code of the table service in the same shape', () => {
    for (const code of Object.keys(errorRegistry) as ErrorCode[]) {
      const { body } = renderStorageXmlError(new StorageError(code), stamp);
      assert.match(body.toString(), new RegExp(`^<\\?xml[^>]+><Error><Code>${code}</Code><M`));
    }
  });

  it('answers missing credentials with 401, a challenge and the code of this service', () => {
    const { status, headers } = renderStorageXmlError(
      new StorageError('NoAuthenticationInformation'),
      stamp,
    );
    const sent = new Map(headers);
    assert.equal(status, 401);
    assert.equal(sent.get('x-ms-error-code'), 'NoAuthenticationInformation');
    assert.match(sent.get('WWW-Authenticate') ?? '', /^Bearer authorization_uri=/);
  });

  it('escapes what a client sent', () => {
    const { body } = renderStorageXmlError(missingQueryParameter('<a>&\u0001'), stamp);
    assert.match(
      body.toString(),
      /<QueryParameterName>&lt;a&gt;&amp;\ufffd<\/QueryParameterName><\/Error>$/,
    );
  });
});
