import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { blockBytes, decodeFrame, encodeFrame, frameBytes, type Frame } from './frame.js';

const secret = 0x1234_5678;
const version = fc.maxSafeNat();
const change = fc.record({
  key: fc.uint8Array({ minLength: 1, maxLength: 40 }),
  value: fc.option(fc.uint8Array({ maxLength: 6_000 }), { nil: undefined }),
  version,
});
const frame: fc.Arbitrary<Frame> = fc.record({
  kind: fc.constantFrom('changes', 'restart'),
  sequence: version,
  lastVersion: version,
  changes: fc.array(change, { maxLength: 8 }),
});

describe('frame of a journal', () => {
  it('is read as it was written, wherever it stands', () => {
    fc.assert(
      fc.property(frame, fc.nat({ max: 2 }), (written, blocks) => {
        const { bytes, changes } = encodeFrame(written, secret);
        assert.equal(bytes.length % blockBytes, 0);
        const start = blocks * blockBytes;
        const file = Buffer.concat([Buffer.alloc(start, 7), bytes, Buffer.alloc(blockBytes, 9)]);
        const found = decodeFrame(file, start, secret);
        assert.deepEqual(plain(found), { ...plain(written), bytes: bytes.length });
        assert.deepEqual(changes.map(plainChange), written.changes.map(plainChange));
      }),
    );
  });

  it('is none when any of its bits is another', () => {
    const content = { kind: 'changes', sequence: 7, lastVersion: 9 } as const;
    const changes = [{ key: Buffer.from('key'), value: Buffer.from('some value'), version: 8 }];
    const { bytes } = encodeFrame({ ...content, changes }, secret);
    const length = bytes.readUInt32LE(8);
    for (let bit = 0; bit < length * 8; bit += 1) {
      const corrupted = Buffer.from(bytes);
      corrupted[bit >> 3] = (corrupted[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      assert.equal(decodeFrame(corrupted, 0, secret), undefined, `bit ${bit}`);
    }
  });

  it('is none where it was cut off, or where its file has another secret', () => {
    fc.assert(
      fc.property(frame, fc.nat(), (written, cut) => {
        const { bytes } = encodeFrame(written, secret);
        const length = bytes.readUInt32LE(8);
        assert.equal(decodeFrame(bytes.subarray(0, cut % length), 0, secret), undefined);
        assert.equal(decodeFrame(bytes, 0, secret + 1), undefined);
      }),
    );
  });

  it('fills whole blocks', () => {
    assert.equal(frameBytes(0), blockBytes);
    assert.equal(frameBytes(blockBytes - 40), blockBytes);
    assert.equal(frameBytes(blockBytes - 39), 2 * blockBytes);
  });
});

function plain(found: Frame | undefined) {
  return found && { ...found, changes: found.changes.map(plainChange) };
}

function plainChange({ key, value, version: of }: Frame['changes'][number]) {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return { key: hex(key), value: value && hex(value), version: of };
}
