import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity } from '../definition/entity-definition.js';
import { key } from '../definition/key-template.js';
import { binary, boolean, double, instant, int32, string } from '../definition/scalar-types.js';
import { indexTable } from '../patterns/indexes/index-tables.js';
import { withIndexes } from '../patterns/indexes/with-indexes.js';
import { samePartition } from '../patterns/indexes/intra-partition-index.js';
import { counts, uniform, zipf } from './facts/distribution.js';
import { explain } from './explain.js';
import type { Report } from './report.js';
import type { Operation } from './facts/workload.js';
import { asEmployee, numbered } from '../../../test/modeling/support/employees.js';

// The designs of the table-design guide, and the statements of the guide about each.

function codesOf({ findings }: Report): readonly string[] {
  return findings.map(({ code }) => code);
}

/** With sizes that `company` gives. */
const SizedEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    firstName: string(),
    lastName: string(),
    age: int32(),
    email: string(),
  },
});

const company = {
  rows: 40_000,
  partitions: uniform(20),
  properties: {
    department: { size: 9 },
    firstName: { size: 6 },
    lastName: { size: 7, values: zipf(5_000, 0.5) },
    email: { size: 24 },
  },
} as const;

const sales = { department: 'Sales' };

describe('the designs of the guide', () => {
  it('ranks its four kinds of queries by what they read', () => {
    const { operations } = explain(SizedEmployee, {
      ...company,
      operations: [
        { kind: 'get', perSecond: 1 },
        { kind: 'query', perSecond: 1, query: { partition: sales, prefix: { id: 2 } } },
        {
          kind: 'query',
          perSecond: 1,
          query: { partition: sales, rowKeyFrom: { id: 100 }, rowKeyTo: { id: 199 } },
          reads: 100,
        },
        {
          kind: 'query',
          perSecond: 1,
          query: { partition: sales, where: (p) => p.lastName.eq('Smith') },
        },
        { kind: 'scan', perSecond: 1, scan: { where: (p) => p.lastName.eq('Jones') } },
      ],
    });
    assert.deepEqual(
      operations.map(({ planClass, entitiesRead }) => [planClass, entitiesRead.expected]),
      [
        ['point', 1],
        ['point', 1],
        ['range', 100],
        ['partition-scan', 2_000],
        ['table-scan', 40_000],
      ],
    );
    const costs = operations.map(({ costPerMonth }) => costPerMonth);
    assert.ok(costs.every((cost) => cost > 0));
  });

  it('turns the scan for an email into a point read by an index in the partition', () => {
    const operations: readonly Operation<typeof SizedEmployee>[] = [
      {
        kind: 'query',
        name: 'by email',
        perSecond: 5,
        query: { partition: sales, where: (p) => p.email.eq('jonesj@contoso.com') },
        returns: 1,
      },
    ];
    const before = explain(SizedEmployee, { ...company, operations });
    assert.deepEqual(codesOf(before), ['wide-scan']);
    const design = withIndexes(SizedEmployee, {
      email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
    });
    const after = explain(design, {
      ...company,
      operations: [{ kind: 'look-up', index: 'email', perSecond: 5 }],
    });
    assert.deepEqual(codesOf(after), []);
    assert.equal(after.operations[0]?.entitiesRead.expected, 1);
    // The price of it is a second row for each employee; its key has the email already.
    assert.ok(after.capacity.bytes > 1.6 * before.capacity.bytes);
  });

  it('reads all reviews of an employee as one range, by the compound key', () => {
    const Review = defineEntity({
      type: 'Review',
      properties: {
        department: string(),
        id: int32(),
        year: int32(),
        managerRating: int32().named('Manager Rating'),
        peerRating: int32().named('Peer Rating'),
        comments: string(),
      },
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`empid_${p.id.padded(6)}_${p.year.padded(4)}`,
    });
    const { operations, findings } = explain(Review, {
      rows: 200_000,
      partitions: uniform(20),
      properties: { department: { size: 9 }, comments: { size: 500 } },
      operations: [
        {
          kind: 'query',
          perSecond: 10,
          query: { partition: sales, prefix: { id: 123 } },
          select: ['managerRating', 'peerRating', 'comments'],
          reads: 5,
        },
      ],
    });
    assert.deepEqual(findings, []);
    assert.deepEqual(
      [operations[0]?.planClass, operations[0]?.requests.worst, operations[0]?.entitiesRead.worst],
      ['range', 1, 5],
    );
  });

  it('calls the log tail in one partition a key that is prepended to', () => {
    const LoginAttempt = defineEntity({
      type: 'LoginAttempt',
      properties: { at: instant(), user: string(), succeeded: boolean() },
      partitionKey: () => key`login`,
      rowKey: (p) => key`${p.at.descending()}`,
    });
    const report = explain(LoginAttempt, {
      rows: 1_000_000,
      properties: { user: { size: 10 } },
      operations: [
        { kind: 'insert', perSecond: 2_500 },
        { kind: 'query', name: 'latest', perSecond: 1, query: { partition: {} }, take: 10 },
      ],
    });
    assert.deepEqual(codesOf(report), ['hot-partition', 'prepend-key', 'single-partition']);
    const latest = report.operations[1];
    assert.deepEqual([latest?.requests.expected, latest?.entitiesRead.expected], [1, 10]);
  });

  it('lets a log tail be, where each user has one', () => {
    const LoginAttempt = defineEntity({
      type: 'LoginAttempt',
      properties: { at: instant(), user: string(), succeeded: boolean() },
      partitionKey: (p) => key`${p.user}`,
      rowKey: (p) => key`${p.at.descending()}`,
    });
    const report = explain(LoginAttempt, {
      rows: 1_000_000,
      partitions: uniform(20_000),
      properties: { user: { size: 10 } },
      operations: [{ kind: 'insert', perSecond: 2_500 }],
    });
    assert.deepEqual(codesOf(report), []);
  });

  it('finds the event log by date an append key, and its compound key none', () => {
    const properties = { department: string(), employee: string(), at: instant(), id: string() };
    const facts = { department: { size: 9 }, employee: { size: 10 }, id: { size: 8 } };
    const ByDate = defineEntity({
      type: 'ByDate',
      properties,
      partitionKey: (p) => key`${p.at.ascending()}`,
      rowKey: (p) => key`${p.id}`,
    });
    const ByEmployee = defineEntity({
      type: 'ByEmployee',
      properties,
      partitionKey: (p) => key`${p.department}_${p.employee}`,
      rowKey: (p) => key`${p.at.ascending()}_${p.id}`,
    });
    const workload = {
      rows: 10_000_000,
      properties: facts,
      operations: [{ kind: 'insert', perSecond: 3_000 }],
    } as const;
    const byDate = explain(ByDate, { ...workload, partitions: uniform(10_000_000) });
    assert.deepEqual(codesOf(byDate), ['append-key']);
    const byEmployee = explain(ByEmployee, { ...workload, partitions: uniform(40_000) });
    assert.deepEqual(codesOf(byEmployee), []);
  });

  it('saves rows, bytes and requests by a data series of 24 hours', () => {
    const hours = Array.from({ length: 24 }, (_, hour) => `h${String(hour).padStart(2, '0')}`);
    const MessageCount = defineEntity({
      type: 'MessageCount',
      properties: { employee: string(), at: instant(), count: int32() },
      partitionKey: (p) => key`${p.employee}`,
      rowKey: (p) => key`${p.at.ascending()}`,
      system: { type: false, writeStamp: false },
    });
    const Series = defineEntity({
      type: 'Series',
      properties: {
        employee: string(),
        day: string(),
        ...Object.fromEntries(hours.map((hour) => [hour, int32()])),
      },
      partitionKey: (p) => key`${p.employee}`,
      rowKey: (p) => key`${p.day}`,
      system: { type: false, writeStamp: false },
    });
    const days = 1_000 * 365;
    const properties = { employee: { size: 8 } };
    const perHour = explain(MessageCount, {
      rows: 24 * days,
      partitions: uniform(1_000),
      properties,
      operations: [
        { kind: 'query', perSecond: 1, query: { partition: { employee: 'x' } }, reads: 24 },
      ],
    });
    const perDay = explain(Series, {
      rows: days,
      partitions: uniform(1_000),
      properties: { ...properties, day: { size: 8 } },
      operations: [{ kind: 'get', perSecond: 1 }],
    });
    const [read] = perHour.operations;
    assert.deepEqual(
      [read?.entitiesRead.expected, perDay.operations[0]?.entitiesRead.expected],
      [24, 1],
    );
    assert.ok(perDay.capacity.bytes < perHour.capacity.bytes / 2);
  });

  it('sends 365 days in one entity to the wide entities, and a photo to the large ones', () => {
    const days = Array.from({ length: 365 }, (_, day) => `d${day}`);
    const Year = defineEntity({
      type: 'Year',
      properties: { id: string(), ...Object.fromEntries(days.map((day) => [day, double()])) },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`1`,
    });
    const Photo = defineEntity({
      type: 'Photo',
      properties: { id: string(), photo: binary() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`1`,
    });
    const of = { rows: 1_000, partitions: uniform(1_000), operations: [] };
    const year = explain(Year, { ...of, properties: { id: { size: 4 } } });
    const photo = explain(Photo, {
      ...of,
      properties: { id: { size: 4 }, photo: { size: 300_000 } },
    });
    const patterns = [year, photo].map(({ findings }) => findings.map(({ pattern }) => pattern));
    assert.deepEqual(patterns, [
      ['guides/patterns/wide-entities.md'],
      ['guides/patterns/large-entities.md'],
    ]);
  });

  it('says of index tables what the pattern says of them', () => {
    const Person = defineEntity({
      type: 'Person',
      properties: {
        id: int32(),
        gender: string(),
        country: string(),
        town: string(),
        name: string(),
      },
      partitionKey: (p) => key`${p.id.padded(8)}`,
      rowKey: () => key`1`,
    });
    const design = withIndexes(Person, {
      byGender: indexTable({
        partitionKey: (p) => key`${p.gender}`,
        rowKey: (p) => key`${p.id.padded(8)}`,
        include: [],
      }),
      byCountry: indexTable({
        partitionKey: (p) => key`${p.country}`,
        rowKey: (p) => key`${p.id.padded(8)}`,
        include: [],
      }),
      byTownAndName: indexTable({
        partitionKey: (p) => key`${p.town}`,
        rowKey: (p) => key`${p.name}_${p.id.padded(8)}`,
      }),
    });
    const query = { town: 'Redmond' };
    const { findings } = explain(design, {
      rows: 1_000_000,
      partitions: uniform(1_000_000),
      properties: {
        id: { order: 'random' },
        gender: { size: 6, values: counts({ female: 51, male: 49 }) },
        country: { size: 2, values: counts({ US: 92, CA: 5, MX: 3 }) },
        town: { size: 8, values: zipf(10_000, 0.5) },
        name: { size: 8 },
      },
      operations: [
        { kind: 'insert', perSecond: 1 },
        {
          kind: 'look-up',
          index: 'byGender',
          perSecond: 0.0001,
          query: { partition: { gender: 'male' } },
        },
        {
          kind: 'look-up',
          index: 'byCountry',
          perSecond: 0.0001,
          query: { partition: { country: 'CA' } },
        },
        { kind: 'look-up', index: 'byTownAndName', perSecond: 1, query: { partition: query } },
      ],
    });
    assert.deepEqual(
      findings.map(({ code, subject }) => [code, subject]),
      [
        ['unselective-index', "index 'byGender'"],
        ['skewed-index', "index 'byCountry'"],
      ],
    );
  });
});
