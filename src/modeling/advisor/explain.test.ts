import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity } from '../definition/entity-definition.js';
import { key } from '../definition/key-template.js';
import { enumeration, int32, string } from '../definition/scalar-types.js';
import { list } from '../definition/structured-types.js';
import { indexEntity } from '../patterns/indexes/index-entity.js';
import { indexTable } from '../patterns/indexes/index-tables.js';
import { withIndexes } from '../patterns/indexes/with-indexes.js';
import { otherPartition } from '../patterns/indexes/inter-partition-index.js';
import { samePartition } from '../patterns/indexes/intra-partition-index.js';
import { counts, uniform, zipf } from './facts/distribution.js';
import { exactly } from './plans/estimate.js';
import { explain } from './explain.js';
import { examplePrices, type PriceTable } from './prices.js';
import type { OperationReport, Report } from './report.js';
import type { PartitionQuery, PartitionsQuery } from '../table/query-plan.js';
import { asEmployee, numbered } from '../../../test/modeling/support/employees.js';

const Unstamped = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    email: string(),
    level: enumeration('junior', 'senior'),
    age: int32(),
  },
  system: { type: false, writeStamp: false },
});

const workload = {
  rows: 50_000,
  partitions: uniform(10),
  properties: {
    department: { size: 5 },
    lastName: { size: 5, values: uniform(100) },
    email: { size: 20 },
  },
} as const;

function operation({ operations }: Report, at = 0): OperationReport {
  const found = operations[at];
  assert.ok(found !== undefined);
  return found;
}

function classesOf({ classes }: OperationReport): Record<string, number> {
  const expected = classes.filter(({ requests }) => requests.expected > 0);
  return Object.fromEntries(
    expected.map(({ class: request, place, requests }) => [
      `${request} ${place}`,
      requests.expected,
    ]),
  );
}

/** 10 currency units for 10,000 requests of each class, and 2 for a GiB. */
const simplePrices: PriceTable = {
  ...examplePrices,
  label: 'simple',
  currency: 'coins',
  capacity: [{ perGibMonth: 2 }],
  per10kRequests: { read: 10, query: 20, write: 30, delete: 40, transaction: 50, queue: 60 },
};

const sales = { department: 'Sales' };

describe('explain', () => {
  it('has no requests for a query of no partition', () => {
    const query: PartitionsQuery<typeof Unstamped> = { partitions: [] };
    const report = explain(Unstamped, {
      ...workload,
      operations: [{ kind: 'query', query, perSecond: 1 }],
    });
    const none = { best: 0, expected: 0, worst: 0 };
    assert.deepEqual(operation(report).requests, none);
    assert.doesNotMatch(JSON.stringify(report), /null/);
  });

  it('counts capacity and cost as a hand does', () => {
    const report = explain(
      Unstamped,
      { ...workload, operations: [{ kind: 'get', perSecond: 1 }] },
      { prices: simplePrices },
    );
    // 4; keys 2 × (5 + 12); lastName 8 + 16 + 14; email 8 + 10 + 44; level 8 + 10 + 16; age 8 + 6 +
    // 4.
    const rowBytes = 4 + 34 + 38 + 62 + 34 + 18;
    assert.deepEqual(report.capacity.places, [
      {
        name: 'Employee',
        rows: 50_000,
        rowBytes: { average: rowBytes, maximum: rowBytes },
        overheadBytes: 4 + 24 + 18 + 18 + 14,
        bytes: 50_000 * rowBytes,
      },
    ]);
    assert.equal(report.cost.capacity, (50_000 * rowBytes * 2) / 2 ** 30);
    // 730 hours.
    assert.equal(report.cost.requests, (2_628_000 / 10_000) * 10);
    assert.equal(report.cost.total, report.cost.capacity + report.cost.requests);
    assert.equal(report.cost.currency, 'coins');
  });

  it('reads a partition as far as it goes, and returns what the condition lets through', () => {
    const report = explain(Unstamped, {
      ...workload,
      operations: [
        { kind: 'query', perSecond: 1, query: { partition: sales } },
        {
          kind: 'query',
          perSecond: 1,
          query: { partition: sales, where: (p) => p.lastName.eq('Smith') },
        },
        {
          kind: 'query',
          perSecond: 1,
          query: {
            partition: sales,
            where: (p) =>
              p.level.eq('junior').and(p.lastName.eq('Smith').or(p.lastName.eq('Jones'))),
          },
        },
        {
          kind: 'query',
          perSecond: 1,
          query: { partition: sales, where: (p) => p.lastName.eq('Smith').not() },
          take: 10,
        },
      ],
    });
    const [all, smiths, juniors, first] = report.operations;
    assert.deepEqual(all?.entitiesRead, exactly(5_000));
    assert.deepEqual(all?.requests, exactly(5));
    assert.deepEqual(smiths?.entitiesRead, exactly(5_000));
    assert.deepEqual(smiths?.entitiesReturned, exactly(50));
    assert.deepEqual(smiths?.requests, exactly(1));
    assert.deepEqual(juniors?.entitiesReturned, exactly(50));
    // 99 of 100 are not named Smith: reading stops after about ten.
    assert.equal(first?.entitiesReturned.expected, 10);
    assert.equal(first?.entitiesRead.expected.toFixed(3), (10 / 0.99).toFixed(3));
  });

  it('gives the range from the smallest partition to the largest', () => {
    const partitions = counts({ Sales: 30_000, Marketing: 15_000, Legal: 5_000 });
    const report = explain(Unstamped, {
      ...workload,
      partitions,
      operations: [{ kind: 'query', perSecond: 1, query: { partition: sales } }],
    });
    const { entitiesRead, requests } = operation(report);
    // Each employee counts once: (30² + 15² + 5²) / 50 thousands.
    assert.deepEqual(entitiesRead, { best: 5_000, expected: 23_000, worst: 30_000 });
    assert.deepEqual(requests, { best: 5, expected: 23, worst: 30 });
  });

  it('counts pages by bytes as well, and fewer when less is selected', () => {
    const facts = { ...workload.properties, email: { size: 32_000 } };
    const query = { partition: sales };
    const report = explain(Unstamped, {
      ...workload,
      rows: 10_000,
      properties: facts,
      operations: [
        { kind: 'query', perSecond: 1, query },
        { kind: 'query', perSecond: 1, query, select: ['age'] },
      ],
    });
    const [whole, some] = report.operations;
    // 1,000 rows of 64,150 bytes in pages of 4 MiB.
    assert.equal(whole?.requests.expected, Math.ceil((1_000 * (190 - 62 + 18 + 64_004)) / 2 ** 22));
    assert.equal(some?.requests.expected, 1);
  });

  it('counts a request more for each partition, and for each seam of a scan at worst', () => {
    const report = explain(Unstamped, {
      ...workload,
      operations: [
        {
          kind: 'query',
          perSecond: 1,
          query: { partitions: [sales, { department: 'Legal' }], prefix: { id: 1 } },
        },
        { kind: 'scan', perSecond: 1 },
      ],
    });
    const [several, scan] = report.operations;
    assert.deepEqual([several?.planClass, several?.requests], ['point', exactly(2)]);
    assert.deepEqual(scan?.requests, { best: 50, expected: 50, worst: 59 });
    assert.deepEqual(scan?.entitiesRead, exactly(50_000));
  });

  it('takes the share of a prefix from the values of its properties', () => {
    const Review = defineEntity({
      type: 'Review',
      properties: { department: string(), year: int32(), id: int32() },
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`${p.year.padded(4)}_${p.id.padded(6)}`,
    });
    const review = (values: ReturnType<typeof uniform>): Report =>
      explain(Review, {
        rows: 10_000,
        partitions: uniform(5),
        properties: { department: { size: 5 }, year: { values } },
        operations: [
          { kind: 'query', perSecond: 1, query: { partition: sales, prefix: { year: 2012 } } },
        ],
      });
    const { planClass, entitiesRead } = operation(review(uniform(8)));
    assert.equal(planClass, 'range');
    // In the worst case all reviews of the year are in one partition.
    assert.deepEqual(entitiesRead, { best: 250, expected: 250, worst: 1_250 });
    const known = operation(review(counts({ 2012: 1, 2013: 3 })));
    assert.equal(known.entitiesRead.expected, 500);
  });

  it('adds the rows of indexes in the partition to the transaction', () => {
    const design = withIndexes(Unstamped, {
      email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
      name: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
    });
    const report = explain(design, {
      ...workload,
      operations: [
        { kind: 'insert', perSecond: 1 },
        { kind: 'merge', perSecond: 1, changes: ['age'] },
        { kind: 'merge', perSecond: 1, changes: ['email'] },
        { kind: 'merge', perSecond: 1, changes: ['lastName'] },
        { kind: 'delete', perSecond: 1 },
      ],
    });
    const own = { 'point-read Employee': 1, "point-read index 'email'": 1 };
    const expected = [
      // The list is read; the entity, its copy and the list are written.
      { "point-read index 'name'": 1, 'transaction Employee': 1 },
      // The entity that was read tells which index rows it has; the copy that changes is read as
      // well, and written with it.
      { ...own, 'transaction Employee': 1 },
      { ...own, 'transaction Employee': 1 },
      // The lists that the entity leaves and enters are both read.
      { ...own, "point-read index 'name'": 2, 'transaction Employee': 1 },
      { ...own, "point-read index 'name'": 1, 'transaction Employee': 1 },
    ];
    assert.deepEqual(report.operations.map(classesOf), expected);
    const written = report.operations.map(({ entitiesWritten }) => entitiesWritten.expected);
    // A new email moves its copy: the old copy is deleted. A new name moves the key from one list
    // to another; the copy stays.
    assert.deepEqual(written, [3, 2, 3, 4, 3]);
    assert.ok(report.operations.every(({ requestsLater }) => requestsLater.expected === 0));
  });

  it('counts as many attempts of an update at worst as an update makes', () => {
    const report = explain(Unstamped, {
      ...workload,
      operations: [{ kind: 'update', perSecond: 1 }],
    });
    const [update] = report.operations;
    // A point read and a conditional write each.
    assert.deepEqual(update?.requests, { best: 2, expected: 2, worst: 2 * 64 });
  });

  it('leaves what other partitions have to a worker', () => {
    const design = withIndexes(Unstamped, {
      email: otherPartition({ partitionKey: (p) => key`email_${p.email}`, rowKey: () => key`1` }),
    });
    const report = explain(design, {
      ...workload,
      operations: [
        { kind: 'insert', perSecond: 1 },
        { kind: 'merge', perSecond: 1, changes: ['email'] },
      ],
    });
    const [inserted, moved] = report.operations;
    // Other writers may win 63 of 64 attempts; only the first attempt needs no read.
    assert.deepEqual(inserted?.requests, { best: 1, expected: 1, worst: 64 + 63 });
    // The relay sends a range read and a delete; the queue gets a put, a get and a delete; the
    // worker reads the entity twice, and reads and writes the copy.
    assert.equal(inserted?.requestsLater.expected, 2 + 3 + 2 + 2);
    // The copy moves: the old and new one are read, one is inserted, one deleted.
    assert.equal(moved?.requestsLater.expected, 2 + 3 + 2 + 4);
    assert.equal(report.load.requestsPerSecond, 1 + 9 + 2 + 11);
  });

  it('goes on from an index to the entities when it is told to', () => {
    const design = withIndexes(Unstamped, {
      name: indexTable({
        partitionKey: (p) => key`${p.lastName}`,
        rowKey: (p) => key`${p.id.padded(6)}`,
        include: ['age'],
      }),
      list: indexEntity({
        place: 'other-table',
        partitionKey: (p) => key`${p.lastName}`,
        rowKey: () => key`1`,
      }),
    });
    const query = { partition: { lastName: 'Smith' } };
    const report = explain(design, {
      ...workload,
      operations: [
        { kind: 'look-up', index: 'name', perSecond: 1, query },
        { kind: 'look-up', index: 'name', perSecond: 1, query, thenRead: true },
        { kind: 'look-up', index: 'list', perSecond: 1 },
        { kind: 'look-up', index: 'list', perSecond: 1, thenRead: false },
      ],
    });
    assert.deepEqual(report.operations.map(classesOf), [
      { "range-read index 'name'": 1 },
      { "range-read index 'name'": 1, 'point-read Employee': 500 },
      { "point-read index 'list'": 1, 'point-read Employee': 500 },
      { "point-read index 'list'": 1 },
    ]);
    assert.deepEqual(
      report.operations.map(({ planClass }) => planClass),
      ['partition-scan', 'partition-scan', 'point', 'point'],
    );
  });

  it('counts the rows of indexes that share partitions as read by scans', () => {
    const design = withIndexes(Unstamped, {
      email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
      age: otherPartition({
        partitionKey: (p) => key`age_${p.age.padded(3)}`,
        rowKey: (p) => key`id_${p.id.padded(6)}`,
      }),
    });
    const report = explain(design, {
      ...workload,
      properties: { ...workload.properties, age: { values: uniform(50) } },
      operations: [
        { kind: 'scan', perSecond: 1 },
        { kind: 'query', perSecond: 1, query: { partition: sales } },
      ],
    });
    const [scan, query] = report.operations;
    assert.equal(scan?.entitiesRead.expected, 150_000);
    assert.equal(scan?.entitiesReturned.expected, 50_000);
    // The RowKeys of employees begin with a constant, so the copies are outside of the range.
    assert.equal(query?.entitiesRead.expected, 5_000);
  });

  it('finds the partitions that pass the target, and what for', () => {
    const report = explain(Unstamped, {
      ...workload,
      partitions: zipf(4, 1),
      operations: [
        { kind: 'get', perSecond: 9_000 },
        { kind: 'insert', perSecond: 10 },
      ],
    });
    const [place] = report.load.places;
    // The weights are 12, 6, 4 and 3 of 25.
    assert.equal(place?.busiestPerSecond.toFixed(3), ((9_010 * 12) / 25).toFixed(3));
    assert.equal(place?.partitionsOverTarget, 2);
    assert.equal(place?.busiestOperation, 'get');
    assert.equal(place?.entitiesPerSecond, 9_010);
  });

  it('lets an operation say what of it goes to the busiest partition', () => {
    const loads = [0.1, 0.9].map((busiest) => {
      const operations = [{ kind: 'get', perSecond: 1_000, busiest } as const];
      return explain(Unstamped, { ...workload, operations }).load.places[0]?.busiestPerSecond;
    });
    assert.deepEqual(loads, [100, 900]);
  });

  it('spreads over the others what does not go to the busiest partition', () => {
    const loads = [0.1, 0.9].map((busiest) => {
      const operations = [{ kind: 'get', perSecond: 2_700, busiest } as const];
      const targets = { partitionEntitiesPerSecond: 100 };
      return explain(Unstamped, { ...workload, operations }, { targets }).load.places[0];
    });
    // 270 in each of ten partitions; then 2,430 in one and 30 in each of the nine others.
    assert.deepEqual(
      loads.map((load) => load?.partitionsOverTarget),
      [10, 1],
    );
  });

  it('counts in a sparse index only entities that are in it', () => {
    const Sparse = defineEntity({
      type: 'Sparse',
      properties: { id: string(), town: string().optional() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`1`,
    });
    const design = withIndexes(Sparse, {
      town: indexTable({
        sparse: true,
        partitionKey: (p) => key`${p.town}`,
        rowKey: (p) => key`${p.id}`,
        include: [],
      }),
    });
    const { capacity } = explain(design, {
      rows: 1_000,
      partitions: uniform(1_000),
      properties: { id: { size: 5 }, town: { size: 8, present: 0.3, values: uniform(20) } },
      operations: [],
    });
    assert.deepEqual(
      capacity.places.map(({ rows }) => rows),
      [1_000, 300],
    );
  });

  it('lets a condition on a property pass only entities that have it', () => {
    const facts = {
      ...workload.properties,
      lastName: { size: 5, present: 0.5, values: uniform(4) },
    };
    const returned = (where: PartitionQuery<typeof Unstamped>['where']): number | undefined =>
      explain(Unstamped, {
        ...workload,
        properties: facts,
        operations: [
          { kind: 'query', perSecond: 1, query: { partition: sales, ...(where && { where }) } },
        ],
      }).operations[0]?.entitiesReturned.expected;
    // Of 5,000: a quarter of those that have a last name, and three quarters of them.
    assert.equal(
      returned((p) => p.lastName.eq('Smith')),
      625,
    );
    assert.equal(
      returned((p) => p.lastName.ne('Smith')),
      1_875,
    );
  });

  it('looks again after a failed write where there are write stamps, and only there', () => {
    const Stamped = defineEntity({
      type: 'Stamped',
      properties: Unstamped.properties,
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`${p.id.padded(6)}`,
    });
    const operations = [
      { kind: 'insert', perSecond: 1 },
      { kind: 'upsert', perSecond: 1 },
    ] as const;
    const worst = (definition: typeof Unstamped | typeof Stamped): readonly number[] =>
      explain(definition, { ...workload, operations }).operations.map(
        ({ requests }) => requests.worst,
      );
    assert.deepEqual(worst(Unstamped), [1, 1]);
    assert.deepEqual(worst(Stamped), [2, 1]);
  });

  it('takes keys of several values for all pairs of them, and for no more than there are rows', () => {
    const Pair = defineEntity({
      type: 'Pair',
      properties: { a: string(), b: string(), id: string() },
      partitionKey: (p) => key`${p.a}_${p.b}`,
      rowKey: (p) => key`${p.id}`,
    });
    const partitions = (rows: number): readonly (number | undefined)[] => {
      const size = { size: 3 };
      const { load } = explain(
        Pair,
        {
          rows,
          properties: {
            a: { ...size, values: uniform(10) },
            b: { ...size, values: uniform(5) },
            id: size,
          },
          operations: [{ kind: 'get', perSecond: 100 }],
        },
        { targets: { partitionEntitiesPerSecond: 1.9 } },
      );
      return [load.places[0]?.partitions, load.places[0]?.partitionsOverTarget];
    };
    assert.deepEqual(partitions(1_000), [50, 50]);
    assert.deepEqual(partitions(20), [20, 20]);
  });

  it('costs what is done over the month, and loads what is done at the busiest time', () => {
    const report = explain(
      Unstamped,
      { ...workload, operations: [{ kind: 'get', perSecond: 100, averagePerSecond: 1 }] },
      { prices: simplePrices },
    );
    assert.equal(report.load.requestsPerSecond, 100);
    assert.equal(report.cost.requests, 2_628);
  });

  it('holds a design against other targets than those of the cloud', () => {
    const operations = [{ kind: 'get', perSecond: 50 } as const];
    const report = explain(
      Unstamped,
      { ...workload, operations },
      { targets: { partitionEntitiesPerSecond: 4 } },
    );
    assert.equal(report.load.places[0]?.partitionsOverTarget, 10);
  });

  it('is frozen all through, and JSON has all of it', () => {
    const report = explain(Unstamped, {
      ...workload,
      operations: [{ kind: 'scan', perSecond: 1 }],
    });
    assert.deepEqual(JSON.parse(JSON.stringify(report)), report);
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    assert.ok(isFrozen(report));
  });

  it('refuses a workload that contradicts the definition, and says where', () => {
    const bad: readonly (readonly [object, RegExp])[] = [
      [{ rows: -1 }, /rows: -1/],
      [
        { partitions: undefined },
        /does not tell how rows spread over PartitionKeys.*uniform\(40\)/s,
      ],
      [{ properties: { colour: {} } }, /properties\.colour: there is no such property/],
      [{ properties: { email: { present: 2 } } }, /properties\.email: a share is 0 to 1, not 2/],
      [
        { properties: { email: { size: { average: 9, maximum: 3 } } } },
        /properties\.email: a size/,
      ],
      [{ operations: [{ kind: 'get', perSecond: NaN }] }, /operations\[0\]\.perSecond: NaN/],
      [
        { operations: [{ kind: 'look-up', index: 'x', perSecond: 1 }] },
        /no index 'x'; it has none/,
      ],
    ];
    for (const [change, message] of bad) {
      const changed = { ...workload, operations: [], ...change };
      assert.throws(() => explain(Unstamped, changed as never), { name: 'ValueError', message });
    }
  });
});

describe('an index with a row for each text of a list', () => {
  const Movie = defineEntity({
    type: 'Movie',
    properties: { genre: string(), title: string(), year: int32(), actors: list<string>() },
    partitionKey: (p) => key`${p.genre}`,
    rowKey: (p) => key`${p.title}`,
    system: { type: false, writeStamp: false },
  });
  const indexed = withIndexes(Movie, {
    byActor: indexTable({
      each: { actor: 'actors' },
      partitionKey: (p) => key`${p.actor}`,
      rowKey: (p) => key`${p.title}`,
      include: ['year'],
    }),
  });
  const movies = {
    rows: 1000,
    partitions: uniform(10),
    properties: {
      genre: { size: 5 },
      title: { size: 20 },
      actors: { size: 60, items: 4, values: uniform(500) },
    },
  } as const;
  const writes = (changes: 'insert' | readonly ('actors' | 'year')[]) => {
    const found = operation(
      explain(indexed, {
        ...movies,
        operations: [
          changes === 'insert'
            ? { kind: 'insert', perSecond: 1 }
            : { kind: 'update', perSecond: 1, changes },
        ],
      }),
    );
    return classesOf(found)["insert index 'byActor'"] ?? 0;
  };

  it('has as many rows as the texts that are told, of as many values', () => {
    const { capacity } = explain(indexed, {
      ...movies,
      operations: [{ kind: 'insert', perSecond: 1 }],
    });
    const rows = capacity.places.find(({ name }) => name.includes('byActor'))?.rows;
    assert.equal(rows, 4000);
    assert.equal(writes('insert'), 4);
    assert.equal(writes(['actors']), 1);
  });

  it('refuses a number of items that no list has', () => {
    const properties = { ...movies.properties, actors: { size: 60, items: -1 } };
    assert.throws(
      () => explain(indexed, { ...movies, properties, operations: [] }),
      /actors: a list has 0 items or more/,
    );
  });
});
