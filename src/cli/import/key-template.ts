import { RowError, UsageError } from '../terminal/failure.js';

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'column'; readonly column: string; readonly digits: number | undefined };

/** A template for a key from the columns of a row, e.g. `{country}-{id:08}`. */
export interface KeyTemplate {
  readonly source: string;
  readonly parts: readonly Part[];
}

const digitsMax = 64;

/**
 * Reads a template. `{name}` stands for a column, `{name:08}` for a whole number padded with zeros
 * to 8 digits, `{{` and `}}` for a brace, `'text'` for a constant. Text without any braces names a
 * column.
 */
export function parseKeyTemplate(source: string): KeyTemplate {
  if (source.length >= 2 && source.startsWith("'") && source.endsWith("'")) {
    return { source, parts: [{ kind: 'text', text: source.slice(1, -1) }] };
  }
  if (!/[{}]/.test(source)) {
    if (source === '') throw new UsageError('An empty key template; write \'\' in quotes for "".');
    return { source, parts: [{ kind: 'column', column: source, digits: undefined }] };
  }
  const parts: Part[] = [];
  let text = '';
  for (let at = 0; at < source.length; at++) {
    const character = source.charAt(at);
    if (character === '{' && source[at + 1] !== '{') {
      if (text !== '') parts.push({ kind: 'text', text });
      text = '';
      const close = source.indexOf('}', at);
      if (close === -1) throw new UsageError(`The key template ${source} lacks a closing brace.`);
      parts.push(parsePlaceholder(source.slice(at + 1, close), source));
      at = close;
    } else if (character === '{' || character === '}') {
      if (source[at + 1] !== character) {
        throw new UsageError(`The key template ${source} has a brace too many; write }} for one.`);
      }
      text += character;
      at++;
    } else {
      text += character;
    }
  }
  if (text !== '') parts.push({ kind: 'text', text });
  return { source, parts };
}

function parsePlaceholder(text: string, source: string): Part {
  const padded = /^(.+):0(\d+)$/.exec(text);
  const column = padded?.[1] ?? text;
  if (column === '') throw new UsageError(`The key template ${source} has an empty placeholder.`);
  if (padded === null) return { kind: 'column', column, digits: undefined };
  const digits = Number(padded[2]);
  if (digits < 1 || digits > digitsMax) {
    throw new UsageError(`The key template ${source} may pad to 1…${digitsMax} digits.`);
  }
  return { kind: 'column', column, digits };
}

export function templateColumns(template: KeyTemplate): string[] {
  return template.parts.flatMap((part) => (part.kind === 'column' ? [part.column] : []));
}

/**
 * The key of one row. `columnText` gives a column's value as text, `undefined` when the row has
 * none. Throws `RowError`.
 */
export function renderKey(
  template: KeyTemplate,
  columnText: (column: string) => string | undefined,
): string {
  let key = '';
  for (const part of template.parts) {
    if (part.kind === 'text') {
      key += part.text;
      continue;
    }
    const text = columnText(part.column);
    if (text === undefined) {
      throw new RowError('KeyColumnMissing', `The row has no value in key column ${part.column}.`);
    }
    key += part.digits === undefined ? text : padded(text, part.digits, part.column);
  }
  return key;
}

function padded(text: string, digits: number, column: string): string {
  if (!/^\d+$/.test(text)) {
    throw new RowError(
      'KeyColumnInvalid',
      `Column ${column} holds no whole number to pad: ${text}`,
    );
  }
  if (text.length > digits) {
    throw new RowError(
      'KeyColumnInvalid',
      `Column ${column} has more than ${digits} digits, which would break the order: ${text}`,
    );
  }
  return text.padStart(digits, '0');
}
