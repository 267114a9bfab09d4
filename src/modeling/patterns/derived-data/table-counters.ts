import type { RowKey } from '../../rows/row.js';
import type { TableGateway } from '../../table/gateway.js';

/** A counter that a table keeps, for patterns whose rows it counts. */
export interface TableCounter {
  /** The type of the entities that are counted, and that of their summaries in this table. */
  readonly source: string;
  readonly view: string;
  /** The properties of a summary that the table writes by itself. */
  readonly measures: readonly string[];
  /** Whether an entity without a summary is refused. */
  readonly needsSummary: boolean;
  /** The key of the summary that counts an entity, undefined for none. */
  readonly summaryOf: (entity: object) => RowKey | undefined;
}

const countersOf = new WeakMap<TableGateway, readonly TableCounter[]>();

/** Tells the counters of a table over another one. */
export function shareCounters(
  table: TableGateway,
  base: TableGateway,
  derivations: readonly { readonly counter?: TableCounter | undefined }[],
): void {
  const own = derivations.flatMap(({ counter }) => (counter === undefined ? [] : [counter]));
  countersOf.set(table, [...own, ...(countersOf.get(base) ?? [])]);
}

/** The counters of a table for entities of one type in summaries of another one. */
export function countersBetween(
  table: TableGateway,
  source: string,
  view: string,
): readonly TableCounter[] {
  const all = countersOf.get(table) ?? [];
  return all.filter((each) => each.source === source && each.view === view);
}
