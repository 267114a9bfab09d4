import { own } from '../../../base/own.js';
import { DecodeError, DefinitionError, ValueError } from '../../rows/model-error.js';
import { Instant } from '../../rows/instant.js';

/**
 * Records as delimited lines: one record is one line, whatever its values contain. The first column
 * is the time, to 100 ns. A value with a delimiter, a quote, a line break or `&` is quoted, and
 * there `"`, `&` and control characters are escaped as in HTML: `&quot;`, `&amp;`, `&#10;`. An
 * absent value is empty; an empty text is `""`.
 */
export interface LogFormat<Column extends string> {
  /** The columns after the time, in order. Columns may be added at the end. */
  readonly columns: readonly Column[];
  /** One character, `;` when absent. */
  readonly delimiter?: string;
}

/** One record of a log: its time, and a text per column. */
export type LogRecord<Column extends string> = { readonly time: Instant } & {
  readonly [name in Exclude<Column, 'time'>]?: string | undefined;
};

const defaultDelimiter = ';';
const columnsMax = 1000;

/** Throws `DefinitionError` for columns or a delimiter that could not be parsed. */
export function checkLogFormat({ columns, delimiter = defaultDelimiter }: LogFormat<string>): void {
  if (columns.length > columnsMax) {
    throw new DefinitionError(`${columns.length} columns; there may be ${columnsMax}`);
  }
  if (new Set(columns).size !== columns.length || columns.includes('time')) {
    throw new DefinitionError("columns need different names, and 'time' is the first already");
  }
  if (/^[^\w\s"&#:.-]$/.test(delimiter) || delimiter === '\t' || delimiter === ' ') return;
  throw new DefinitionError(
    `'${delimiter}' is no delimiter: one punctuation mark such as ; , or |, a tab or a space`,
  );
}

/** The line of a record, with its line feed. */
export function formatRecord<Column extends string>(
  { columns, delimiter = defaultDelimiter }: LogFormat<Column>,
  record: LogRecord<Column>,
): string {
  const values: Readonly<Record<string, unknown>> = record;
  const fields = columns.map((column) => formatValue(column, own(values, column), delimiter));
  return `${[record.time.toString(), ...fields].join(delimiter)}\n`;
}

const special = /["&\p{Cc}\p{Zl}\p{Zp}]/u;
const escaped = new RegExp(special, 'gu');
const loneSurrogate = /\p{Surrogate}/u;

function formatValue(column: string, value: unknown, delimiter: string): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') {
    throw new ValueError(`the value of '${column}' is no text: make one of it before logging it`);
  }
  if (loneSurrogate.test(value))
    throw new ValueError(`the value of '${column}' has half a character`);
  if (value !== '' && !value.includes(delimiter) && !special.test(value)) return value;
  return `"${value.replaceAll(escaped, escapeCharacter)}"`;
}

function escapeCharacter(character: string): string {
  if (character === '"') return '&quot;';
  return character === '&' ? '&amp;' : `&#${character.charCodeAt(0)};`;
}

/**
 * Parses a line without its line feed. Missing columns are absent, as in logs from before they were
 * added. Throws `DecodeError` for an invalid line.
 */
export function parseRecord<Column extends string>(
  { columns, delimiter = defaultDelimiter }: LogFormat<Column>,
  line: string,
): LogRecord<Column> {
  const [time = '', ...fields] = splitLine(line, delimiter);
  if (fields.length > columns.length) {
    throw new DecodeError(
      `a line of a log has ${fields.length} values for ${columns.length} columns`,
    );
  }
  const values = fields.flatMap((field, index) => {
    const value = parseValue(field);
    return value === undefined ? [] : [[columns[index], value] as const];
  });
  return { time: parseTime(time), ...Object.fromEntries(values) } as LogRecord<Column>;
}

function parseTime(text: string): Instant {
  try {
    return Instant.parse(text);
  } catch (error) {
    throw new DecodeError('a line of a log does not begin with its time', { cause: error });
  }
}

/** Ignores delimiters in quotes. Quotes cannot contain a quote. */
function splitLine(line: string, delimiter: string): string[] {
  const fields: string[] = [];
  let begin = 0;
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '"') quoted = !quoted;
    else if (line[at] === delimiter && !quoted) {
      fields.push(line.slice(begin, at));
      begin = at + 1;
    }
  }
  return [...fields, line.slice(begin)];
}

function parseValue(field: string): string | undefined {
  if (field === '') return undefined;
  if (!field.startsWith('"')) return field;
  if (field.length < 2 || !field.endsWith('"')) {
    throw new DecodeError('a line of a log ends inside of quotes');
  }
  return field.slice(1, -1).replaceAll(/&(quot|amp|#(\d+));/g, unescapeCharacter);
}

function unescapeCharacter(_whole: string, name: string, code: string | undefined): string {
  if (code !== undefined) return String.fromCharCode(Number(code));
  return name === 'quot' ? '"' : '&';
}
