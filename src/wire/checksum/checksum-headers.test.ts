import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { claimedChecksum, parseMd5 } from './checksum-headers.js';

const md5 = 'XrY7u+Ae7tCTyyK7j1rNww==';
const crc64 = 'iJh5CoYUi64=';

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof StorageError) return error.code;
    throw error;
  }
  return 'none';
}

describe('the checksum of a request', () => {
  it('is one of two, or none', () => {
    assert.equal(claimedChecksum(undefined, undefined), undefined);
    const actual = createHash('md5').update('hello world').digest();
    assert.deepEqual(claimedChecksum(md5, undefined), { kind: 'md5', bytes: actual });
    assert.deepEqual(claimedChecksum(undefined, crc64), {
      kind: 'crc64',
      bytes: Buffer.from(crc64, 'base64'),
    });
    assert.equal(
      codeOf(() => claimedChecksum(md5, crc64)),
      'BothCrc64AndMd5HeaderPresent',
    );
  });

  it('is refused in another form than base64 of its length', () => {
    for (const text of ['', 'x', crc64, `${md5} `, md5.slice(0, -1), md5.replace('+', '-')]) {
      assert.equal(
        codeOf(() => parseMd5(text)),
        'InvalidMd5',
      );
    }
    for (const text of ['', 'x', md5, ` ${crc64}`, crc64.slice(0, -1), '!!!!!!!!!!!=']) {
      assert.equal(
        codeOf(() => claimedChecksum(undefined, text)),
        'InvalidHeaderValue',
      );
    }
  });
});
