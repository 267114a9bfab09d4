import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { crc64 } from '../../wire/checksum/crc64.js';
import { verifyChecksum } from './content-checksum.js';

function verify(md5: string | undefined, body: string, bodyBytesMax = 1000): string {
  return verifyHeaders({ 'content-md5': md5 }, body, bodyBytesMax);
}

function verifyHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
  bodyBytesMax = 1000,
): string {
  const bytes = Buffer.from(body);
  const exchange = {
    header: (name: string) => headers[name],
    body: bodyBytesMax === 0 ? Buffer.alloc(0) : bytes,
    bodyBytesDeclared: bytes.length,
  };
  try {
    verifyChecksum(exchange, { bodyBytesMax });
    return 'fine';
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return error.code;
  }
}

const md5 = (text: string) => createHash('md5').update(text).digest('base64');

describe('Content-MD5', () => {
  it('need not be there', () => {
    assert.equal(verify(undefined, 'text'), 'fine');
  });

  it('must be that of the body', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (body, other) => {
        assert.equal(verify(md5(body), body), 'fine');
        assert.equal(verify(md5(other), body), body === other ? 'fine' : 'Md5Mismatch');
      }),
    );
  });

  it('of a request without a body is that of nothing', () => {
    assert.equal(verify('1B2M2Y8AsgTpgAmY7PhCfg==', '', 0), 'fine');
    assert.equal(verify(md5('x'), '', 0), 'Md5Mismatch');
  });

  it('is not compared with a body that the operation does not read', () => {
    assert.equal(verify(md5('x'), 'text', 0), 'fine');
  });

  it('must be 128 bits in base64', () => {
    const good = md5('text');
    const hex = createHash('md5').update('text').digest('hex');
    const url = '-_-_-_-_-_-_-_-_-_-_-w==';
    for (const bad of ['', 'x', good.slice(0, -1), `${good} `, `AAAA${good}`, hex, url]) {
      assert.equal(verify(bad, 'text'), 'InvalidMd5', bad);
      assert.equal(verify(bad, 'text', 0), 'InvalidMd5', bad);
    }
  });
});

describe('x-ms-content-crc64', () => {
  const name = 'x-ms-content-crc64';
  const sum = (text: string) => crc64(Buffer.from(text)).toString('base64');

  it('must be that of the body', () => {
    assert.equal(verifyHeaders({ [name]: sum('text') }, 'text'), 'fine');
    assert.equal(verifyHeaders({ [name]: sum('other') }, 'text'), 'Crc64Mismatch');
    assert.equal(verifyHeaders({ [name]: 'AAAAAAAAAAA=' }, '', 0), 'fine');
  });

  it('is eight bytes in base64, and alone', () => {
    assert.equal(verifyHeaders({ [name]: 'x' }, 'text'), 'InvalidHeaderValue');
    const both = { [name]: sum('text'), 'content-md5': md5('text') };
    assert.equal(verifyHeaders(both, 'text'), 'BothCrc64AndMd5HeaderPresent');
  });
});
