import { unreachable } from '../../base/invariant.js';
import { edmTypeOf, valueFromText } from '../../wire/edm/literal.js';
import { formatDateTime } from '../../model/edm/date-time.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { EdmType, EdmValue } from '../../model/edm/value.js';
import { RowError, UsageError } from '../terminal/failure.js';
import { printable, truncated } from '../terminal/terminal.js';

const shortNames: ReadonlyMap<string, EdmType> = new Map([
  ['string', 'Edm.String'],
  ['int32', 'Edm.Int32'],
  ['int', 'Edm.Int32'],
  ['int64', 'Edm.Int64'],
  ['long', 'Edm.Int64'],
  ['double', 'Edm.Double'],
  ['float', 'Edm.Double'],
  ['boolean', 'Edm.Boolean'],
  ['bool', 'Edm.Boolean'],
  ['datetime', 'Edm.DateTime'],
  ['date', 'Edm.DateTime'],
  ['guid', 'Edm.Guid'],
  ['uuid', 'Edm.Guid'],
  ['binary', 'Edm.Binary'],
]);

/** The type for a name such as `Edm.Int32`, `Int32`, `int32` or `int`; undefined for others. */
export function typeNamed(name: string): EdmType | undefined {
  return edmTypeOf(name) ?? shortNames.get(name.toLowerCase().replace(/^edm\./, ''));
}

export function requireType(name: string): EdmType {
  const type = typeNamed(name);
  if (type !== undefined) return type;
  const names = [...new Set(shortNames.values())].join(', ');
  throw new UsageError(`There is no type '${name}'. Types are ${names}.`);
}

const shownCharacters = 60;

/** Parses a value from a text in the usual notation. Throws `RowError` that names the column. */
export function valueOfText(type: EdmType, text: string, column: string): EdmValue {
  try {
    return valueFromText(type, type === 'Edm.Boolean' ? text.toLowerCase() : text, column);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    const shown = truncated(printable(text), shownCharacters);
    throw new RowError(error.code, `Column ${column} is no ${type}: '${shown}'`);
  }
}

const int32Text = /^-?(?:0|[1-9]\d{0,9})$/;
const int64Text = /^-?(?:0|[1-9]\d{0,18})$/;
const doubleText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const dateTimeText = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,7})?)?(?:Z|[+-]\d\d:\d\d)$/;
const guidText = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The most likely typed value of a text. Text that would change when written back, such as `007`,
 * stays a string.
 */
export function inferredValue(text: string, column: string): EdmValue {
  for (const type of candidateTypes(text)) {
    try {
      return valueOfText(type, text, column);
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
    }
  }
  return { type: 'Edm.String', value: text };
}

function candidateTypes(text: string): readonly EdmType[] {
  if (text === 'true' || text === 'false') return ['Edm.Boolean'];
  if (int64Text.test(text)) {
    return int32Text.test(text) ? ['Edm.Int32', 'Edm.Int64'] : ['Edm.Int64'];
  }
  if (doubleText.test(text)) return text.length <= 17 ? ['Edm.Double'] : [];
  if (dateTimeText.test(text)) return ['Edm.DateTime'];
  return guidText.test(text) ? ['Edm.Guid'] : [];
}

/** The exact number for the text of a JSON number: beyond Int32 it is Int64. */
export function valueOfJsonNumber(text: string, column: string): EdmValue {
  if (!/^-?\d+$/.test(text)) return valueOfText('Edm.Double', text, column);
  const value = Number(text);
  if ((value | 0) === value) return { type: 'Edm.Int32', value: value | 0 };
  return valueOfText('Edm.Int64', text, column);
}

/** The text of a double with a fraction or an exponent, as in JSON. */
export function textOfDouble(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** The full text of a value. Dates have all seven fraction digits. */
export function textOfValue(value: EdmValue): string {
  switch (value.type) {
    case 'Edm.String':
    case 'Edm.Guid':
      return value.value;
    case 'Edm.Int32':
    case 'Edm.Int64':
    case 'Edm.Boolean':
      return String(value.value);
    case 'Edm.Double':
      return textOfDouble(value.value);
    case 'Edm.DateTime':
      return sevenDigits(formatDateTime(value.value));
    case 'Edm.Binary':
      return Buffer.from(value.value).toString('base64');
    default:
      return unreachable(value);
  }
}

function sevenDigits(instant: string): string {
  const [seconds = '', fraction = ''] = instant.slice(0, -1).split('.');
  return `${seconds}.${fraction.padEnd(7, '0')}Z`;
}
