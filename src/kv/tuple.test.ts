import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compareBytes, equalBytes } from '../base/bytes.js';
import type { TupleElement } from './tuple.js';
import {
  appendNumber,
  appendString,
  decodeTuple,
  elementEnd,
  encodeTuple,
  keyAfter,
  prefixRange,
  stringAt,
  tupleRange,
} from './tuple.js';

/** Any UTF-16 code units, most of them near changes of the encoding. */
const anyString = fc
  .array(
    fc.oneof(
      fc.constantFrom(0, 1, 0x7f, 0x80, 0xff, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00),
      fc.constantFrom(0xdfff, 0xe000, 0xfffd, 0xffff, 0x61, 0x62),
      fc.nat(0xffff),
    ),
    { maxLength: 12 },
  )
  .map((units) => String.fromCharCode(...units));
const asciiString = fc.string({ unit: 'binary-ascii', maxLength: 12 });
const number = fc.oneof(fc.nat(300), fc.maxSafeNat());
const element: fc.Arbitrary<TupleElement> = fc.oneof(
  anyString,
  asciiString,
  number,
  fc.uint8Array({ maxLength: 6 }),
  fc.uint8Array({ max: 1, maxLength: 4 }),
);
const tuple = fc.array(element, { maxLength: 4 });

describe('tuple encoding', () => {
  it('gives back every tuple', () => {
    fc.assert(
      fc.property(tuple, (elements) => {
        const decoded = decodeTuple(encodeTuple(elements));
        assert.deepEqual(decoded.map(comparable), elements.map(comparable));
      }),
      { numRuns: 400 },
    );
  });

  it('orders strings by their code units', () => {
    fc.assert(
      fc.property(anyString, anyString, (left, right) => {
        const order = compareBytes(encodeTuple([left]), encodeTuple([right]));
        assert.equal(Math.sign(order), left < right ? -1 : left > right ? 1 : 0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('orders numbers', () => {
    fc.assert(
      fc.property(number, number, (left, right) => {
        const order = compareBytes(encodeTuple([left]), encodeTuple([right]));
        assert.equal(Math.sign(order), Math.sign(left - right));
      }),
      { numRuns: 400 },
    );
  });

  it('orders tuples element by element, a tuple before those it begins', () => {
    fc.assert(
      fc.property(tuple, tuple, (left, right) => {
        const order = compareBytes(encodeTuple(left), encodeTuple(right));
        assert.equal(Math.sign(order), compareTuples(left, right));
      }),
      { numRuns: 1_000 },
    );
  });

  it('begins the encodings of longer tuples, and of nothing else', () => {
    fc.assert(
      fc.property(tuple, tuple, (left, right) => {
        const beginning = encodeTuple(left);
        const begins = equalBytes(encodeTuple(right).subarray(0, beginning.length), beginning);
        const expected =
          left.length <= right.length &&
          left.every((each, index) => compareTuples([each], right.slice(index, index + 1)) === 0);
        assert.equal(begins, expected);
      }),
      { numRuns: 400 },
    );
  });

  it('appends as if it had been encoded at once', () => {
    fc.assert(
      fc.property(tuple, anyString, number, (elements, text, value) => {
        const prefix = encodeTuple(elements);
        assert.deepEqual(appendString(prefix, text), encodeTuple([...elements, text]));
        assert.deepEqual(appendNumber(prefix, value), encodeTuple([...elements, value]));
        assert.equal(stringAt(appendString(prefix, text), prefix.length), text);
      }),
      { numRuns: 400 },
    );
  });

  it('finds the end of an element without decoding it', () => {
    fc.assert(
      fc.property(element, tuple, (first, rest) => {
        const key = encodeTuple([first, ...rest]);
        assert.equal(elementEnd(key, 0), encodeTuple([first]).length);
        assert.deepEqual(
          decodeTuple(key, elementEnd(key, 0)).map(comparable),
          rest.map(comparable),
        );
      }),
      { numRuns: 400 },
    );
  });

  it('costs at most three bytes a code unit and two', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        assert.ok(encodeTuple([text]).length <= 3 * text.length + 2);
      }),
    );
  });

  it('takes strings longer than any key, for requests that name them', () => {
    for (const text of ['x'.repeat(50_000), '\0'.repeat(20_000), '\ud800'.repeat(20_000)]) {
      assert.deepEqual(decodeTuple(encodeTuple([1, text, 'end'])), [1, text, 'end']);
      assert.equal(stringAt(appendString(encodeTuple([1]), text), 2), text);
    }
  });

  it('returns keys that later encodings leave as they are', () => {
    const keys = Array.from({ length: 100 }, (_, index) => encodeTuple(['key', index]));
    assert.deepEqual(
      keys.map((key) => decodeTuple(key)[1]),
      keys.map((_, index) => index),
    );
  });

  it('refuses numbers that are not safe integers from zero up', () => {
    for (const value of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => encodeTuple([value]));
    }
  });

  it('refuses bytes that are no tuple', () => {
    for (const hex of [
      '00',
      '03',
      '18',
      'ff',
      '0261',
      '026100ff',
      '02610100',
      '11',
      '1701',
      '0161',
    ]) {
      assert.throws(() => decodeTuple(Buffer.from(hex, 'hex')), `${hex} was taken`);
    }
  });
});

describe('ranges of keys', () => {
  const hex = (text: string) => Buffer.from(text, 'hex');

  it('holds exactly what begins with the prefix', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 4 }),
        fc.uint8Array({ maxLength: 6 }),
        (prefix, key) => {
          const { start, end } = prefixRange(prefix);
          const inside =
            compareBytes(key, start) >= 0 && (end === undefined || compareBytes(key, end) < 0);
          assert.equal(inside, equalBytes(key.subarray(0, prefix.length), prefix));
        },
      ),
      { numRuns: 400 },
    );
    assert.deepEqual(prefixRange(hex('61ff')), { start: hex('61ff'), end: hex('62') });
    assert.deepEqual(prefixRange(hex('ffff')), { start: hex('ffff') });
    assert.deepEqual(tupleRange(['a']), prefixRange(encodeTuple(['a'])));
  });

  it('finds the least key after a key', () => {
    assert.deepEqual(keyAfter(hex('61')), hex('6100'));
  });
});

function comparable(value: TupleElement): unknown {
  return typeof value === 'object' ? { bytes: Buffer.from(value).toString('hex') } : value;
}

function compareTuples(left: readonly TupleElement[], right: readonly TupleElement[]): number {
  for (const [index, mine] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = rank(mine) - rank(other) || compareElements(mine, other);
    if (order !== 0) return Math.sign(order);
  }
  return left.length === right.length ? 0 : -1;
}

function rank(value: TupleElement): number {
  return typeof value === 'object' ? 0 : typeof value === 'string' ? 1 : 2;
}

function compareElements(left: TupleElement, right: TupleElement): number {
  if (typeof left === 'object' && typeof right === 'object') return compareBytes(left, right);
  return left < right ? -1 : left > right ? 1 : 0;
}
