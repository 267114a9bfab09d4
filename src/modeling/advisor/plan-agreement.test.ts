import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  defineEntity,
  type AnyDefinition,
  type KeyFields,
} from '../definition/entity-definition.js';
import { key, type KeyTemplate } from '../definition/key-template.js';
import { int32, string } from '../definition/scalar-types.js';
import { entitiesOf } from '../table/entities.js';
import type { TableGateway } from '../table/gateway.js';
import type { PartitionQuery, TableScan } from '../table/query-plan.js';
import { uniform } from './facts/distribution.js';
import { explain } from './explain.js';

const properties = { a: string(), n: int32(), b: string(), c: string() };
type Fields = KeyFields<typeof properties>;

const partitionKeys: readonly ((p: Fields) => KeyTemplate)[] = [
  () => key`all`,
  (p) => key`${p.a}`,
  (p) => key`x_${p.a}_${p.n.padded(5)}`,
];
const rowKeys: readonly ((p: Fields) => KeyTemplate)[] = [
  () => key`1`,
  (p) => key`${p.b}`,
  (p) => key`row_${p.b}`,
  (p) => key`${p.n.padded(5)}_${p.b}`,
  (p) => key`e-${p.n.offset()}_${p.b}_x`,
];

const definitions: fc.Arbitrary<AnyDefinition> = fc
  .tuple(fc.constantFrom(...partitionKeys), fc.constantFrom(...rowKeys))
  .map(([partitionKey, rowKey]) => defineEntity({ type: 'T', properties, partitionKey, rowKey }));

const values = fc.record({
  a: fc.constantFrom('x', 'y'),
  n: fc.nat(99),
  b: fc.constantFrom('', 'z'),
});

/** Values of the first `count` parts of a template. */
function leading({ parts }: KeyTemplate, from: object, count: number): Record<string, unknown> {
  const names = new Set(parts.slice(0, count).map(({ property }) => property));
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.has(name)));
}

type Bounds = Pick<
  PartitionQuery<AnyDefinition>,
  'prefix' | 'rowKeyFrom' | 'rowKeyTo' | 'rowKeyBefore' | 'startsWith'
>;

interface Shape {
  readonly definition: AnyDefinition;
  readonly query: PartitionQuery<AnyDefinition>;
  readonly scan: TableScan<AnyDefinition>;
}

const shapes: fc.Arbitrary<Shape> = fc
  .record({
    definition: definitions,
    values,
    kind: fc.constantFrom('all', 'prefix', 'from', 'to', 'before', 'startsWith'),
    count: fc.nat(3),
    hasWhere: fc.boolean(),
  })
  .map(({ definition, values: given, kind, count, hasWhere }) => {
    const { partitionKey, rowKey } = definition;
    const some = leading(rowKey, given, count);
    const isText = rowKey.parts[0]?.format.width === undefined && rowKey.parts.length > 0;
    const bounds: Readonly<Record<string, Bounds>> = {
      all: {},
      prefix: { prefix: some },
      from: { rowKeyFrom: some },
      to: { rowKeyTo: some },
      before: { rowKeyBefore: some },
      startsWith: isText ? { startsWith: 'z' } : {},
    };
    const where = (p: { readonly c?: { eq(value: string): never } }) => p.c?.eq('z') as never;
    const condition = hasWhere ? { where } : {};
    return {
      definition,
      query: {
        ...bounds[kind],
        ...condition,
        partition: leading(partitionKey, given, partitionKey.parts.length),
      },
      scan: {
        ...condition,
        partitionPrefix: leading(partitionKey, given, count),
      },
    };
  });

const refuse = () => Promise.reject(new Error('nothing may be sent'));
const gateway: TableGateway = {
  table: 'nothing',
  get: refuse,
  write: refuse,
  transact: refuse,
  page: refuse,
};

describe('the plans of the advisor', () => {
  it('are those that queries report', () => {
    fc.assert(
      fc.property(shapes, ({ definition, query, scan }) => {
        const entities = entitiesOf(definition, gateway);
        const { partition, ...rest } = query;
        const several = { ...rest, partitions: [partition, partition] };
        const { operations } = explain(definition, {
          rows: 1_000,
          partitions: uniform(10),
          operations: [
            { kind: 'query', perSecond: 1, query },
            { kind: 'query', perSecond: 1, query: several },
            { kind: 'scan', perSecond: 1, scan },
          ],
        });
        const plans = [
          entities.query(query).plan,
          entities.queryPartitions(several).plan,
          entities.scanTable(scan).plan,
        ];
        assert.deepEqual(
          operations.map(({ planClass }) => planClass),
          plans.map((plan) => plan.class),
        );
        operations.forEach(({ requests }, index) => {
          assert.ok(requests.best >= (plans[index]?.requestsMin ?? 0));
          assert.ok(requests.best <= requests.expected && requests.expected <= requests.worst);
        });
      }),
      { numRuns: 166 },
    );
  });
});
