import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  binary,
  boolean,
  dateTime,
  defineEntity,
  double,
  embedded,
  entitiesOf,
  enumeration,
  guid,
  Instant,
  instant,
  int32,
  int64,
  json,
  key,
  list,
  plain,
  string,
  type CreateOf,
  type JsonValue,
} from '../../src/modeling/index.js';
import { storableTicksMin, ticksMax } from '../../src/modeling/rows/ticks.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const Everything = defineEntity({
  type: 'Everything',
  properties: {
    place: string(),
    label: string(),
    number: int32(),
    text: string(),
    int: int32(),
    long: int64(),
    real: double(),
    flag: boolean(),
    id: guid(),
    bytes: binary(),
    moment: instant(),
    date: dateTime(),
    choice: enumeration('', 'a', "it's"),
    free: json(),
    tags: list<string>(),
    address: embedded({
      city: string().optional(),
      since: dateTime().optional(),
      at: instant().optional(),
    }),
    maybe: double().optional(),
    fallback: string().default('fallback'),
    odd: string().named('Manager Rating / ü _x0020_'),
  },
  partitionKey: (p) => key`${p.place}`,
  rowKey: (p) => key`e_${p.label}_${p.number.offset()}`,
});

const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('', ' ', '\u0000', "''", 'a\r\nb', '":1.0,', '\uffff', '日本', '😀', '%25'),
  )
  .filter((value) => !/\p{Surrogate}/u.test(value));
const ticks = fc.oneof(
  fc.bigInt(storableTicksMin, ticksMax),
  fc.constantFrom(storableTicksMin, ticksMax),
);
const dates = fc.oneof(
  fc.date({
    min: new Date('1601-01-01'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  }),
  fc.constantFrom(new Date(0), new Date('1601-01-01T00:00:00Z'), new Date(-1)),
);
const reals = fc.oneof(
  fc.double(),
  fc.constantFrom(NaN, Infinity, -Infinity, -0, 0, 3, -3, 1e21, 2 ** 53, 5e-324, Number.MAX_VALUE),
  fc.integer(),
);
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });

const entities: fc.Arbitrary<CreateOf<typeof Everything>> = fc.record({
  place: text.map((value) => value.slice(0, 20)),
  label: text,
  number: fc.integer(),
  text,
  int: fc.oneof(fc.integer(), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1)),
  long: fc.oneof(
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n),
  ),
  real: reals,
  flag: fc.boolean(),
  id: fc.uuid(),
  bytes: fc.uint8Array({ maxLength: 100 }),
  moment: ticks.map((value) => Instant.ofTicks(value)),
  date: dates,
  choice: fc.constantFrom('', 'a', "it's"),
  free: fc
    .jsonValue()
    .filter((value) => value !== null)
    .map((value) => JSON.parse(JSON.stringify(value)) as NonNullable<JsonValue>),
  tags: fc.array(text, { maxLength: 5 }),
  address: fc
    .record({
      city: optional(text),
      since: optional(dates),
      at: optional(ticks.map((value) => Instant.ofTicks(value))),
    })
    .map((address) => withoutUndefined(address)),
  maybe: fc.option(reals),
  fallback: optional(text),
  odd: text,
});

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(
    Object.entries(value).filter(([, each]) => each !== undefined && each !== null),
  ) as T;
}

describe('an entity with every type of property', () => {
  it('comes back as it was, by every kind of read', costly(), async () => {
    const { gateway } = await tables.newTable();
    const everything = entitiesOf(Everything, gateway);
    await fc.assert(
      fc.asyncProperty(entities, async (created) => {
        const expected = { ...withoutUndefined(created), fallback: created.fallback ?? 'fallback' };
        const stored = await everything.upsertReplace(created);
        assert.deepEqual(plain(stored), expected);
        const { place, label, number } = created;
        const read = await everything.get({ place, label, number });
        assert.ok(read !== undefined);
        assert.deepEqual(plain(read), expected);
        const [found] = await everything
          .query({ partition: { place }, prefix: { label, number } })
          .first(2);
        assert.deepEqual(found && plain(found), expected);
        const replaced = await everything.replace({ ...read, int: 0 });
        assert.deepEqual(plain(replaced), { ...expected, int: 0 });
      }),
      { numRuns: 25 },
    );
  });

  it('is found by the conditions that hold for it', async () => {
    const { gateway } = await tables.newTable();
    const everything = entitiesOf(Everything, gateway);
    await fc.assert(
      fc.asyncProperty(entities, async (created) => {
        await everything.upsertReplace(created);
        const { place, label, number } = created;
        const found = await everything
          .query({
            partition: { place },
            prefix: { label, number },
            where: (p) => {
              const conditions = [
                p.text.eq(created.text).and(p.text.startsWith(Array.from(created.text)[0] ?? '')),
                p.int.eq(created.int),
                p.long.ge(created.long),
                p.flag.eq(created.flag),
                p.id.eq(created.id.toUpperCase()),
                p.bytes.le(created.bytes),
                p.moment.eq(created.moment),
                p.date.eq(created.date),
                p.choice.eq(created.choice),
                p.odd.eq(created.odd),
              ];
              if (Number.isFinite(created.real)) conditions.push(p.real.eq(created.real));
              if (created.address.at) conditions.push(p.address.at.eq(created.address.at));
              return p.text.eq(created.text).and(...conditions);
            },
          })
          .first(2);
        assert.equal(found.length, 1);
      }),
      { numRuns: 20 },
    );
  });

  it('is found in key order, whatever its keys have in them', costly(), async () => {
    const { gateway } = await tables.newTable();
    const Named = defineEntity({
      type: 'Named',
      properties: { group: string(), name: string() },
      partitionKey: (p) => key`g_${p.group}`,
      rowKey: (p) => key`${p.name}`,
    });
    const names = entitiesOf(Named, gateway);
    const sorted = text.filter((value) => Array.from(value).every((char) => char >= ' '));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(sorted, { maxLength: 12 }), fc.uuid(), async (all, group) => {
        await Promise.all(all.map((name) => names.insert({ group, name })));
        const found = await names.query({ partition: { group } }).toArray({ max: 20 });
        assert.deepEqual(
          found.map(({ name }) => name),
          [...all].sort(),
        );
      }),
      { numRuns: 25 },
    );
  });
});
