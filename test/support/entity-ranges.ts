import * as fc from 'fast-check';
import type { EntityRange } from '../../src/services/tables/entity-range.js';

/** Which entities a range has, word for word as the table of spec table-service §8.3 says. */
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

/** Ranges of every form, also such as hold nothing. */
export function entityRanges(keys: fc.Arbitrary<string>): fc.Arbitrary<EntityRange> {
  const bound = fc.option(fc.record({ partition: keys, row: fc.option(keys) }));
  return fc.record({ start: bound, end: bound }).map(({ start, end }) => ({
    ...(start === null ? {} : { startPartitionKey: start.partition }),
    ...(start === null || start.row === null ? {} : { startRowKey: start.row }),
    ...(end === null ? {} : { endPartitionKey: end.partition }),
    ...(end === null || end.row === null ? {} : { endRowKey: end.row }),
  }));
}
