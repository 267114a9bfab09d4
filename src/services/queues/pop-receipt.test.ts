import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { decodePopReceipt, encodePopReceipt, isReceiptOf } from './pop-receipt.js';

const receipts = fc.record(
  {
    id: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes)),
    nextVisibleMicros: fc.maxSafeNat(),
    version: fc.maxSafeNat(),
  },
  { noNullPrototype: true },
);

describe('pop receipts', () => {
  it('come back as they were, and need no escape in a URL', () => {
    fc.assert(
      fc.property(receipts, (receipt) => {
        const text = encodePopReceipt(receipt);
        assert.equal(encodeURIComponent(text), text);
        assert.deepEqual(decodePopReceipt(text), receipt);
      }),
    );
  });

  it('belong to one message', () => {
    fc.assert(
      fc.property(receipts, fc.nat(15), (receipt, place) => {
        const other = Buffer.from(receipt.id);
        other[place] = (other[place] ?? 0) ^ 1;
        assert.ok(isReceiptOf(receipt, receipt.id));
        assert.ok(!isReceiptOf(receipt, other));
      }),
    );
  });

  it('are told from text that is none', () => {
    const text = encodePopReceipt({ id: Buffer.alloc(16), nextVisibleMicros: 1, version: 2 });
    const wrong = [
      '',
      'abc',
      text.slice(1),
      `${text}A`,
      `B${text.slice(1)}`,
      `${text.slice(0, -1)}+`,
      'A'.repeat(44),
      `${text.slice(0, 22)}${'_'.repeat(22)}`,
      'AgAAAAEAAAApAAAAGIw6Q29bzAE=',
    ];
    for (const each of wrong) assert.equal(decodePopReceipt(each), undefined, each);
  });
});
