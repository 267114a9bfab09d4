import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Instant } from '../rows/instant.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { ticksMax } from '../rows/ticks.js';
import { compareTexts } from '../rows/text-order.js';
import { isForbiddenInKeys } from './key-escape.js';
import { keyFieldOf, type KeyPart, type MomentKeyField, type NumberKeyField } from './key-part.js';
import {
  formatKey,
  key,
  keyTemplate,
  openPrefix,
  parseKey,
  prefixOf,
  rangeOfPrefix,
  type KeyTemplate,
  type KeyValues,
} from './key-template.js';
import type { AnyProperty } from './property.js';
import {
  boolean,
  dateTime,
  enumeration,
  guid,
  instant,
  int32,
  int64,
  string,
} from './scalar-types.js';

const text = (name: string) => keyFieldOf(name, string()) as KeyPart;
const number = (name: string) => keyFieldOf(name, int32()) as NumberKeyField<string, number>;
const big = (name: string) => keyFieldOf(name, int64()) as NumberKeyField<string, bigint>;
const moment = (name: string, property: AnyProperty = instant()) =>
  keyFieldOf(name, property) as MomentKeyField<string, Instant>;

/** A form of a key part, values for it, and their order. */
interface Form {
  readonly part: (name: string) => KeyPart;
  readonly values: fc.Arbitrary<unknown>;
  readonly compare?: (left: never, right: never) => number;
}

const numeric = (left: number | bigint, right: number | bigint) =>
  left < right ? -1 : left > right ? 1 : 0;
const texts = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.constantFrom('', '_', '__', '/_', '\\', '#?', '\u007f', 'a b', '\uffee', "'", '%2F', '日'),
  )
  .filter((value) => !/\p{Surrogate}/u.test(value));
const int32s = fc.oneof(fc.integer(), fc.constantFrom(-(2 ** 31), -1, 0, 2 ** 31 - 1));
const int64s = fc.oneof(
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n),
);
const instants = fc
  .oneof(fc.bigInt(0n, ticksMax), fc.constantFrom(0n, ticksMax))
  .map((ticks) => Instant.ofTicks(ticks));
const byTicks = (left: Instant, right: Instant) => left.compare(right);

const fixed: readonly Form[] = [
  {
    part: (name) => number(name).padded(6),
    values: fc.integer({ min: 0, max: 999_999 }),
    compare: numeric,
  },
  {
    part: (name) => number(name).descending(10),
    values: fc.nat(),
    compare: (left: number, right: number) => numeric(right, left),
  },
  { part: (name) => number(name).offset(), values: int32s, compare: numeric },
  { part: (name) => big(name).offset(), values: int64s, compare: numeric },
  { part: (name) => big(name).padded(19), values: fc.bigInt(0n, 2n ** 63n - 1n), compare: numeric },
  { part: (name) => moment(name).ascending(), values: instants, compare: byTicks },
  {
    part: (name) => moment(name).descending(),
    values: instants,
    compare: (left: Instant, right: Instant) => right.compare(left),
  },
  { part: (name) => keyFieldOf(name, guid()) as KeyPart, values: fc.uuid(), compare: compareTexts },
];

const open: readonly Form[] = [
  { part: text, values: texts },
  { part: (name) => number(name).unordered(), values: int32s },
  { part: (name) => big(name).unordered(), values: int64s },
  { part: (name) => keyFieldOf(name, boolean()) as KeyPart, values: fc.boolean() },
  {
    part: (name) => keyFieldOf(name, enumeration('a/b', 'x_y', '')) as KeyPart,
    values: fc.constantFrom('a/b', 'x_y', ''),
  },
  {
    part: (name) => moment(name, dateTime()).ascending(),
    values: fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T00:00:00Z'),
      noInvalidDate: true,
    }),
  },
];

interface Drawn {
  readonly template: KeyTemplate;
  readonly forms: readonly Form[];
  readonly values: fc.Arbitrary<KeyValues>;
}

function templateOf(forms: readonly Form[], separators: readonly string[]): Drawn {
  const parts = forms.map(({ part }, index) => part(`p${index}`));
  const ends = forms.map((_form, index) =>
    index === forms.length - 1 ? '' : (separators[index] ?? '_'),
  );
  return {
    template: keyTemplate(['x', ...ends], parts),
    forms,
    values: fc.record(Object.fromEntries(forms.map(({ values }, index) => [`p${index}`, values]))),
  };
}

const templates = (from: readonly Form[]) =>
  fc
    .tuple(
      fc.array(fc.constantFrom(...from), { minLength: 1, maxLength: 4 }),
      fc.array(fc.constantFrom('_', '-', '__', ' by ', '!'), { minLength: 4, maxLength: 4 }),
    )
    .map(([forms, separators]) => templateOf(forms, separators));

const show = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
const plain = (values: KeyValues | undefined) =>
  values && Object.fromEntries(Object.entries(values).map(([name, value]) => [name, show(value)]));

describe('a key template', () => {
  it('writes the layouts of the design guide', () => {
    const id = number('id');
    assert.equal(formatKey(key`empid_${id.padded(6)}`, { id: 223 }), 'empid_000223');
    assert.equal(
      formatKey(key`email_${text('email')}`, { email: 'jonesj@contoso.com' }),
      'email_jonesj@contoso.com',
    );
    assert.equal(
      formatKey(key`${id.padded(6)}_${number('year').padded(4)}`, { id: 123, year: 2012 }),
      '000123_2012',
    );
    const at = Instant.parse('2024-05-31T12:00:00Z');
    assert.equal(formatKey(key`${moment('at').descending()}`, { at }), '2516851439999999999');
    assert.equal(formatKey(key`department`, {}), 'department');
  });

  it('is read back, has no forbidden character, and keeps different values apart', () => {
    const drawn = templates([...fixed, ...open]).chain((each) =>
      fc.tuple(fc.constant(each.template), each.values, each.values),
    );
    fc.assert(
      fc.property(drawn, ([template, left, right]) => {
        const written = formatKey(template, left);
        assert.equal(isForbiddenInKeys(written), false);
        assert.deepEqual(plain(parseKey(template, written)), plain(left));
        const isSame = JSON.stringify(plain(left)) === JSON.stringify(plain(right));
        assert.equal(formatKey(template, right) === written, isSame);
      }),
      { numRuns: 400 },
    );
  });

  it('sorts as its values do, one after the other, where they have a fixed width', () => {
    const drawn = templates(fixed).chain((each) =>
      fc.tuple(fc.constant(each), each.values, each.values),
    );
    fc.assert(
      fc.property(drawn, ([{ template, forms }, left, right]) => {
        const order = forms
          .map(({ compare = compareTexts }, index) =>
            compare(left[`p${index}`] as never, right[`p${index}`] as never),
          )
          .find((each) => each !== 0);
        const keys = compareTexts(formatKey(template, left), formatKey(template, right));
        assert.equal(Math.sign(keys), Math.sign(order ?? 0));
      }),
      { numRuns: 250 },
    );
  });

  it('finds by a prefix exactly the keys that have its values', () => {
    const drawn = templates([...fixed, ...open]).chain((each) =>
      fc.tuple(fc.constant(each), each.values, each.values, fc.nat(each.forms.length)),
    );
    fc.assert(
      fc.property(drawn, ([{ template, forms }, values, other, count]) => {
        const names = forms.map((_form, index) => `p${index}`).slice(0, count);
        const leading = Object.fromEntries(names.map((name) => [name, values[name]]));
        const prefix = prefixOf(template, leading);
        const range = rangeOfPrefix(prefix);
        assert.ok(range !== undefined);
        for (const each of [values, other]) {
          const written = formatKey(template, each);
          const isInside: boolean = prefix.isWhole
            ? written === prefix.text
            : written >= range.from && written < range.before;
          const hasValues = names.every((name) => show(each[name]) === show(values[name]));
          assert.equal(isInside, hasValues, `${written} in ${range.from} to ${range.before}`);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('finds by the beginning of a text exactly the texts that begin with it', () => {
    const template = key`${number('id').padded(3)}_${text('name')}_${text('rest')}`;
    const printable = texts.filter((value) => Array.from(value).every((char) => char >= ' '));
    fc.assert(
      fc.property(printable, printable, (start, name) => {
        const prefix = openPrefix(template, prefixOf(template, { id: 7 }), start);
        const range = rangeOfPrefix(prefix);
        assert.ok(range !== undefined);
        const written = formatKey(template, { id: 7, name, rest: 'x' });
        const isInside = written >= range.from && written < range.before;
        // Exactly the values with this prefix are inside.
        assert.equal(isInside, name.startsWith(start));
      }),
      { numRuns: 400 },
    );
  });

  it('refuses what does not fit', () => {
    const id = number('id');
    const refused: [KeyTemplate, KeyValues, RegExp][] = [
      [key`${id.padded(3)}`, { id: 1000 }, /more than 3 digits/],
      [key`${id.padded(3)}`, { id: -1 }, /negative/],
      [key`${id.descending(3)}`, { id: 1000 }, /negative|digits/],
      [key`${id.padded(3)}`, { id: 1.5 }, /no 32-bit/],
      [key`${id.padded(3)}`, {}, /needs 'id'/],
      [key`${text('name')}`, { name: null }, /needs 'name'/],
      [key`${text('name')}`, { name: 'x'.repeat(513) }, /longer than 512/],
      [key`${text('name')}`, { name: '\udc00' }, /half a surrogate/],
    ];
    for (const [template, values, message] of refused) {
      assert.throws(
        () => formatKey(template, values),
        (error: unknown) => {
          assert.ok(error instanceof ValueError);
          assert.match(error.message, message);
          return true;
        },
      );
    }
    assert.equal(formatKey(key`${text('name')}`, { name: 'x'.repeat(512) }).length, 512);
  });

  it('refuses texts whose ends could not be found, and forbidden ones', () => {
    const name = text('name');
    assert.throws(() => key`${name}${number('id').padded(3)}`, DefinitionError);
    assert.throws(() => key`${name}7${number('id').padded(3)}`, DefinitionError);
    assert.throws(() => key`a/b`, DefinitionError);
    assert.throws(() => number('id').padded(0), DefinitionError);
  });

  it('reads no key that it did not write', () => {
    const template = key`empid_${number('id').padded(6)}_${text('name')}`;
    for (const foreign of [
      '',
      'empid_',
      'empid_123_x',
      'empid_00012a_x',
      'emp_000123_x',
      'empid_000123',
    ]) {
      assert.equal(parseKey(template, foreign), undefined, foreign);
    }
    const twice = key`${text('name')}_${text('name')}`;
    assert.deepEqual(parseKey(twice, 'a_a'), { name: 'a' });
    assert.equal(parseKey(twice, 'a_b'), undefined);
    const at = moment('at', dateTime()).ascending();
    assert.equal(parseKey(key`${at}`, '0638000000000000001'), undefined);
  });
});
