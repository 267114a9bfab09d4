import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity } from '../definition/entity-definition.js';
import { key } from '../definition/key-template.js';
import { int32, string } from '../definition/scalar-types.js';
import { otherPartition } from '../patterns/indexes/inter-partition-index.js';
import { withIndexes } from '../patterns/indexes/with-indexes.js';
import { zipf } from './facts/distribution.js';
import { explain } from './explain.js';
import { byteText } from '../../base/byte-text.js';
import { amount, percent, short } from './findings/number-text.js';
import { reportJson, reportText } from './report-text.js';
import { asEmployee, numbered } from '../../../test/modeling/support/employees.js';

const Unstamped = defineEntity({
  ...asEmployee,
  properties: { ...numbered, email: string(), age: int32() },
  system: { type: false, writeStamp: false },
});

const report = explain(
  withIndexes(Unstamped, {
    byEmail: otherPartition({
      partitionKey: (p) => key`email_${p.email}`,
      rowKey: () => key`1`,
      include: [],
    }),
  }),
  {
    rows: 100_000,
    partitions: zipf(4, 1),
    properties: { department: { size: 9 }, email: { size: 24 } },
    operations: [
      { kind: 'insert', perSecond: 2, averagePerSecond: 0.1 },
      { kind: 'get', name: 'by id', perSecond: 5_000 },
      { kind: 'look-up', index: 'byEmail', perSecond: 20, thenRead: true },
      {
        kind: 'query',
        name: 'of a department',
        perSecond: 0.05,
        query: { partition: { department: 'Sales' } },
      },
    ],
  },
);

const expected = `Employee: 100,000 rows

Findings
  ERROR   hot-partition: partitions of Employee
          The busiest partition of Employee has 48 % of the traffic: 3,567 entities/s, most of them
          for 'by id'. 1 partition passes the 2,000 a partition is good for.
          Put a part into the PartitionKey that divides this traffic, or spread the partition over
          buckets and read them together.
          See guides/patterns/spread-keys.md

Operations
                   plan               /s    requests       later             read    written     USD
  insert           -                   2   1 (1-127)  9 (7.03-9)         4 (3-67)  4 (4-130)    0.09
  by id            point           5,000           1           -                1          -  473.04
  look-up byEmail  point              20           2           -                2          -    3.78
  of a department  partition-scan   0.05  33 (13-49)           -  32.8k (12k-48k)          -    0.16
  Of one operation: requests of the caller, requests of a worker later, entities read and written;
  as expected (at best-at worst). USD a month.

Load at the busiest time
                   partitions  entities/s    busiest  of the traffic  over target
  Employee                  4       6,672    3,567/s            48 %            1
  index 'byEmail'     100,000          24  < 0.001/s        < 0.01 %            0
  A partition is good for 2,000 entities/s.
  The account gets 5,062 of 20,000 requests/s.

Capacity
                      rows  bytes each  at most  of it overhead    in all
  Employee         100,000         134      134          26.9 %  12.8 MiB
  index 'byEmail'  100,000         132      132          33.3 %  12.6 MiB
  25.4 MiB in all, counted as:
  4 + 2 × (PartitionKey + RowKey) + for each property (8 + 2 × its name + its value)
  (Understanding Windows Azure Storage Billing, Windows Azure Storage team, 2010-07-09)

Cost of a month
  capacity  < 0.01  USD
  requests  477.08  USD
  total     477.08  USD
  Prices of 2020-04-08, United States: an example, local redundancy; not the prices of today.`;

describe('the report as a text', () => {
  it('reads like this', () => {
    assert.equal(reportText(report), expected);
  });

  it('says that there is nothing to say', () => {
    const text = reportText(
      explain(Unstamped, {
        rows: 0,
        partitions: zipf(4, 1),
        properties: { department: { size: 9 }, email: { size: 24 } },
        operations: [],
      }),
    );
    assert.match(text, /^Employee: 0 rows\n\nFindings\n {2}none\n\nOperations\n {2}none\n/);
    assert.doesNotMatch(text, /NaN|Infinity|undefined/);
  });

  it('fits into 100 columns and has no spaces at the ends of lines', () => {
    for (const line of reportText(report).split('\n')) {
      assert.ok(line.length <= 100, line);
      assert.equal(line, line.trimEnd());
    }
  });
});

describe('the report as JSON', () => {
  it('is the report, with its version', () => {
    const parsed: unknown = JSON.parse(reportJson(report));
    assert.deepEqual(parsed, report);
    assert.equal((parsed as { version: unknown }).version, 1);
  });

  it('keeps the names of its fields', () => {
    assert.deepEqual(Object.keys(report), [
      'version',
      'subject',
      'rows',
      'operations',
      'capacity',
      'load',
      'cost',
      'findings',
    ]);
    assert.deepEqual(Object.keys(report.findings[0] ?? {}), [
      'severity',
      'code',
      'subject',
      'figures',
      'problem',
      'advice',
      'pattern',
    ]);
  });
});

describe('numbers in reports', () => {
  it('have the digits that matter', () => {
    const texts = [0, 1, 12_345.6, 45.67, 3.1355, 0.01234, 0.00000123, 100, 10.0, 2.5].map(amount);
    assert.deepEqual(texts, [
      '0',
      '1',
      '12,346',
      '45.7',
      '3.14',
      '0.012',
      '< 0.001',
      '100',
      '10',
      '2.5',
    ]);
  });

  it('are short in tables', () => {
    assert.deepEqual([9_999, 10_000, 23_456, 1_234_567, 2e9, 5e12].map(short), [
      '9,999',
      '10k',
      '23.5k',
      '1.23M',
      '2G',
      '5T',
    ]);
  });

  it('have units', () => {
    assert.deepEqual([0, 512, 1_536, 2 ** 20, 2 ** 45].map(byteText), [
      '0 bytes',
      '512 bytes',
      '1.5 KiB',
      '1 MiB',
      '32 TiB',
    ]);
    assert.deepEqual([0.9, 0.005, 1 / 3].map(percent), ['90 %', '0.5 %', '33.3 %']);
  });
});
