import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyProperties } from '../../../test/support/edm-properties.js';
import {
  annotationLength,
  bagCount,
  decodeBag,
  encodeBag,
  findProperty,
  firstProperty,
  fragmentEnd,
  fragmentStart,
  hasName,
  headersEnd,
  propertyHeaderBytes,
  propertyName,
  readValue,
  textEnd,
  textStart,
  valueStart,
} from './bag.js';
import { readEntityBody } from '../../../test/support/entity-bodies.js';
import type { EdmValue, Property } from '../edm/value.js';

function textProperty(name: string, value: string): Property {
  return { name, value: { type: 'Edm.String', value } };
}

/** True for a text that looks like an annotation. */
function hides({ value }: EdmValue): boolean {
  return typeof value === 'string' && value.includes('@odata.type');
}

/** The pages of the documentation are two folders above the compiled sources. */
const page = new URL('../../../../docs/internals/value-layout.md', import.meta.url);

describe('the bag', () => {
  it('gives back what was put in, in order', () => {
    fc.assert(
      fc.property(anyProperties, (properties) => {
        assert.deepEqual(decodeBag(encodeBag(properties)), properties);
      }),
    );
  });

  it('reads the same from a plain byte array in the middle of another', () => {
    fc.assert(
      fc.property(anyProperties, (properties) => {
        const bag = encodeBag(properties);
        const around = new Uint8Array(bag.length + 9).fill(0xff);
        around.set(bag, 5);
        const decoded = decodeBag(around.subarray(5, 5 + bag.length));
        assert.deepEqual(encodeBag(decoded), bag);
      }),
    );
  });

  it('is walked by offsets, and finds each property by its name', () => {
    fc.assert(
      fc.property(anyProperties, (properties) => {
        const bag = encodeBag(properties);
        assert.equal(bagCount(bag), properties.length);
        let at = firstProperty;
        for (const { name, value } of properties) {
          const nameBytes = Buffer.from(name);
          assert.equal(findProperty(bag, nameBytes), at);
          assert.ok(hasName(bag, at, nameBytes));
          assert.equal(propertyName(bag, at), name);
          assert.deepEqual(readValue(bag, at), value);
          at += propertyHeaderBytes;
        }
        assert.equal(at, headersEnd(bag));
        assert.equal(textEnd(bag), bag.length);
      }),
    );
  });

  it('has no property that it was not given', () => {
    const bag = encodeBag([textProperty('ab', 'c')]);
    for (const name of ['', 'a', 'abc', 'AB', 'b']) {
      assert.equal(findProperty(bag, Buffer.from(name)), -1);
    }
  });

  it('holds the JSON of its properties, each behind a comma', () => {
    fc.assert(
      fc.property(anyProperties, (properties) => {
        const bag = Buffer.from(encodeBag(properties));
        const text = bag.toString('utf8', textStart(bag), textEnd(bag));
        const parsed = readEntityBody(`{${text.slice(1)}}`).properties;
        assert.deepEqual(parsed, properties);
        properties.forEach(({ value }, index) => {
          const at = firstProperty + index * propertyHeaderBytes;
          const start = fragmentStart(bag, at);
          const fragment = bag.toString('utf8', start, fragmentEnd(bag, at));
          const annotation = annotationLength(bag, at);
          assert.ok(fragment.startsWith(`,"${propertyName(bag, at)}`));
          assert.equal(fragment.includes('@odata.type":"Edm.'), annotation > 0 || hides(value));
          if (annotation > 0) assert.equal(bag[start + annotation], 0x2c);
        });
      }),
    );
  });

  it('gives the same answers as a view of longer memory', () => {
    fc.assert(
      fc.property(anyProperties, fc.uint8Array(), (properties, garbage) => {
        const bag = encodeBag(properties);
        const longer = new Uint8Array([...bag, ...garbage, 0, 0, 0, 9]);
        const decoded = decodeBag(longer);
        assert.equal(textEnd(longer), bag.length);
        assert.equal(findProperty(longer, Buffer.from('Absent?')), -1);
        longer.fill(0xff);
        assert.deepEqual(decoded, properties);
      }),
    );
  });

  it('keeps every text at every length, one text in one way', () => {
    for (const length of [0, 1, 23, 24, 25, 64, 1000]) {
      for (const tail of [
        '',
        'ü',
        '😀',
        '"',
        '\\',
        '\n',
        '\u007f',
        '\ud800',
        '😀\udc00',
        '\u2028',
      ]) {
        const text = 'y'.repeat(length) + tail;
        const bag = Buffer.from(encodeBag([textProperty('x', text)]));
        const stored = bag.toString('utf8', valueStart(bag, firstProperty), textEnd(bag));
        assert.equal(stored, JSON.stringify(text));
        assert.equal(readValue(bag, firstProperty).value, text);
      }
    }
  });

  it('holds entities larger than any that may be stored', () => {
    const properties = Array.from({ length: 40 }, (_, index) =>
      textProperty(`p${index}`, '日'.repeat(32_768)),
    );
    assert.deepEqual(decodeBag(encodeBag(properties)), properties);
  });

  it('is refused when its format is not known', () => {
    const bag = Buffer.from(encodeBag([]));
    bag[0] = 2;
    assert.throws(() => decodeBag(bag), /known format/);
  });

  it('is laid out as its page shows', () => {
    const example: readonly [string, EdmValue][] = [
      ['name', { type: 'Edm.String', value: 'Zoë' }],
      ['note', { type: 'Edm.String', value: 'a"b' }],
      ['age', { type: 'Edm.Int32', value: -2 }],
      ['big', { type: 'Edm.Int64', value: 9_007_199_254_740_993n }],
      ['d', { type: 'Edm.Double', value: 3 }],
      ['ok', { type: 'Edm.Boolean', value: true }],
      ['at', { type: 'Edm.DateTime', value: 504_911_232_000_000_000n }],
      ['id', { type: 'Edm.Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' }],
      ['raw', { type: 'Edm.Binary', value: Buffer.of(0, 255) }],
    ];
    const bag = encodeBag(example.map(([name, value]) => ({ name, value })));
    const block = /```bytes\n([\s\S]*?)```/.exec(readFileSync(page, 'utf8'))?.[1] ?? '';
    const documented = block.replaceAll(/#.*$/gm, '').replaceAll(/\s/g, '');
    assert.equal(Buffer.from(bag).toString('hex'), documented);
  });
});
