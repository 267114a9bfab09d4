import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  cannotVerifyCopySource,
  crc64Mismatch,
  invalidRange,
  md5Mismatch,
  notModified,
} from './blob-errors.js';

describe('errors of blobs', () => {
  it('answer 304 for a read that shows nothing new, and know since when', () => {
    const { code, status, modifiedMicros } = notModified(7);
    assert.deepEqual([code, status, modifiedMicros], ['ConditionNotMet', 304, 7]);
  });

  it('keep a status of their own inside of a batch', () => {
    assert.equal(notModified(7).atOperation(3).status, 304);
  });

  it('know the length that a range missed', () => {
    assert.equal(invalidRange(7).lengthBytes, 7);
    assert.equal(invalidRange(7).status, 416);
  });

  it('show both checksums', () => {
    assert.deepEqual(md5Mismatch('a', 'b').details, [
      ['UserSpecifiedMd5', 'a'],
      ['ServerCalculatedMd5', 'b'],
    ]);
    assert.deepEqual(crc64Mismatch('a', 'b').details, [
      ['UserSpecifiedCrc', 'a'],
      ['ServerCalculatedCrc', 'b'],
    ]);
  });

  it('answer with the status of a copy source that failed, and 500 for one that is silent', () => {
    const failed = cannotVerifyCopySource({ status: 404, code: 'BlobNotFound', message: 'No.' });
    assert.equal(failed.status, 404);
    assert.deepEqual(failed.details, [
      ['CopySourceStatusCode', '404'],
      ['CopySourceErrorCode', 'BlobNotFound'],
      ['CopySourceErrorMessage', 'No.'],
    ]);
    assert.deepEqual(cannotVerifyCopySource({ status: 403 }).details, [
      ['CopySourceStatusCode', '403'],
    ]);
    assert.equal(cannotVerifyCopySource().status, 500);
  });
});
