import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseCopySource, readCopySource } from './copy-source.js';

describe('the source of a copy', () => {
  it('is taken apart and not decoded', () => {
    const url =
      'http://127.0.0.1:10000/account/c/dir/a%20b.txt?snapshot=2011-03-09T01%3A42%3A34.9360000Z';
    assert.deepEqual(parseCopySource(url), {
      url,
      isHttps: false,
      host: '127.0.0.1:10000',
      rawPath: '/account/c/dir/a%20b.txt',
      rawQuery: 'snapshot=2011-03-09T01%3A42%3A34.9360000Z',
      snapshot: '2011-03-09T01:42:34.9360000Z',
      versionId: undefined,
      isSigned: false,
    });
    const other = parseCopySource('HTTPS://Account.Blob.Example:443/c/b?VersionId=v&sig=a%2Bb');
    assert.equal(other.host, 'account.blob.example');
    assert.ok(other.isHttps);
    assert.equal(other.versionId, 'v');
    assert.equal(other.isSigned, true);
    assert.equal(other.rawQuery, 'VersionId=v&sig=a%2Bb');
  });

  it('keeps a path with dots as it is', () => {
    assert.equal(parseCopySource('http://h/c/../b').rawPath, '/c/../b');
  });

  it('may have 2,048 characters', () => {
    const url = `http://h/${'a'.repeat(2_048 - 'http://h/'.length)}`;
    assert.equal(parseCopySource(url).url, url);
    assert.throws(() => parseCopySource(`${url}a`), { code: 'InvalidHeaderValue' });
  });

  it('is refused when it is none', () => {
    for (const url of [
      '',
      'c/b',
      '/account/c/b',
      'ftp://h/c/b',
      'http://h',
      'http:///c/b',
      'http://user@h/c/b',
      'http://h/c/b#f',
      'http://h/c b',
      'http://h\\c/b',
      'http://h:99999/c/b',
      'http://h/c/b?snapshot=%',
      `http://h/${'a'.repeat(2_048)}`,
    ]) {
      assert.throws(() => parseCopySource(url), { code: 'InvalidHeaderValue' }, url.slice(0, 30));
    }
    assert.throws(() => readCopySource(() => undefined), { code: 'MissingRequiredHeader' });
  });

  it('is a source or a documented error, whatever the text is', () => {
    const unit = fc.constantFrom('http://', 'h', ':', '/', '@', '?', '#', '[', ']', '%', '1', '\\');
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        try {
          parseCopySource(text);
        } catch (error) {
          assert.ok(error instanceof StorageError && error.code === 'InvalidHeaderValue');
        }
      }),
      { numRuns: 250 },
    );
  });
});
