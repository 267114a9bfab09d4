import type { Property } from '../../model/edm/value.js';
import { textOfValue } from '../client/edm-text.js';
import { columnsJson } from '../client/entity-json.js';
import type { GridColumn } from './grid.js';
import type { RowView } from './row-output.js';

export type EntityRow = readonly Property[];

/** The view of entities: each page has the columns of its rows, and JSON has their types. */
export const entityView: RowView<EntityRow> = {
  json: columnsJson,
  columns: columnsOf,
  cells: cellsOf,
  nothing: 'No rows.',
  hint: 'Use --select or --format.',
};

const numeric: ReadonlySet<string> = new Set(['Edm.Int32', 'Edm.Int64', 'Edm.Double']);

function columnsOf(rows: readonly EntityRow[]): GridColumn[] {
  const aligned = new Map<string, 'left' | 'right'>();
  for (const row of rows) {
    for (const { name, value } of row) {
      const align = numeric.has(value.type) ? 'right' : 'left';
      if (aligned.get(name) !== 'left') aligned.set(name, align);
    }
  }
  return Array.from(aligned, ([name, align]) => ({ name, align }));
}

function cellsOf(row: EntityRow, columns: readonly GridColumn[]): string[] {
  const byName = new Map(row.map(({ name, value }) => [name, textOfValue(value)]));
  return columns.map(({ name }) => byName.get(name) ?? '');
}
