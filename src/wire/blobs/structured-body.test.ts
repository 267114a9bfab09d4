import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { Crc64, crc64 } from '../checksum/crc64.js';
import { isStructured, StructuredReader, StructuredWriter } from './structured-body.js';

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/** `Hello World` in one segment, byte for byte. */
const hello = Buffer.concat([
  bytesOf('01 3200000000000000 0100 0100'),
  bytesOf('0100 0b00000000000000'),
  Buffer.from('Hello World'),
  Buffer.from('YeJLfssylmU=', 'base64'),
  Buffer.from('YeJLfssylmU=', 'base64'),
]);

function read(bytes: Buffer, contentBytes: number, cuts: readonly number[] = []): Buffer {
  const reader = new StructuredReader(contentBytes, new Crc64());
  const content: Buffer[] = [];
  const ends = cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b);
  let at = 0;
  for (const end of [...ends, bytes.length]) {
    for (const part of reader.take(bytes.subarray(at, end))) content.push(Buffer.from(part));
    at = end;
  }
  reader.end();
  return Buffer.concat(content);
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof StorageError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'none';
}

/** With other bytes from an offset on. */
function changed(bytes: Buffer, offset: number, hex: string): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(hex, offset, 'hex');
  return copy;
}

describe('a structured body (blob-service §11.5)', () => {
  it('has the layout of the protocol', () => {
    const writer = new StructuredWriter(11);
    const parts = [writer.begin(), ...writer.add(Buffer.from('Hello World')), writer.end()];
    assert.deepEqual(Buffer.concat(parts), hello);
    assert.equal(writer.bytes, hello.length);
    assert.equal(read(hello, 11).toString(), 'Hello World');
  });

  it('gives the content back, wherever its pieces are cut', () => {
    const bytes = Buffer.alloc(4 * 1024 * 1024 + 7, 'abcdefg');
    const writer = new StructuredWriter(bytes.length);
    const parts = [writer.begin(), ...writer.add(bytes.subarray(0, 5))];
    parts.push(...writer.add(bytes.subarray(5)), writer.end());
    const body = Buffer.concat(parts);
    assert.equal(body.length, writer.bytes);
    assert.equal(body.readUInt16LE(11), 2, 'a segment has 4 MiB at most');
    assert.ok(read(body, bytes.length, [1, 12, 13, 22, 4_194_330, 4_194_340]).equals(bytes));
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 8 }), (cuts) => {
        assert.equal(read(hello, 11, cuts).toString(), 'Hello World');
      }),
    );
  });

  it('may be empty, with no segment or with an empty one', () => {
    const writer = new StructuredWriter(0);
    const body = Buffer.concat([writer.begin(), writer.end()]);
    const sum = crc64(Buffer.alloc(0)).toString('hex');
    const one = `01 2700000000000000 0100 0100 0100 0000000000000000 ${sum} ${sum}`;
    assert.deepEqual(body, bytesOf(one));
    const none = `01 1500000000000000 0100 0000 ${sum}`;
    for (const each of [one, none]) assert.equal(read(bytesOf(each), 0).length, 0);
  });

  it('is refused when a checksum does not match', () => {
    for (const offset of [23, hello.length - 16, hello.length - 1]) {
      const refusal = codeOf(() => read(changed(hello, offset, '00'), 11));
      assert.match(refusal, /^Crc64Mismatch/, String(offset));
    }
  });

  it('is refused for another structure, which it names', () => {
    const cases: readonly (readonly [Buffer, RegExp])[] = [
      [changed(hello, 0, '02'), /another version/],
      [changed(hello, 1, '33'), /another length than 50/],
      [changed(hello, 9, '0000'), /other flags/],
      [changed(hello, 11, '0200'), /another length than 68/],
      [changed(hello, 13, '0200'), /lacks its segment 1/],
      [changed(hello, 15, '0c'), /more content/],
      [changed(hello, 15, '0a'), /Crc64Mismatch/],
      [changed(hello, 15, '0000500000'), /more than 4194304 bytes/],
      [hello.subarray(0, -1), /ends too early/],
      [Buffer.alloc(0), /ends too early/],
      [Buffer.concat([hello, Buffer.from('x')]), /behind its end/],
    ];
    for (const [bytes, reason] of cases)
      assert.match(
        codeOf(() => read(bytes, 11)),
        reason,
      );
    const short = changed(hello, 1, '33');
    assert.match(
      codeOf(() => read(short, 12)),
      /less content/,
    );
  });

  it('is announced in one form', () => {
    const said = (text: string | undefined) => () => isStructured(() => text);
    assert.equal(said('XSM/1.0; properties=crc64')(), true);
    assert.equal(said('xsm/1.0;properties=CRC64')(), true);
    assert.equal(said(undefined)(), false);
    for (const other of ['XSM/2.0; properties=crc64', 'XSM/1.0', 'x']) {
      assert.match(codeOf(said(other)), /^InvalidHeaderValue/);
    }
  });
});
