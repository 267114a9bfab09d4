import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { errorRegistry } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { MalformedBatchError } from './malformed.js';
import { renderBatchResponse, type BatchOutcome } from './render.js';

/** Stands for a line feed that is not a line end of the frame. */
const bareLineFeed = '\u2424';

/** Golden bytes of table-service §9.3 to §9.6, written with LF and compared with CRLF. */
function assertRenders(outcome: BatchOutcome, expected: string): void {
  const ids = ['aaaa', 'cccc'];
  const randomness: Randomness = {
    bytes: (count) => new Uint8Array(count),
    uuid: () => ids.shift() ?? 'too many boundaries',
  };
  const response = renderBatchResponse(outcome, {
    randomness,
    requestId: '7944c5e8-0002-0079-7bcd-59ca30000000',
    timeMicros: Date.parse('2017-11-10T02:43:55.875Z') * 1000 + 370,
  });
  assert.equal(response.contentType, 'multipart/mixed; boundary=batchresponse_aaaa');
  assert.equal(
    response.body.toString('latin1'),
    expected.replaceAll('\n', '\r\n').replaceAll(bareLineFeed, '\n'),
  );
}

const location = "https://acct.table.core.windows.net/t(PartitionKey='003',RowKey='a')";
const etag = `W/"datetime'2017-11-10T02%3A43%3A36.2754988Z'"`;
const jsonType = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8';
const stamp =
  '\\nRequestId:7944c5e8-0002-0079-7bcd-59ca30000000\\nTime:2017-11-10T02:43:55.8753700Z';

const open = `--batchresponse_aaaa
Content-Type: multipart/mixed; boundary=changesetresponse_cccc

`;
const part = `--changesetresponse_cccc
Content-Type: application/http
Content-Transfer-Encoding: binary

`;
const close = `--changesetresponse_cccc--
--batchresponse_aaaa--
`;

describe('renderBatchResponse: changesets', () => {
  it('writes an insert without echo, ended by two blank lines', () => {
    assertRenders(
      { kind: 'written', parts: [{ kind: 'inserted-no-content', contentId: '1', location, etag }] },
      `${open}${part}HTTP/1.1 204 No Content
Content-ID: 1
X-Content-Type-Options: nosniff
Cache-Control: no-cache
Preference-Applied: return-no-content
DataServiceVersion: 3.0;
Location: ${location}
DataServiceId: ${location}
ETag: ${etag}


${close}`,
    );
  });

  it('writes an insert with its echo on one line', () => {
    const body = Buffer.from('{"a":"é"}');
    const shared = { kind: 'inserted', level: 'minimal', location, etag, body } as const;
    assertRenders(
      {
        kind: 'written',
        parts: [
          { ...shared, contentId: '7', preferred: true },
          { ...shared, contentId: undefined, preferred: false },
        ],
      },
      `${open}${part}HTTP/1.1 201 Created
DataServiceVersion: 3.0;
Content-Type: ${jsonType}
Content-ID: 7
X-Content-Type-Options: nosniff
Cache-Control: no-cache
Preference-Applied: return-content
Location: ${location}
ETag: ${etag}

{"a":"\u00c3\u00a9"}
${part}HTTP/1.1 201 Created
DataServiceVersion: 3.0;
Content-Type: ${jsonType}
X-Content-Type-Options: nosniff
Cache-Control: no-cache
Location: ${location}
ETag: ${etag}

{"a":"\u00c3\u00a9"}
${close}`,
    );
  });

  it('writes updates and deletes in the order of the request', () => {
    assertRenders(
      {
        kind: 'written',
        parts: [
          { kind: 'updated', contentId: undefined, etag },
          { kind: 'deleted', contentId: '2' },
        ],
      },
      `${open}${part}HTTP/1.1 204 No Content
X-Content-Type-Options: nosniff
Cache-Control: no-cache
DataServiceVersion: 1.0;
ETag: ${etag}


${part}HTTP/1.1 204 No Content
Content-ID: 2
X-Content-Type-Options: nosniff
Cache-Control: no-cache
DataServiceVersion: 1.0;


${close}`,
    );
  });

  it('writes one part for a failure in storage, without index when the operation is alone', () => {
    assertRenders(
      {
        kind: 'write-failed',
        error: new StorageError('UpdateConditionNotSatisfied', { operationIndex: 0 }),
        contentId: '1',
        level: 'minimal',
        operationCount: 1,
        preferenceApplied: undefined,
      },
      `${open}${part}HTTP/1.1 412 Precondition Failed
Content-ID: 1
X-Content-Type-Options: nosniff
Cache-Control: no-cache
DataServiceVersion: 3.0;
Content-Type: ${jsonType}

{"odata.error":{"code":"UpdateConditionNotSatisfied","message":{"lang":"en-US","value":"The update condition specified in the request was not satisfied.${stamp}"}}}
${close}`,
    );
  });

  it('confirms the preference of a failed insert and gives the index among several', () => {
    assertRenders(
      {
        kind: 'write-failed',
        error: new StorageError('EntityAlreadyExists', { operationIndex: 1 }),
        contentId: undefined,
        level: 'none',
        operationCount: 2,
        preferenceApplied: 'return-no-content',
      },
      `${open}${part}HTTP/1.1 409 Conflict
X-Content-Type-Options: nosniff
Cache-Control: no-cache
Preference-Applied: return-no-content
DataServiceVersion: 3.0;
Content-Type: application/json;odata=nometadata;streaming=true;charset=utf-8

{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"1:The specified entity already exists.${stamp}"}}}
${close}`,
    );
  });

  it('leaves Cache-Control and the preference out of a validation failure', () => {
    assertRenders(
      {
        kind: 'write-failed',
        error: new StorageError('TableNotFound'),
        contentId: undefined,
        level: undefined,
        operationCount: 1,
        preferenceApplied: 'return-no-content',
      },
      `${open}${part}HTTP/1.1 404 Not Found
X-Content-Type-Options: nosniff
DataServiceVersion: 3.0;
Content-Type: ${jsonType}

{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"0:The table specified does not exist.${stamp}"}}}
${close}`,
    );
  });
});

describe('renderBatchResponse: without a changeset', () => {
  const lone = `--batchresponse_aaaa
Content-Type: application/http
Content-Transfer-Encoding: binary

`;

  it('writes a found entity', () => {
    assertRenders(
      {
        kind: 'found',
        contentId: undefined,
        level: 'minimal',
        etag,
        headers: [],
        body: Buffer.from('{}'),
      },
      `${lone}HTTP/1.1 200 OK
DataServiceVersion: 3.0;
Content-Type: ${jsonType}
X-Content-Type-Options: nosniff
Cache-Control: no-cache
ETag: ${etag}

{}
--batchresponse_aaaa--
`,
    );
  });

  it('writes a set of entities with its continuation', () => {
    assertRenders(
      {
        kind: 'found',
        contentId: '1',
        level: 'full',
        etag: undefined,
        headers: [['x-ms-continuation-NextPartitionKey', '1!4!Mw--']],
        body: Buffer.from('{"value":[]}'),
      },
      `${lone}HTTP/1.1 200 OK
DataServiceVersion: 3.0;
Content-Type: application/json;odata=fullmetadata;streaming=true;charset=utf-8
Content-ID: 1
X-Content-Type-Options: nosniff
Cache-Control: no-cache
x-ms-continuation-NextPartitionKey: 1!4!Mw--

{"value":[]}
--batchresponse_aaaa--
`,
    );
  });

  it('writes a missing entity with the index 0', () => {
    assertRenders(
      {
        kind: 'query-failed',
        error: new StorageError('ResourceNotFound'),
        contentId: undefined,
        level: 'minimal',
      },
      `${lone}HTTP/1.1 404 Not Found
X-Content-Type-Options: nosniff
Cache-Control: no-cache
DataServiceVersion: 3.0;
Content-Type: ${jsonType}

{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"0:The specified resource does not exist.${stamp}"}}}
--batchresponse_aaaa--
`,
    );
  });

  it('writes a malformed batch as OData XML and keeps the reason to itself', () => {
    assertRenders(
      { kind: 'malformed', error: new MalformedBatchError('secret') },
      `${lone}HTTP/1.1 400 Bad Request
Content-Type: application/xml;charset=utf-8

<?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>InvalidInput</code><message xml:lang="en-US">An error occurred while processing this request.${stamp.replaceAll('\\n', bareLineFeed)}</message></error>
--batchresponse_aaaa--
`,
    );
  });
});

it('knows the reason phrase of every status', () => {
  for (const code of Object.keys(errorRegistry) as (keyof typeof errorRegistry)[]) {
    const outcome: BatchOutcome = {
      kind: 'query-failed',
      error: new StorageError(code),
      contentId: undefined,
      level: undefined,
    };
    const context = { randomness: systemRandomness, requestId: '', timeMicros: 0 };
    assert.doesNotMatch(
      renderBatchResponse(outcome, context).body.toString(),
      /^HTTP\S+ \d+ Error/m,
    );
  }
});
