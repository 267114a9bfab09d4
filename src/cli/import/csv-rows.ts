import { parse, type CsvError, type InfoRecord, type Parser } from 'csv-parse';
import type { EdmType, EdmValue, Property } from '../../model/edm/value.js';
import { inferredValue, typeNamed, valueOfText } from '../client/edm-text.js';
import { CommandFailure, RowError, UsageError } from '../terminal/failure.js';
import { sourceStart, type SourcePosition, type SourceRow } from './source-row.js';

export interface CsvOptions {
  readonly delimiter: string;
  /** Types that override those of the header. */
  readonly types: ReadonlyMap<string, EdmType>;
  /** True: cells without a type are typed by the look of their text. */
  readonly infer: boolean;
  /** True: an empty cell is an empty string instead of a missing value. */
  readonly keepEmpty: boolean;
}

export interface CsvColumn {
  readonly name: string;
  readonly type: EdmType | undefined;
}

/** The characters of one row, at most: several times an entity's 1 MiB. */
const rowCharactersMax = 16 * 1024 * 1024;

interface RawRow {
  readonly cells: readonly string[];
  readonly line: number;
  readonly end: SourcePosition;
}

/** The name and type in a header cell: `age`, `age@Edm.Int32`, `age:int32`, `age@odata.type=…`. */
export function parseHeaderCell(cell: string, types: ReadonlyMap<string, EdmType>): CsvColumn {
  const text = cell.trim();
  const typed = /^(.+)[@:]([A-Za-z0-9.]+)$/.exec(text);
  const type = typed === null ? undefined : typeNamed(typed[2] ?? '');
  const name = typed === null || type === undefined ? text : (typed[1] ?? '');
  return { name, type: types.get(name) ?? type };
}

/** Reads only the header, for a resumed import that continues further on. */
export async function readCsvHeader(
  input: AsyncIterable<Buffer>,
  options: CsvOptions,
): Promise<readonly CsvColumn[]> {
  for await (const row of rawRows(input, options, sourceStart, true)) {
    return headerOf(row.cells, options);
  }
  throw new CommandFailure('The input is empty: a CSV file begins with a header line.');
}

/**
 * Rows of CSV text. At the start, the first line is the header; at another position, `header` is
 * the result of `readCsvHeader`. A row with more cells than the header is refused; missing cells at
 * its end are missing values.
 */
export async function* csvRows(
  input: AsyncIterable<Buffer>,
  options: CsvOptions,
  from: SourcePosition,
  header?: readonly CsvColumn[],
): AsyncGenerator<SourceRow> {
  let columns = header;
  for await (const { cells, line, end } of rawRows(input, options, from, header === undefined)) {
    if (columns === undefined) {
      columns = headerOf(cells, options);
      continue;
    }
    yield { line, end, columns: columnsOf(cells, columns, options) };
  }
}

function headerOf(cells: readonly string[], { types }: CsvOptions): readonly CsvColumn[] {
  const columns = cells.map((cell) => parseHeaderCell(cell, types));
  const names = new Set<string>();
  for (const { name } of columns) {
    if (names.has(name)) throw new UsageError(`The CSV header has the column '${name}' twice.`);
    names.add(name);
  }
  for (const name of types.keys()) {
    if (!names.has(name)) {
      throw new UsageError(`--types names ${name}, but the CSV header has no such column.`);
    }
  }
  return columns;
}

function columnsOf(
  cells: readonly string[],
  columns: readonly CsvColumn[],
  options: CsvOptions,
): readonly Property[] | RowError {
  if (cells.length > columns.length) {
    return new RowError(
      'TooManyCells',
      `The row has ${cells.length} cells, the header ${columns.length} columns.`,
    );
  }
  try {
    const properties: Property[] = [];
    for (const [at, cell] of cells.entries()) {
      const column = columns[at];
      if (column === undefined || (cell === '' && !isKept(column, options))) continue;
      if (column.name === 'Timestamp') continue;
      properties.push({ name: column.name, value: cellValue(cell, column, options) });
    }
    return properties;
  } catch (error) {
    if (error instanceof RowError) return error;
    throw error;
  }
}

/** Empty keys are legal and common; an empty value of another column means that it is absent. */
function isKept({ name, type }: CsvColumn, { keepEmpty }: CsvOptions): boolean {
  if (name === 'PartitionKey' || name === 'RowKey') return true;
  return keepEmpty && (type === undefined || type === 'Edm.String');
}

function cellValue(cell: string, { name, type }: CsvColumn, { infer }: CsvOptions): EdmValue {
  if (type !== undefined) return valueOfText(type, cell, name);
  const isKey = name === 'PartitionKey' || name === 'RowKey';
  return infer && !isKey ? inferredValue(cell, name) : { type: 'Edm.String', value: cell };
}

/** Parses chunk by chunk, so that memory holds only the rows of one chunk. */
async function* rawRows(
  input: AsyncIterable<Buffer>,
  { delimiter }: CsvOptions,
  from: SourcePosition,
  hasHeader: boolean,
): AsyncGenerator<RawRow> {
  const collector = new RawRowCollector(from, hasHeader);
  const parser = parse({
    delimiter,
    bom: from.offset === 0,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: rowCharactersMax,
    on_record: (cells: string[], info: InfoRecord) => {
      collector.add(cells, info);
      return null;
    },
  });
  let failure: CsvError | undefined;
  parser.on('error', (error: CsvError) => (failure = error));
  parser.resume();
  for await (const chunk of input) {
    failure = await written(parser, chunk);
    yield* collector.take();
    if (failure !== undefined) throw csvFailure(failure, collector.lastLine);
  }
  await ended(parser);
  yield* collector.take();
  if (failure !== undefined) throw csvFailure(failure, collector.lastLine);
}

class RawRowCollector {
  readonly #from: SourcePosition;
  #rows: RawRow[] = [];
  #lines = 0;
  #emptyLines = 0;
  #count: number;

  constructor(from: SourcePosition, hasHeader: boolean) {
    this.#from = from;
    this.#count = hasHeader ? -1 : 0;
  }

  /** The line where the last row ended. */
  get lastLine(): number {
    return this.#from.line + this.#lines;
  }

  add(cells: readonly string[], info: InfoRecord): void {
    const skipped = info.empty_lines - this.#emptyLines;
    const line = this.#from.line + this.#lines + skipped + 1;
    this.#lines = info.lines;
    this.#emptyLines = info.empty_lines;
    this.#count++;
    const end = {
      offset: this.#from.offset + info.bytes,
      line: this.#from.line + info.lines,
      row: this.#from.row + this.#count,
    };
    this.#rows.push({ cells, line, end });
  }

  take(): readonly RawRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }
}

function written(parser: Parser, chunk: Buffer): Promise<CsvError | undefined> {
  return new Promise((resolve) => {
    parser.write(chunk, (error) => resolve((error ?? undefined) as CsvError | undefined));
  });
}

function ended(parser: Parser): Promise<void> {
  return new Promise((resolve) => {
    parser.once('close', resolve);
    parser.end();
  });
}

function csvFailure(error: CsvError, lastLine: number): CommandFailure {
  if (error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE') {
    return new CommandFailure(
      `Line ${lastLine + 1}: a quote in this row is never closed. The rows before it were read.`,
      { cause: error },
    );
  }
  return new CommandFailure(`Line ${lastLine + 1}: ${error.message}`, { cause: error });
}
