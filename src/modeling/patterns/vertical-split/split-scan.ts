import type { AnyDefinition } from '../../definition/entity-definition.js';
import { rowKeyOf, type Stored } from '../../definition/stored-entity.js';
import { compareKeys } from '../../rows/text-order.js';
import type { Entities } from '../../table/entities.js';
import type { TableScan } from '../../table/query-plan.js';

/**
 * For each key, in key order, the halves of all groups; undefined for a group without a row of that
 * key. Reads the ranges of all groups side by side and holds one page of each.
 */
export async function* halvesByKey(
  groups: readonly Entities<AnyDefinition>[],
  scan: TableScan<AnyDefinition>,
): AsyncGenerator<readonly (Stored<object> | undefined)[], void, undefined> {
  const readers = groups.map((group) => group.scanTable(scan)[Symbol.asyncIterator]());
  const read = async (at: number): Promise<Stored<object> | undefined> => {
    const next = await readers[at]?.next();
    return next === undefined || next.done === true ? undefined : next.value;
  };
  let heads = await Promise.all(readers.map((_, at) => read(at)));
  for (;;) {
    const [least] = heads
      .flatMap((head) => (head === undefined ? [] : [rowKeyOf(head)]))
      .sort(compareKeys);
    if (least === undefined) return;
    const isLeast = (head: Stored<object> | undefined): boolean =>
      head !== undefined && compareKeys(rowKeyOf(head), least) === 0;
    yield heads.map((head) => (isLeast(head) ? head : undefined));
    heads = await Promise.all(heads.map(async (head, at) => (isLeast(head) ? read(at) : head)));
  }
}
