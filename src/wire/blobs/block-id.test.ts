import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { blockIdParameter, decodeBlockId, encodeBlockId } from './block-id.js';

describe('the id of a block', () => {
  it('is read from the base64 that shows it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
        assert.deepEqual(decodeBlockId(encodeBlockId(bytes)), Buffer.from(bytes));
        assert.deepEqual(blockIdParameter(encodeBlockId(bytes)), Buffer.from(bytes));
      }),
    );
  });

  it('has at most 64 bytes', () => {
    assert.equal(decodeBlockId(encodeBlockId(Buffer.alloc(64)))?.length, 64);
    assert.equal(decodeBlockId(encodeBlockId(Buffer.alloc(65))), undefined);
  });

  it('has one text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), (text) => {
        const id = decodeBlockId(text);
        assert.ok(id === undefined || encodeBlockId(id) === text);
      }),
    );
    for (const text of ['QQ', 'QQ=', 'QR==', 'Q-==', 'QQ== ', '====', '']) {
      assert.equal(decodeBlockId(text), undefined, text);
    }
  });

  it('is refused when it is missing, no base64 or too long', () => {
    for (const [text, code] of [
      [undefined, 'MissingRequiredQueryParameter'],
      ['', 'MissingRequiredQueryParameter'],
      ['a', 'InvalidQueryParameterValue'],
      ['QR==', 'InvalidQueryParameterValue'],
      [encodeBlockId(Buffer.alloc(65)), 'InvalidBlockId'],
      [encodeBlockId(Buffer.alloc(66)), 'InvalidBlockId'],
      ['A'.repeat(10_000), 'InvalidBlockId'],
    ] as const) {
      assert.throws(() => blockIdParameter(text), { code }, text);
    }
  });
});
