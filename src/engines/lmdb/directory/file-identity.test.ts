import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileIdentityOf } from './file-identity.js';

const stats = { ino: 12n, dev: 65_025n, birthtimeNs: 1_000_000_007n, ctimeNs: 2_000_000_000n };
const identity = fileIdentityOf(stats);

void describe('the identity of a file', () => {
  it('stays the same when the file changes, and when its device gets another number', () => {
    assert.equal(fileIdentityOf({ ...stats, ctimeNs: 3_000_000_000n }), identity);
    assert.equal(fileIdentityOf({ ...stats, dev: 40n }), identity);
  });

  it('is another one for each inode, and for a later file of the same inode', () => {
    assert.notEqual(fileIdentityOf({ ...stats, ino: 13n }), identity);
    assert.notEqual(fileIdentityOf({ ...stats, birthtimeNs: 1_000_000_008n }), identity);
  });

  it('has the device where there is no birth time, also when that is given as the last change', () => {
    for (const birth of ['none', 'the last change']) {
      const at = (ctimeNs: bigint, dev = 65_025n) =>
        fileIdentityOf({ ino: 12n, dev, ctimeNs, birthtimeNs: birth === 'none' ? 0n : ctimeNs });
      assert.equal(at(2n), at(3n), birth);
      assert.notEqual(at(2n), at(2n, 40n), birth);
    }
  });
});
