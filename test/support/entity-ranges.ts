import * as fc from 'fast-check';
import { unreachable } from '../../src/base/invariant.js';
import type { EntityRange } from '../../src/model/edm/entity-range.js';
import type { KeyInterval } from '../../src/services/tables/key-interval.js';

/** True when the entity is in the range, by the table of table-service §8.3. */
export function isInside(range: EntityRange, pk: string, rk: string): boolean {
  const { startPartitionKey: spk, startRowKey: srk } = range;
  const { endPartitionKey: epk, endRowKey: erk } = range;
  const rules: boolean[] = [];
  if (spk !== undefined && srk === undefined) rules.push(pk >= spk);
  if (spk !== undefined && srk !== undefined) rules.push(pk > spk || (pk === spk && rk >= srk));
  if (epk !== undefined && erk === undefined) rules.push(pk <= epk);
  if (epk !== undefined && erk !== undefined) rules.push(pk < epk || (pk === epk && rk <= erk));
  return rules.every(Boolean);
}

/** Ranges of every form, including empty ones. */
export function entityRanges(keys: fc.Arbitrary<string>): fc.Arbitrary<EntityRange> {
  const ranges = fc.tuple(
    fc.option(fc.tuple(keys, fc.option(keys))),
    fc.option(fc.tuple(keys, fc.option(keys))),
  );
  return ranges.map(([start, end]) => rangeOf(start, end));
}

type Bound = readonly [partitionKey: string, rowKey: string | null] | null;

function rangeOf(start: Bound, end: Bound): EntityRange {
  const [startPartitionKey, startRowKey] = start ?? [];
  const [endPartitionKey, endRowKey] = end ?? [];
  const range = { startPartitionKey, startRowKey, endPartitionKey, endRowKey };
  return Object.fromEntries(
    Object.entries(range).filter(([, bound]) => bound !== undefined && bound !== null),
  );
}

/** True when a plan that has the interval reads an entity. */
export function isRead(interval: KeyInterval, partitionKey: string, rowKey: string): boolean {
  const inside = ({ start, end }: { start: string; end: string | undefined }, key: string) =>
    start <= key && (end === undefined || key < end);
  switch (interval.kind) {
    case 'point':
      return interval.partitionKey === partitionKey && interval.rowKey === rowKey;
    case 'rows':
      return interval.partitionKey === partitionKey && inside(interval.rows, rowKey);
    case 'partitions':
      return inside(interval.partitions, partitionKey);
    default:
      return unreachable(interval);
  }
}
