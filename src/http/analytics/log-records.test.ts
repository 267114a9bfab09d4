import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Permission } from '../../model/services/permission.js';
import { LogText } from '../../wire/analytics/log-line.js';
import { parseLog } from '../../../test/support/log-lines.js';
import type { CredentialKind, RequestDetail, RequestRecord } from '../exchange/record.js';
import { endedRequest, type EndedRequest } from './ended-request.js';
import { isLogged, logRecordsOf } from './log-records.js';

interface Sample {
  readonly record?: Partial<RequestRecord>;
  readonly detail?: Partial<RequestDetail>;
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

function request({
  record = {},
  detail = {},
  requestHeaders = {},
  responseHeaders = {},
}: Sample): EndedRequest {
  return endedRequest(
    {
      requestId: 'id',
      clientRequestId: undefined,
      timeMicros: 1_700_000_000_000_000,
      service: 'blob',
      operation: 'GetBlob',
      method: 'GET',
      path: '/mine/a%20b',
      account: 'acct',
      resource: 'mine',
      partitionKey: 'a b',
      authKind: 'none',
      query: undefined,
      operationCount: 1,
      bytesReceived: 0,
      bytesSent: 3,
      status: 200,
      errorCode: undefined,
      fault: undefined,
      load: [],
      serverTimeMs: 2.6,
      aborted: false,
      ...record,
    },
    'acct',
    {
      url: 'https://acct.blob.example/mine/a%20b',
      urlParts: ['https', '://', 'acct.blob.example', '/mine/a%20b'],
      version: '2019-02-02',
      isSecondary: false,
      credential: 'key',
      bearer: undefined,
      hasOwnTimeout: false,
      requestHeadBytes: 100,
      responseHeadBytes: 50,
      serverMs: 1.2,
      clientAddress: '10.0.0.1:5',
      requestHeader: (name) => requestHeaders[name],
      responseHeader: (name) => responseHeaders[name],
      ...detail,
    },
  );
}

const none: ReadonlySet<Permission> = new Set();

describe('which requests are logged (blob-service §21.1)', () => {
  it('are all with a credential, and of others those that are no mistake of theirs', () => {
    const logged = (credential: CredentialKind, record: Partial<RequestRecord>) =>
      isLogged(request({ detail: { credential }, record }));
    const ends: readonly (readonly [Partial<RequestRecord>, boolean])[] = [
      [{ status: 200 }, true],
      [{ status: 304 }, true],
      [{ status: 304, method: 'HEAD' }, false],
      [{ status: 403 }, false],
      [{ status: 404 }, false],
      [{ status: 500 }, true],
      [{ status: 500, errorCode: 'OperationTimedOut' }, true],
      [{ status: 503 }, false],
      [{ status: 200, aborted: true }, false],
    ];
    for (const [record, byNobody] of ends) {
      assert.equal(logged('none', record), byNobody, JSON.stringify(record));
      for (const credential of ['key', 'sas', 'bearer'] as const) {
        assert.ok(logged(credential, record));
      }
    }
  });
});

describe('the records of a request (blob-service §21.3 to §21.6)', () => {
  const fieldsOf = (sample: Sample, version: '1.0' | '2.0' = '1.0') => {
    const text = new LogText();
    for (const record of logRecordsOf(request(sample), version)) text.add(record);
    return parseLog(text.take().toString());
  };

  it('of a copy are three, the second about the source without its signature', () => {
    const copied = fieldsOf({
      record: { operation: 'CopyBlob', method: 'PUT', status: 202 },
      requestHeaders: { 'x-ms-copy-source': 'https://other.example/a/b?sig=secret' },
      responseHeaders: { etag: '"0x1"', 'last-modified': 'Thu, 19 Jun 2014 22:58:10 GMT' },
    });
    assert.deepEqual(
      copied.map(({ operation, operationIndex, objectKey, etag, lastModified }) => [
        operation,
        operationIndex,
        objectKey,
        etag,
        lastModified,
      ]),
      [
        ['CopyBlob', '0', '/acct/mine/a b', '"0x1"', 'Thursday, 19-Jun-14 22:58:10 GMT'],
        ['CopyBlobSource', '1', 'https://other.example/a/b', '', ''],
        ['CopyBlobDestination', '2', '/acct/mine/a b', '', ''],
      ],
    );
  });

  it('have the error code from version 2017-04-17 on, and before it the outcome', () => {
    const record = { status: 404, errorCode: 'BlobNotFound' } as const;
    const status = (version: string, credential: CredentialKind) =>
      fieldsOf({ record, detail: { version, credential } })[0]?.['status'];
    assert.equal(status('2017-04-17', 'sas'), 'BlobNotFound');
    assert.equal(status('2016-05-31', 'sas'), 'SASClientOtherError');
    assert.equal(status('2016-05-31', 'key'), 'ClientOtherError');
  });

  it('tell of a token in version 2.0 alone', () => {
    const bearer = {
      kind: 'bearer',
      authKind: 'bearer',
      permissions: { service: none, container: none, object: none },
      issuer: 'https://issuer/',
      objectId: 'user',
      audience: 'https://storage.azure.com',
    } as const;
    const sample: Sample = { detail: { credential: 'bearer', bearer } };
    const [first] = fieldsOf(sample, '2.0');
    assert.equal(first?.['authentication'], 'bearer');
    assert.equal(first['status'], 'OAuthSuccess');
    assert.equal(first['requester'], 'acct');
    assert.equal(first['objectId'], 'user');
    assert.equal(first['audience'], 'https://storage.azure.com');
    const [second] = fieldsOf(sample, '1.0');
    assert.equal(second?.['authentication'], 'authenticated');
    assert.equal(second['status'], 'Success');
  });

  it('name conditions, with dates in the form of the log', () => {
    const [fields] = fieldsOf({
      requestHeaders: {
        'if-unmodified-since': 'Tue, 07 Apr 2020 13:56:12 GMT',
        'if-none-match': '*',
        'content-length': '5x',
      },
    });
    assert.equal(
      fields?.['conditions'],
      'If-None-Match=*;If-Unmodified-Since=Tuesday, 07-Apr-20 13:56:12 GMT',
    );
    assert.equal(fields['contentLength'], '');
    assert.equal(fields['endToEndMs'], '3');
  });

  it('of an interrupted request have no status', () => {
    const [fields] = fieldsOf({ record: { aborted: true } });
    assert.deepEqual([fields?.['httpStatus'], fields?.['status']], ['Unknown', 'NetworkError']);
  });
});
