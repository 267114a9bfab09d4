import { Option } from 'commander';
import { renderGrid, type GridColumn } from './grid.js';
import { printableJson } from '../terminal/terminal.js';

export const rowFormats = ['table', 'json', 'jsonl'] as const;
export type RowFormat = (typeof rowFormats)[number];

/** The rendering of a kind of rows. */
export interface RowView<Row> {
  /** One line. */
  json(row: Row): string;
  /** The columns of a table with these rows. */
  columns(rows: readonly Row[]): readonly GridColumn[];
  /** The cell texts of a row. */
  cells(row: Row, columns: readonly GridColumn[]): readonly string[];
  /** Printed instead of an empty table. */
  readonly nothing: string;
  /** Advice when columns are dropped for lack of space. */
  readonly hint: string;
}

/** Prints rows page by page. */
export interface RowPrinter<Row> {
  page(rows: readonly Row[]): void;
  /** Called after the last page. */
  end(): void;
}

export function formatOption(): Option {
  return new Option('-o, --format <format>', 'how to print: a table for people, or JSON')
    .choices(rowFormats)
    .default('table');
}

/** Prints to standard output; tables are fitted to a terminal. */
export function outputPrinter<Row>(format: RowFormat, view: RowView<Row>): RowPrinter<Row> {
  return rowPrinter(format, view, {
    write: (text) => process.stdout.write(text),
    widthMax: process.stdout.isTTY ? process.stdout.columns || 80 : Infinity,
  });
}

/** Resolves when standard output accepts more data. */
export async function outputDrained(): Promise<void> {
  if (!process.stdout.writableNeedDrain) return;
  await new Promise((resolve) => process.stdout.once('drain', resolve));
}

/** Resolves when standard output has taken all that was written. */
export async function outputFlushed(): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
}

interface Output {
  readonly write: (text: string) => void;
  /** Columns of a table to fill. */
  readonly widthMax: number;
}

function rowPrinter<Row>(format: RowFormat, view: RowView<Row>, output: Output): RowPrinter<Row> {
  if (format === 'table') return tablePrinter(view, output);
  return format === 'json' ? jsonPrinter(view, output) : linesPrinter(view, output);
}

function linesPrinter<Row>(view: RowView<Row>, { write }: Output): RowPrinter<Row> {
  return {
    page: (rows) => write(rows.map((row) => `${printableJson(view.json(row))}\n`).join('')),
    end: () => undefined,
  };
}

function jsonPrinter<Row>(view: RowView<Row>, { write }: Output): RowPrinter<Row> {
  let separator = '[\n';
  return {
    page(rows) {
      for (const row of rows) {
        write(`${separator}  ${printableJson(view.json(row))}`);
        separator = ',\n';
      }
    },
    end: () => write(separator === '[\n' ? '[]\n' : '\n]\n'),
  };
}

/** Every page is a table of its own, with the columns of its rows. */
function tablePrinter<Row>(view: RowView<Row>, { write, widthMax }: Output): RowPrinter<Row> {
  let printed = 0;
  return {
    page(rows) {
      if (rows.length === 0) return;
      if (printed > 0) write('\n');
      printed += rows.length;
      const columns = view.columns(rows);
      const cells = rows.map((row) => view.cells(row, columns));
      const { lines, hidden } = renderGrid(columns, cells, widthMax);
      write(`${lines.join('\n')}\n`);
      if (hidden.length > 0) {
        write(`(Not shown, for lack of space: ${hidden.join(', ')}. ${view.hint})\n`);
      }
    },
    end() {
      if (printed === 0) write(`${view.nothing}\n`);
    },
  };
}
