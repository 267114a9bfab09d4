import type { ResolvedLists } from '../../patterns/indexes/with-indexes.js';
import { capacityFormula as formula } from '../sizes/capacity-formula.js';
import type { RowSet } from './row-set.js';

/** The size of the list of one value. */
export interface ListSize {
  /** UTF-16 code units of its JSON. */
  readonly units: number;
  /** Bytes of its rows. */
  readonly bytes: number;
  /** Rows besides the first; 0 when the list fits into it. */
  readonly chunks: number;
}

/** The size of a list with this number of entries. A blob has no rows. */
export function listSize(
  { place, layout }: ResolvedLists,
  list: RowSet,
  entities: RowSet,
  entries: number,
): ListSize {
  const { partitionKey, rowKey } = entities.size;
  const isBeside = place === 'same-partition';
  const key = isBeside ? rowKey.average : partitionKey.average + 1 + rowKey.average;
  // Quotation marks and a comma.
  const units = entries * (key + 3) + 2;
  if (place === 'blob') return { units, bytes: entries * (key + 1), chunks: 0 };
  const isLong = units > layout.unitsMax;
  // A list that grows is split in halves, so its rows are three quarters full on average.
  const chunks = isLong ? Math.ceil(units / (0.75 * layout.unitsMax)) : 0;
  const name = formula.property + formula.nameUnit * layout.name.length + formula.length;
  const rows = 1 + chunks;
  return {
    units,
    bytes: rows * (list.size.bytes.average + name) + formula.textUnit * units,
    chunks,
  };
}
