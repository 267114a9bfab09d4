import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContentHeaders } from '../../model/blobs/properties.js';
import type { SasResponseHeaders } from '../auth/sas/fields.js';
import {
  addContentHeaders,
  changedContentHeaders,
  contentHeadersOfBlob,
  contentHeadersOfBody,
} from './content-headers.js';

const lookup = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name];
const md5 = 'XrY7u+Ae7tCTyyK7j1rNww==';
const plain = {
  'content-type': 'text/plain',
  'content-encoding': 'gzip',
  'content-language': 'de',
  'cache-control': 'no-cache',
  'content-disposition': 'inline',
  'content-md5': md5,
};
const own = {
  'x-ms-blob-content-type': 'text/html',
  'x-ms-blob-content-encoding': 'br',
  'x-ms-blob-content-language': 'en',
  'x-ms-blob-cache-control': 'max-age=1',
  'x-ms-blob-content-disposition': 'attachment',
  'x-ms-blob-content-md5': md5,
};
const ofOwn = {
  contentType: 'text/html',
  contentEncoding: 'br',
  contentLanguage: 'en',
  cacheControl: 'max-age=1',
  contentDisposition: 'attachment',
  contentMd5: Buffer.from(md5, 'base64'),
};
const byDefault = { contentType: 'application/octet-stream' };

describe('the properties of a blob in the headers of a request', () => {
  it('of Put Blob are those for blobs, or else those of the request', () => {
    assert.deepEqual(contentHeadersOfBody(lookup({ ...plain, ...own })), ofOwn);
    assert.deepEqual(contentHeadersOfBody(lookup(plain)), {
      contentType: 'text/plain',
      contentEncoding: 'gzip',
      contentLanguage: 'de',
      cacheControl: 'no-cache',
    });
    assert.deepEqual(contentHeadersOfBody(lookup({})), byDefault);
  });

  it('of other operations are those for blobs alone', () => {
    assert.deepEqual(contentHeadersOfBlob(lookup({ ...plain, ...own })), ofOwn);
    assert.deepEqual(contentHeadersOfBlob(lookup(plain)), byDefault);
  });

  it('are all replaced by one of them, and stay without any', () => {
    assert.equal(changedContentHeaders(lookup(plain)), undefined);
    assert.deepEqual(changedContentHeaders(lookup({ 'x-ms-blob-cache-control': 'x' })), {
      ...byDefault,
      cacheControl: 'x',
    });
    assert.deepEqual(changedContentHeaders(lookup({ 'x-ms-blob-content-md5': '' })), byDefault);
  });

  it('are refused with a checksum that is none', () => {
    assert.throws(() => contentHeadersOfBlob(lookup({ 'x-ms-blob-content-md5': 'x' })), {
      code: 'InvalidMd5',
    });
  });
});

function added(headers: ContentHeaders, replaced: SasResponseHeaders): string[] {
  const lines: string[] = [];
  addContentHeaders(lines, headers, replaced);
  return lines;
}

describe('the properties of a blob in the headers of an answer', () => {
  it('are those that it has, and those that a signature has in their place', () => {
    const headers = { contentType: 'text/plain', cacheControl: 'no-cache' };
    assert.equal(
      added(headers, { contentType: 'text/html', contentLanguage: 'en' }).join(', '),
      'Content-Type, text/html, Content-Language, en, Cache-Control, no-cache',
    );
    assert.equal(added(ofOwn, {}).length, 10);
  });

  it('are refused when no header can have them', () => {
    for (const text of ['a\nb', 'a\0', '\u0100']) {
      assert.throws(() => added({}, { cacheControl: text }), {
        code: 'InvalidQueryParameterValue',
      });
    }
  });
});
