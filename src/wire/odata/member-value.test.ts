import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyProperties } from '../../../test/support/edm-properties.js';
import { unreachable } from '../../base/invariant.js';
import { propertyBagOf, textEnd, textStart } from '../../model/bag/bag.js';
import type { EdmValue, Property } from '../../model/edm/value.js';
import { parseEntityBody } from './json-reader.js';

/** The members of the canonical JSON of some properties. */
function canonicalText(properties: readonly Property[]): string {
  const { bag } = propertyBagOf(properties);
  return Buffer.from(bag).toString('utf8', textStart(bag) + 1, textEnd(bag));
}

/** Escapes every `step`th character, as JSON may. */
function escaped(text: string, step: number): string {
  return text.replaceAll(/[^]/g, (unit, index: number) =>
    index % step === 0
      ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`
      : JSON.stringify(unit).slice(1, -1),
  );
}

/** Other JSON texts of a value, for a property with a type annotation. */
function otherSpelling(value: EdmValue, text: string, step: number): string {
  switch (value.type) {
    case 'Edm.Int32':
      return `"${value.value < 0 ? '-' : '+'}00${Math.abs(value.value)}"`;
    case 'Edm.Int64':
      return `"${value.value < 0n ? '-000' : '000'}${String(value.value).replace('-', '')}"`;
    case 'Edm.Double':
      if (!Number.isFinite(value.value)) return `"${String(value.value)}"`;
      return Object.is(value.value, -0) ? '-0e0' : value.value.toExponential();
    case 'Edm.DateTime':
      return text.includes('.')
        ? text.replace('Z', '+00:00').replace('T', 't')
        : text.replace('Z', '.000Z');
    case 'Edm.Guid':
      return `"${escaped(value.value.toUpperCase(), step)}"`;
    case 'Edm.Binary':
      return text.replaceAll('/', '\\/');
    case 'Edm.String':
      return `"${escaped(value.value, step)}"`;
    case 'Edm.Boolean':
      return `"${value.value}"`;
    default:
      return unreachable(value);
  }
}

interface Style {
  readonly spelling: 'canonical' | 'other';
  readonly annotation: 'before' | 'behind' | 'first' | 'last';
  readonly space: string;
  readonly step: number;
}

const style: fc.Arbitrary<Style> = fc.record({
  spelling: fc.constantFrom('canonical' as const, 'other' as const),
  annotation: fc.constantFrom('before' as const, 'behind' as const, 'first' as const, 'last'),
  space: fc.constantFrom('', '', ' ', '\n\t'),
  step: fc.integer({ min: 1, max: 3 }),
});

/** A property in one of its spellings, with optional white space around it. */
function spell({ name, value }: Property, { spelling, annotation, space, step }: Style) {
  const whole = canonicalText([{ name, value }]);
  const text = whole.slice(whole.lastIndexOf(`"${name}":`) + name.length + 3);
  const literal = value.type === 'Edm.String' ? JSON.stringify(value.value) : text;
  const shown = spelling === 'canonical' ? literal : otherSpelling(value, literal, step);
  const type = `"${name}@odata.type"${space}:${space}"${value.type}"`;
  const key = spelling === 'canonical' ? name : escaped(name, step);
  const member = `"${key}"${space}:${space}${shown}`;
  switch (annotation) {
    case 'before':
      return { first: [], members: [type, member], last: [] };
    case 'behind':
      return { first: [], members: [member, type], last: [] };
    case 'first':
      return { first: [type], members: [member], last: [] };
    case 'last':
      return { first: [], members: [member], last: [type] };
    default:
      return unreachable(annotation);
  }
}

describe('values read into a bag', () => {
  it('are one canonical text, however the body spells them', () => {
    const bodies = anyProperties.chain((properties) =>
      fc.tuple(
        fc.constant(properties),
        fc.array(style, { minLength: properties.length, maxLength: properties.length }),
      ),
    );
    fc.assert(
      fc.property(bodies, ([properties, styles]) => {
        const parts = properties.flatMap((property, index) => {
          const chosen = styles[index];
          return chosen === undefined ? [] : [spell(property, chosen)];
        });
        const members = [
          ...parts.flatMap(({ first }) => first),
          ...parts.flatMap((part) => part.members),
          ...parts.flatMap(({ last }) => last),
        ];
        const read = parseEntityBody(`{${members.join(',')}}`).properties;
        assert.deepEqual(read, propertyBagOf(properties));
      }),
      { numRuns: 250 },
    );
  });

  it('are copied from a body that is canonical, at every length', () => {
    for (const length of [0, 1, 12, 40, 1000, 32_768, 32_769, 65_500, 70_000]) {
      const properties: Property[] = [
        { name: 'before', value: { type: 'Edm.Int64', value: -1n } },
        { name: 'text', value: { type: 'Edm.String', value: 'x'.repeat(length) } },
        { name: 'raw', value: { type: 'Edm.Binary', value: Buffer.alloc(length, 0xff) } },
        { name: 'after', value: { type: 'Edm.Double', value: 0.5 } },
      ];
      const read = parseEntityBody(`{${canonicalText(properties)}}`).properties;
      assert.deepEqual(read, propertyBagOf(properties));
      assert.equal(read.valueTooLarge, length > 32_768);
    }
  });

  for (const [number, canonical] of [
    ['0.0', '0.0'],
    ['-0.0', '-0.0'],
    ['0.5', '0.5'],
    ['0.05', '0.05'],
    ['0.0000001', '1e-7'],
    ['1.50', '1.5'],
    ['1.00', '1.0'],
    ['123456789012.25', '123456789012.25'],
    ['0.1000000000000000055', '0.1'],
    ['9999999999999999.5', '10000000000000000.0'],
    ['1e3', '1000.0'],
  ] as const) {
    it(`write ${number} as ${canonical}`, () => {
      const { bag } = parseEntityBody(`{"x":${number}}`).properties;
      const text = Buffer.from(bag).toString('latin1', textStart(bag), textEnd(bag));
      assert.equal(text, `,"x":${canonical}`);
    });
  }
});
