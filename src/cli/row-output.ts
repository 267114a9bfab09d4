import type { Property } from '../wire/edm/value.js';
import { textOfValue } from './edm-text.js';
import { columnsJson } from './entity-json.js';
import { renderGrid, type GridColumn } from './grid.js';

export const rowFormats = ['table', 'json', 'jsonl'] as const;
export type RowFormat = (typeof rowFormats)[number];

export type Row = readonly Property[];

/** Prints rows as they come, page by page. */
export interface RowPrinter {
  page(rows: readonly Row[]): void;
  /** After the last page. */
  end(): void;
}

/** Writes to a stream of text. `widthMax` holds for tables. */
export function rowPrinter(
  format: RowFormat,
  write: (text: string) => void,
  widthMax: number,
): RowPrinter {
  if (format === 'table') return tablePrinter(write, widthMax);
  return format === 'json' ? jsonPrinter(write) : linesPrinter(write);
}

function linesPrinter(write: (text: string) => void): RowPrinter {
  return {
    page: (rows) => write(rows.map((row) => `${columnsJson(row)}\n`).join('')),
    end: () => undefined,
  };
}

function jsonPrinter(write: (text: string) => void): RowPrinter {
  let separator = '[\n';
  return {
    page(rows) {
      for (const row of rows) {
        write(`${separator}  ${columnsJson(row)}`);
        separator = ',\n';
      }
    },
    end: () => write(separator === '[\n' ? '[]\n' : '\n]\n'),
  };
}

/** Every page is a grid of its own, with the columns that its rows have. */
function tablePrinter(write: (text: string) => void, widthMax: number): RowPrinter {
  let printed = 0;
  return {
    page(rows) {
      if (rows.length === 0) return;
      if (printed > 0) write('\n');
      printed += rows.length;
      const columns = columnsOf(rows);
      const cells = rows.map((row) => cellsOf(row, columns));
      const { lines, hidden } = renderGrid(columns, cells, widthMax);
      write(`${lines.join('\n')}\n`);
      if (hidden.length > 0) {
        write(`(Not shown, for lack of space: ${hidden.join(', ')}. Use --select or --format.)\n`);
      }
    },
    end() {
      if (printed === 0) write('No rows.\n');
    },
  };
}

const numeric: ReadonlySet<string> = new Set(['Edm.Int32', 'Edm.Int64', 'Edm.Double']);

function columnsOf(rows: readonly Row[]): GridColumn[] {
  const aligned = new Map<string, 'left' | 'right'>();
  for (const row of rows) {
    for (const { name, value } of row) {
      const align = numeric.has(value.type) ? 'right' : 'left';
      if (aligned.get(name) !== 'left') aligned.set(name, align);
    }
  }
  return Array.from(aligned, ([name, align]) => ({ name, align }));
}

function cellsOf(row: Row, columns: readonly GridColumn[]): string[] {
  const byName = new Map(row.map(({ name, value }) => [name, textOfValue(value)]));
  return columns.map(({ name }) => byName.get(name) ?? '');
}
