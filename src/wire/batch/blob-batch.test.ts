import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { batchSubrequestsMax, parseBlobBatch } from './blob-batch.js';
import { renderBlobBatch } from './blob-batch-response.js';

const boundary = 'batch_1';
const contentType = `multipart/mixed; boundary=${boundary}`;

interface Part {
  readonly contentId?: string | undefined;
  readonly request: string;
  readonly headers?: string;
}

function bodyOf(parts: readonly Part[]): Buffer {
  const texts = parts.map(
    ({ contentId, request, headers = '' }) =>
      `--${boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n` +
      `${contentId === undefined ? '' : `Content-ID: ${contentId}\r\n`}\r\n` +
      `${request} HTTP/1.1\r\n${headers}Content-Length: 0\r\n\r\n`,
  );
  return Buffer.from(`${texts.join('')}--${boundary}--\r\n`);
}

const parse = (parts: readonly Part[]) => parseBlobBatch(bodyOf(parts), contentType);
const refuses = (code: string, parts: readonly Part[]) =>
  assert.throws(() => parse(parts), { code });
const deletion = (index: number): Part => ({
  contentId: String(index),
  request: `DELETE /c/b${index}`,
});

describe('the body of a batch of blobs', () => {
  it('holds requests with paths, headers and ids of their own', () => {
    const headers =
      'x-ms-date: Thu, 14 Jun 2018 16:46:54 GMT\r\nAuthorization: SharedKey a:sig=\r\n';
    const [first, second, ...others] = parse([
      { contentId: '0', request: 'DELETE /account/c/dir/a%20b?snapshot=x&sig=y', headers },
      { request: 'DELETE /account/c/b' },
    ]);
    assert.equal(others.length, 0);
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(first.target, { path: '/account/c/dir/a%20b', query: 'snapshot=x&sig=y' });
    assert.equal(first.kind, 'delete-blob');
    assert.equal(first.contentId, '0');
    assert.equal(first.headers.get('authorization'), 'SharedKey a:sig=');
    assert.deepEqual(
      [...first.headers],
      [
        ['x-ms-date', 'Thu, 14 Jun 2018 16:46:54 GMT'],
        ['authorization', 'SharedKey a:sig='],
        ['content-length', '0'],
      ],
    );
    assert.equal(second.contentId, undefined);
    assert.equal(second.target.query, '');
  });

  it('may set tiers', () => {
    const headers = 'x-ms-access-tier: Cool\r\n';
    const [found] = parse([{ contentId: '0', request: 'PUT /c/b?comp=tier', headers }]);
    assert.equal(found?.kind, 'set-tier');
    assert.equal(found.method, 'PUT');
    assert.equal(found.headers.get('x-ms-access-tier'), 'Cool');
  });

  it('has at most 256 requests, all of one kind', () => {
    const all = Array.from({ length: batchSubrequestsMax + 1 }, (_, index) => deletion(index));
    assert.equal(parse(all.slice(1)).length, batchSubrequestsMax);
    refuses('ExceedsMaxBatchRequestCount', all);
    refuses('AllBatchSubRequestsShouldBeSameApi', [
      deletion(0),
      { contentId: '1', request: 'PUT /c/b?comp=tier' },
    ]);
  });

  it('is refused when it is none', () => {
    refuses('InvalidInput', []);
    refuses('InvalidInput', [{ request: 'GET /c/b' }]);
    refuses('InvalidInput', [{ request: 'PUT /c/b' }]);
    refuses('InvalidInput', [{ request: 'PUT /c/b?comp=tierx' }]);
    refuses('InvalidInput', [deletion(1), deletion(1)]);
    const cut = bodyOf([deletion(0)]).subarray(0, -10);
    assert.throws(() => parseBlobBatch(cut, contentType), { code: 'InvalidInput' });
    for (const type of ['', 'application/json', 'multipart/mixed']) {
      assert.throws(() => parseBlobBatch(bodyOf([deletion(0)]), type), {
        code: 'InvalidHeaderValue',
      });
    }
  });

  it('is read or refused, whatever is done to it', () => {
    const sound = bodyOf([deletion(0), deletion(1), deletion(2)]);
    const edit = fc.record({
      at: fc.nat({ max: sound.length }),
      removed: fc.nat({ max: 40 }),
      inserted: fc.constantFrom('', '\r\n', '\n', '--batch_1', '--', ':', '\0', 'PUT ', 'é', ' '),
    });
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        let body = sound;
        for (const { at, removed, inserted } of edits) {
          const rest = body.subarray(at + removed);
          body = Buffer.concat([body.subarray(0, at), Buffer.from(inserted), rest]);
        }
        try {
          assert.ok(parseBlobBatch(body, contentType).length > 0);
        } catch (error) {
          assert.ok(error instanceof StorageError && error.status === 400, String(error));
        }
      }),
      { numRuns: 250 },
    );
  });
});

describe('the answer to a batch of blobs', () => {
  const randomness = {
    bytes: () => Buffer.alloc(0),
    uuid: () => '66925647-d0cb-4109-b6d3-28efe3e1e5ed',
  };

  it('has the bytes of the cloud service', () => {
    const body = Buffer.from('<Error />');
    const { contentType, body: written } = renderBlobBatch(
      [
        {
          contentId: '0',
          status: 202,
          reason: 'Accepted',
          headers: [
            ['x-ms-request-id', 'a'],
            ['x-ms-version', '2018-11-09'],
          ],
        },
        {
          contentId: undefined,
          status: 404,
          reason: 'The specified blob does not exist.',
          headers: [
            ['x-ms-error-code', 'BlobNotFound'],
            ['Content-Length', String(body.length)],
          ],
          body,
        },
      ],
      randomness,
    );
    const id = 'batchresponse_66925647-d0cb-4109-b6d3-28efe3e1e5ed';
    assert.equal(contentType, `multipart/mixed; boundary=${id}`);
    assert.equal(
      written.toString(),
      [
        `--${id}`,
        'Content-Type: application/http',
        'Content-ID: 0',
        '',
        'HTTP/1.1 202 Accepted',
        'x-ms-request-id: a',
        'x-ms-version: 2018-11-09',
        '',
        `--${id}`,
        'Content-Type: application/http',
        '',
        'HTTP/1.1 404 The specified blob does not exist.',
        'x-ms-error-code: BlobNotFound',
        'Content-Length: 9',
        '',
        '<Error />',
        `--${id}--`,
        '',
      ].join('\r\n'),
    );
  });
});
