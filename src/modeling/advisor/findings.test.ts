import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity, type AnyDefinition } from '../definition/entity-definition.js';
import { key } from '../definition/key-template.js';
import { enumeration, instant, int32, string } from '../definition/scalar-types.js';
import { indexEntity } from '../patterns/indexes/index-entity.js';
import { indexTable } from '../patterns/indexes/index-tables.js';
import type { AnyIndexes } from '../patterns/indexes/index-declaration.js';
import { withIndexes, type IndexedDefinition } from '../patterns/indexes/with-indexes.js';
import { samePartition } from '../patterns/indexes/intra-partition-index.js';
import { largeString } from '../patterns/large-entities/large-properties.js';
import { counts, uniform, zipf, type Distribution } from './facts/distribution.js';
import { explain } from './explain.js';
import type { Severity } from './findings/finding.js';
import { findingTexts, type FindingCode } from './findings/finding-texts.js';
import type { Report } from './report.js';
import type { LookUpOf, Operation, Workload } from './facts/workload.js';
import type { PartitionQuery } from '../table/query-plan.js';
import { asEmployee, numbered } from '../../../test/modeling/support/employees.js';

// For each finding, a workload that has it and a similar one that does not.

const NotedEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    email: string(),
    gender: enumeration('female', 'male'),
    age: int32(),
    note: string().optional(),
  },
});
type E = typeof NotedEmployee;

const sizes = {
  department: { size: 9 },
  lastName: { size: 8 },
  email: { size: 24 },
  note: { size: 200 },
};

const insert = { kind: 'insert', perSecond: 1 } as const;
const sales = { department: 'Sales' };

function of(operations: readonly Operation<E>[], changes: Partial<Workload<E>> = {}): Report {
  return explain(NotedEmployee, {
    rows: 100_000,
    partitions: uniform(100),
    properties: sizes,
    operations,
    ...changes,
  });
}

function noted(size: number): Report {
  return of([insert], { properties: { ...sizes, note: { size } } });
}

const eventProperties = { at: instant(), tenant: string(), text: string() };
const Event = defineEntity({
  type: 'Event',
  properties: eventProperties,
  partitionKey: (p) => key`${p.at.ascending()}`,
  rowKey: (p) => key`${p.tenant}`,
});
const NewestFirst = defineEntity({
  type: 'NewestFirst',
  properties: eventProperties,
  partitionKey: (p) => key`${p.at.descending()}`,
  rowKey: (p) => key`${p.tenant}`,
});
const TenantEvent = defineEntity({
  type: 'TenantEvent',
  properties: eventProperties,
  partitionKey: (p) => key`${p.tenant}`,
  rowKey: (p) => key`${p.at.ascending()}`,
});
const Numbered = defineEntity({
  type: 'Numbered',
  properties: { number: int32() },
  partitionKey: (p) => key`${p.number.padded(8)}`,
  rowKey: () => key`1`,
});

const Login = defineEntity({
  type: 'Login',
  properties: { day: string(), id: string() },
  partitionKey: (p) => key`${p.day}`,
  rowKey: (p) => key`${p.id}`,
});

function inserts(
  definition: AnyDefinition,
  perSecond: number,
  partitions: Distribution = uniform(1_000_000),
): Report {
  return explain(definition, {
    rows: 1_000_000,
    partitions,
    operations: [{ kind: 'insert', perSecond }],
  });
}

type IndexedOperations<I extends AnyIndexes<E>> = readonly Operation<
  E,
  LookUpOf<IndexedDefinition<E, I>>
>[];

function asked<I extends AnyIndexes<E>>(
  design: IndexedDefinition<E, I>,
  operations: IndexedOperations<I>,
  changes: Partial<Workload<E, LookUpOf<IndexedDefinition<E, I>>>> = {},
): Report {
  return explain(design, {
    rows: 100_000,
    partitions: uniform(100),
    properties: sizes,
    operations,
    ...changes,
  });
}

const byEmail = withIndexes(NotedEmployee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
});
const byGender = withIndexes(NotedEmployee, {
  gender: indexTable({
    partitionKey: (p) => key`${p.gender}`,
    rowKey: (p) => key`${p.id.padded(6)}`,
    include: [],
  }),
});
const byGenderAndName = withIndexes(NotedEmployee, {
  gender: indexTable({
    partitionKey: (p) => key`${p.gender}_${p.lastName}`,
    rowKey: (p) => key`${p.id.padded(6)}`,
    include: [],
  }),
});
const byName = withIndexes(NotedEmployee, {
  name: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
});
const fullCopy = withIndexes(NotedEmployee, {
  email: indexTable({ partitionKey: (p) => key`${p.email}`, rowKey: () => key`1` }),
});
const noCopy = withIndexes(NotedEmployee, {
  email: indexTable({ partitionKey: (p) => key`${p.email}`, rowKey: () => key`1`, include: [] }),
});

const lookUpGender = {
  kind: 'look-up',
  index: 'gender',
  perSecond: 0.001,
  query: { partition: { gender: 'female' } },
} as const;
const lookUpName = { kind: 'look-up', index: 'name', perSecond: 0.001 } as const;

function genders(values: Distribution): Report {
  return asked(byGender, [lookUpGender], { properties: { ...sizes, gender: { values } } });
}

function named(rows: number): Report {
  const properties = { ...sizes, lastName: { size: 8, values: counts({ Smith: 1, other: 1 }) } };
  return asked(byName, [lookUpName], { rows, partitions: uniform(1), properties });
}

const byLastName: Operation<E> = {
  kind: 'query',
  perSecond: 0.001,
  query: { partition: sales, where: (p) => p.lastName.eq('Smith') },
};

interface Case {
  readonly severity: Severity;
  readonly subject: RegExp;
  readonly has: () => Report;
  readonly hasNot: () => Report;
}

const cases: Readonly<Record<FindingCode, Case>> = {
  'hot-partition': {
    severity: 'error',
    subject: /partitions of Employee/,
    // Each of 100 departments gets 1 % of the requests.
    has: () => of([{ kind: 'get', perSecond: 200_100 }]),
    hasNot: () => of([{ kind: 'get', perSecond: 150_000 }]),
  },
  'single-partition': {
    severity: 'warning',
    subject: /PartitionKey of Employee/,
    has: () => of([{ kind: 'get', perSecond: 300 }], { partitions: uniform(1) }),
    hasNot: () => of([{ kind: 'get', perSecond: 300 }], { partitions: uniform(2) }),
  },
  'busy-account': {
    severity: 'error',
    subject: /account/,
    has: () => of([{ kind: 'get', perSecond: 15_001 }], { otherRequestsPerSecond: 5_000 }),
    hasNot: () => of([{ kind: 'get', perSecond: 15_001 }]),
  },
  'full-account': {
    severity: 'error',
    subject: /account/,
    has: () => of([], { rows: 2e12 }),
    hasNot: () => of([], { rows: 2e11 }),
  },
  'append-key': {
    severity: 'error',
    subject: /PartitionKey of Event/,
    has: () => inserts(Event, 2_001),
    hasNot: () => inserts(TenantEvent, 2_001, uniform(1_000)),
  },
  'prepend-key': {
    severity: 'error',
    subject: /PartitionKey of NewestFirst/,
    has: () => inserts(NewestFirst, 2_001),
    hasNot: () =>
      explain(NewestFirst, {
        rows: 1_000_000,
        partitions: uniform(1_000_000),
        properties: { at: { order: 'random' } },
        operations: [{ kind: 'insert', perSecond: 2_001 }],
      }),
  },
  'maybe-append-key': {
    severity: 'info',
    subject: /PartitionKey of Numbered/,
    has: () => inserts(Numbered, 1),
    hasNot: () =>
      explain(Numbered, {
        rows: 1_000_000,
        partitions: uniform(16),
        properties: { number: { values: uniform(16) } },
        operations: [{ kind: 'insert', perSecond: 1 }],
      }),
  },
  'entity-too-large': {
    severity: 'error',
    subject: /Employee/,
    has: () => noted(524_288),
    hasNot: () => noted(524_000),
  },
  'property-too-large': {
    severity: 'error',
    subject: /property 'note'/,
    has: () => noted(32_769),
    hasNot: () => noted(32_768),
  },
  'too-many-properties': {
    severity: 'error',
    subject: /Wide/,
    // EntityType and WriteStamp are stored as well.
    has: () => wide(251),
    hasNot: () => wide(250),
  },
  'key-too-long': {
    severity: 'error',
    subject: /PartitionKey of Employee/,
    has: () => of([], { properties: { ...sizes, department: { size: 513 } } }),
    hasNot: () => of([], { properties: { ...sizes, department: { size: 512 } } }),
  },
  'transaction-too-many': {
    severity: 'error',
    subject: /operation 'transaction of 51'/,
    has: () => asked(byEmail, [{ kind: 'transaction', writes: 51, perSecond: 1 }]),
    hasNot: () => asked(byEmail, [{ kind: 'transaction', writes: 50, perSecond: 1 }]),
  },
  'transaction-too-large': {
    severity: 'error',
    subject: /operation 'import'/,
    has: () => transaction(60_000),
    hasNot: () => transaction(20_000),
  },
  'table-scan': {
    severity: 'warning',
    subject: /operation 'scan'/,
    has: () => of([{ kind: 'scan', perSecond: 0.001 }]),
    hasNot: () => of([{ kind: 'query', perSecond: 0.001, query: { partition: sales } }]),
  },
  'wide-scan': {
    severity: 'warning',
    subject: /operation 'query'/,
    has: () => ofNames(zipf(1_000, 0.5), 10),
    hasNot: () => ofNames(uniform(5), 10),
  },
  'index-not-used': {
    severity: 'warning',
    subject: /operation 'query'/,
    has: () => asked(byName, [lookUpName, byLastName]),
    hasNot: () => asked(byEmail, [{ kind: 'look-up', index: 'email', perSecond: 1 }, byLastName]),
  },
  'unselective-index': {
    severity: 'warning',
    subject: /index 'gender'/,
    has: () => asked(byGender, [lookUpGender]),
    hasNot: () =>
      asked(
        byGenderAndName,
        [{ ...lookUpGender, query: { partition: { gender: 'female', lastName: 'Smith' } } }],
        { properties: { ...sizes, lastName: { size: 8, values: uniform(6) } } },
      ),
  },
  'skewed-index': {
    severity: 'warning',
    subject: /index 'gender'/,
    has: () => genders(counts({ female: 90, male: 10 })),
    hasNot: () => genders(counts({ female: 89, male: 11 })),
  },
  'large-index-row': {
    severity: 'warning',
    subject: /index 'name'/,
    // A RowKey of 12 with quotation marks and a comma is 30 bytes; Smith has half of the rows.
    has: () => named(75_000),
    hasNot: () => named(60_000),
  },
  'volatile-copy': {
    severity: 'warning',
    subject: /index 'email'/,
    has: () => changing(fullCopy, ['age']),
    hasNot: () => changing(noCopy, ['age']),
  },
  'unused-index': {
    severity: 'info',
    subject: /index 'email'/,
    has: () => asked(byEmail, [insert]),
    hasNot: () => asked(byEmail, [insert, { kind: 'look-up', index: 'email', perSecond: 1 }]),
  },
  'sizes-assumed': {
    severity: 'info',
    subject: /Employee/,
    has: () => of([], { properties: { ...sizes, email: { values: uniform(10) } } }),
    hasNot: () => of([]),
  },
  'reads-assumed': {
    severity: 'info',
    subject: /operation 'query'/,
    has: () =>
      of([{ kind: 'query', perSecond: 1, query: { partition: sales, rowKeyFrom: { id: 5 } } }]),
    hasNot: () =>
      of([
        {
          kind: 'query',
          perSecond: 1,
          query: { partition: sales, rowKeyFrom: { id: 5 } },
          reads: 9,
        },
      ]),
  },
  'partial-measurement': {
    severity: 'info',
    subject: /distributions/,
    has: () => of([], { partitions: { kind: 'counts', counts: { Sales: 5 }, isWhole: false } }),
    hasNot: () => of([], { partitions: { kind: 'counts', counts: { Sales: 5 }, isWhole: true } }),
  },
};

function wide(count: number): Report {
  const names = Array.from({ length: count }, (_, index) => `p${index}`);
  const Wide = defineEntity({
    type: 'Wide',
    properties: { id: string(), ...Object.fromEntries(names.map((name) => [name, int32()])) },
    partitionKey: (p) => key`${p.id}`,
    rowKey: () => key`1`,
  });
  return explain(Wide, { rows: 10, partitions: uniform(10), operations: [] });
}

function transaction(size: number): Report {
  return of([{ kind: 'transaction', name: 'import', writes: 100, perSecond: 1 }], {
    properties: { ...sizes, note: { size: { average: size, maximum: size } } },
  });
}

/** A query by last name in partitions of 100,000 / `partitions` rows. */
function ofNames(values: Distribution, partitions: number): Report {
  return of([byLastName], {
    partitions: uniform(partitions),
    properties: { ...sizes, lastName: { size: 8, values } },
  });
}

function changing<I extends AnyIndexes<E>>(
  design: IndexedDefinition<E, I>,
  changes: readonly 'age'[],
): Report {
  const lookUp = { kind: 'look-up', index: 'email', perSecond: 1 };
  return asked(design, [{ kind: 'merge', perSecond: 2, changes }, lookUp] as never);
}

describe('the findings of the advisor', () => {
  for (const [code, { severity, subject, has, hasNot }] of Object.entries(cases)) {
    it(`has ${code} where it holds and not close by`, () => {
      const found = has().findings.filter((finding) => finding.code === code);
      const [first] = found;
      assert.equal(found.length, 1, JSON.stringify(found));
      assert.equal(first?.severity, severity);
      assert.match(first?.subject ?? '', subject);
      assert.ok(Object.isFrozen(first) && Object.isFrozen(first?.figures));
      const others = hasNot().findings.filter((finding) => finding.code === code);
      assert.deepEqual(others, []);
    });
  }

  it('are all tried', () => {
    assert.deepEqual(Object.keys(cases).toSorted(), Object.keys(findingTexts).toSorted());
  });

  it('name what is wrong, what to do and where to read on, in short sentences', () => {
    for (const { has } of Object.values(cases)) {
      for (const { problem, advice, pattern } of has().findings) {
        assert.match(problem, /^[A-Z'].*\.$/, problem);
        assert.match(advice, /^[A-Z].*\.$/, advice);
        assert.match(pattern, /^guides\/patterns\/[a-z-]+\.md$/);
        assert.doesNotMatch(`${problem} ${advice}`, /NaN|undefined|Infinity|\[object/);
      }
    }
  });

  it('come with the worst first', () => {
    const ranks = ['error', 'warning', 'info'];
    for (const { has } of Object.values(cases)) {
      const order = has().findings.map(({ severity }) => ranks.indexOf(severity));
      assert.deepEqual(
        order,
        order.toSorted((left, right) => left - right),
      );
    }
  });

  it('say nothing of large values whose table stores them in parts', () => {
    const Photo = defineEntity({
      type: 'Photo',
      properties: { id: string(), picture: largeString() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`1`,
    });
    const report = explain(Photo, {
      rows: 10,
      partitions: uniform(10),
      properties: { id: { size: 5 }, picture: { size: 10_000_000 } },
      operations: [],
    });
    assert.deepEqual(report.findings, []);
  });

  it('let a growing part be behind one that spreads, unless one value of that is too busy', () => {
    const Grown = defineEntity({
      type: 'Grown',
      properties: eventProperties,
      partitionKey: (p) => key`${p.tenant}_${p.at.ascending()}`,
      rowKey: () => key`1`,
    });
    const codes = [19_000, 21_000].map((perSecond) =>
      explain(Grown, {
        rows: 1_000_000,
        partitions: uniform(1_000_000),
        properties: { tenant: { size: 8, values: uniform(10) }, text: { size: 9 } },
        operations: [{ kind: 'insert', perSecond }],
      })
        .findings.map(({ code }) => code)
        .filter((code) => code === 'append-key'),
    );
    assert.deepEqual(codes, [[], ['append-key']]);
  });

  it('name an index for a query only when it knows the whole PartitionKey there', () => {
    const query = (where: PartitionQuery<E>['where']): readonly string[] =>
      asked(byGenderAndName, [
        { kind: 'query', perSecond: 0.001, query: { partition: sales, ...(where && { where }) } },
      ]).findings.map(({ code }) => code);
    const some = query((p) => p.lastName.eq('Smith'));
    const all = query((p) => p.lastName.eq('Smith').and(p.gender.eq('female')));
    const either = query((p) => p.lastName.eq('Smith').or(p.gender.eq('female')));
    assert.deepEqual(
      [some, all, either].map((codes) => codes.includes('index-not-used')),
      [false, true, false],
    );
  });

  it('weigh a growing key by how often it grows', () => {
    const severities = [2_001, 201, 2].map(
      (perSecond) =>
        inserts(Event, perSecond).findings.find(({ code }) => code === 'append-key')?.severity,
    );
    assert.deepEqual(severities, ['error', 'warning', 'info']);
  });

  it('warn of a partition before it is too busy', () => {
    const found = of([{ kind: 'get', perSecond: 170_000 }]).findings.find(
      ({ code }) => code === 'hot-partition',
    );
    assert.equal(found?.severity, 'warning');
    assert.equal(found?.code === 'hot-partition' ? found.figures.partitions : undefined, 0);
  });
});

describe('a day in a text', () => {
  const codes = ({ findings }: Report) =>
    findings
      .filter(({ code }) => code !== 'sizes-assumed')
      .map(({ code, severity }) => [code, severity]);

  it('is asked about where the inserts of one partition would be too many', () => {
    assert.deepEqual(codes(inserts(Login, 3000, uniform(365))), [['maybe-append-key', 'warning']]);
    assert.deepEqual(codes(inserts(Login, 1, uniform(365))), [['maybe-append-key', 'info']]);
  });

  it('makes a hot partition of today once it is known to be one', () => {
    const report = explain(Login, {
      rows: 1_000_000,
      partitions: uniform(365),
      properties: { day: { isTime: true } },
      operations: [{ kind: 'insert', perSecond: 3000 }],
    });
    assert.deepEqual(
      new Set(codes(report).map(([code]) => code)),
      new Set(['append-key', 'hot-partition']),
    );
  });
});
