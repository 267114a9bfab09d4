import { invariant } from '../../base/invariant.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { keyUnitsMax } from '../rows/row-size.js';
import {
  afterEscapedText,
  escapeKeyText,
  isForbiddenInKeys,
  isSeparator,
  unescapeKeyText,
  type TextPlace,
} from './key-escape.js';
import { isReservedKey } from './reserved-keys.js';
import { textAfterPrefix } from '../rows/text-order.js';
import type { KeyPart } from './key-part.js';

/**
 * A key as literal texts and values. `texts` has one more element than `parts`: the text before
 * each part, and the text after the last.
 */
export interface KeyTemplate<P extends readonly KeyPart[] = readonly KeyPart[]> {
  readonly texts: readonly string[];
  readonly parts: P;
}

/** Values by the names of their properties. */
export type KeyValues = Readonly<Record<string, unknown>>;

/** All keys `k` with `from <= k < before`, in ordinal order. */
export interface KeyRange {
  readonly from: string;
  readonly before: string;
}

/**
 * A key template: ``key`empid_${p.id.padded(6)}` ``. Different values give different keys, and keys
 * can be parsed back. Throws `DefinitionError` when nothing separates a value of variable width
 * from what follows, a literal text has a character that keys forbid, or a key could begin with `~`
 * or `!`: such keys are of the library. A value that begins so is escaped there.
 */
export function key<const P extends readonly KeyPart[]>(
  texts: TemplateStringsArray,
  ...parts: P
): KeyTemplate<P> {
  return keyTemplate([...texts], parts);
}

/** The same from arrays, for templates that a program builds. */
export function keyTemplate<const P extends readonly KeyPart[]>(
  texts: readonly string[],
  parts: P,
): KeyTemplate<P> {
  for (const text of texts) {
    if (isForbiddenInKeys(text) || /[\uffed-\uffff]/.test(text)) {
      throw new DefinitionError(
        `the text '${text}' of a key has a character that keys must not have: / \\ # ? or a control`,
      );
    }
  }
  // A first value of variable width may be empty.
  const isLater = texts[0] !== '' || parts[0]?.format.width !== undefined;
  if (isReservedKey((isLater ? texts[0] : texts[1]) ?? '')) {
    throw new DefinitionError(
      `a key cannot begin with '~' or '!': rows that the library itself writes have such keys`,
    );
  }
  parts.forEach(({ property, format }, index) => {
    const isLast = index === parts.length - 1 && texts[index + 1] === '';
    if (format.width !== undefined || isLast) return;
    if (!isSeparator((texts[index + 1] ?? '').charAt(0))) {
      throw new DefinitionError(
        `'${property}' in a key needs a separator after it, such as _ or a lower-case letter`,
      );
    }
  });
  return Object.freeze({ texts, parts });
}

function separatorAfter({ texts }: KeyTemplate, index: number): string {
  return (texts[index + 1] ?? '').charAt(0);
}

function placeOf({ texts }: KeyTemplate, index: number): TextPlace {
  return index === 0 && texts[0] === '' ? 'first' : 'later';
}

function formatPart(template: KeyTemplate, index: number, value: unknown): string {
  const found = template.parts[index];
  if (found === undefined) return '';
  try {
    const text = found.format.format(value);
    return found.format.width === undefined
      ? escapeKeyText(text, separatorAfter(template, index), placeOf(template, index))
      : text;
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new ValueError(`${found.property} in a key: ${error.message}`);
  }
}

/**
 * The key of values. Throws `ValueError` for a value that is missing or does not fit, and for a key
 * that is too long.
 */
export function formatKey(template: KeyTemplate, values: KeyValues): string {
  const { texts, parts } = template;
  let text = texts[0] ?? '';
  parts.forEach(({ property }, index) => {
    const value = values[property];
    if (value === undefined || value === null) {
      throw new ValueError(`the key needs '${property}'`);
    }
    text += formatPart(template, index, value) + (texts[index + 1] ?? '');
  });
  if (text.length > keyUnitsMax) {
    throw new ValueError(
      `a key of ${text.length} UTF-16 code units is longer than ${keyUnitsMax} (1 KiB)`,
    );
  }
  return text;
}

/** The values of a key; undefined when the key does not match the template. */
export function parseKey(template: KeyTemplate, text: string): KeyValues | undefined {
  const values: Record<string, unknown> = {};
  return parseKeyInto(values, template, text) ? values : undefined;
}

/**
 * Adds the values of a key to `values`. False when the key does not match the template or
 * contradicts `values`.
 */
export function parseKeyInto(
  values: Record<string, unknown>,
  template: KeyTemplate,
  text: string,
): boolean {
  const { texts, parts } = template;
  const first = texts[0] ?? '';
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    if (part === undefined) return false;
    const { property, format } = part;
    const next = texts[index + 1] ?? '';
    const end = endOfPart(text, at, format.width, next);
    if (end < 0 || !text.startsWith(next, end)) return false;
    const written = text.slice(at, end);
    const separator = separatorAfter(template, index);
    const plain =
      format.width === undefined
        ? unescapeKeyText(written, separator, placeOf(template, index))
        : written;
    const value = plain === undefined ? undefined : format.parse(plain);
    if (value === undefined) return false;
    const before = values[property];
    if (before === undefined) values[property] = value;
    else if (format.format(before) !== plain) return false;
    at = end + next.length;
  }
  return at === text.length;
}

function endOfPart(text: string, at: number, width: number | undefined, next: string): number {
  if (width !== undefined) return at + width <= text.length ? at + width : -1;
  return next === '' ? text.length : text.indexOf(next.charAt(0), at);
}

/** The prefix of a key that its leading values determine. */
export interface KeyPrefix {
  /** Includes the literal text after the last value. */
  readonly text: string;
  /** Ends with the last value: sorts no later than any key with the same or greater values. */
  readonly bound: string;
  /** Every part had a value: the text is the whole key. */
  readonly isWhole: boolean;
  /** The text ends within a value that may continue. */
  readonly isOpen: boolean;
  /** The number of parts that have values. */
  readonly count: number;
}

/**
 * The prefix of the leading parts that have values. Throws `ValueError` when a value is given but
 * an earlier one is missing, because no single range matches that.
 */
export function prefixOf(template: KeyTemplate, values: KeyValues): KeyPrefix {
  const { texts, parts } = template;
  const has = (index: number): boolean => {
    const name = parts[index]?.property;
    return name !== undefined && values[name] !== undefined && values[name] !== null;
  };
  let bound = texts[0] ?? '';
  let text = bound;
  let count = 0;
  for (; count < parts.length && has(count); count++) {
    bound = text + formatPart(template, count, values[parts[count]?.property ?? '']);
    text = bound + (texts[count + 1] ?? '');
  }
  for (let later = count + 1; later < parts.length; later++) {
    if (!has(later)) continue;
    throw new ValueError(
      `a range of keys cannot have '${parts[later]?.property}' without '${parts[count]?.property}'`,
    );
  }
  return { text, bound, isWhole: count === parts.length, isOpen: false, count };
}

/** Extends a prefix by the beginning of the next value. Throws `ValueError` unless that is text. */
export function openPrefix(template: KeyTemplate, prefix: KeyPrefix, start: string): KeyPrefix {
  const next = template.parts[prefix.count];
  if (next === undefined || next.format.width !== undefined) {
    throw new ValueError(
      `a key can begin with a text only where its next part is text; this is ${next?.property ?? 'its end'}`,
    );
  }
  const { count } = prefix;
  const escaped = escapeKeyText(start, separatorAfter(template, count), placeOf(template, count));
  const text = prefix.text + escaped;
  return { ...prefix, text, bound: text, isWhole: false, isOpen: true };
}

/** The range of the keys with a prefix; undefined when it is all keys. */
export function rangeOfPrefix({ text, isOpen }: KeyPrefix): KeyRange | undefined {
  const before = isOpen ? text + afterEscapedText : textAfterPrefix(text);
  return before === undefined ? undefined : { from: text, before };
}

/** The range of all keys that begin with a text. */
export function rangeWithPrefix(text: string): KeyRange {
  return { from: text, before: successorOfPrefix(text) };
}

/** The first text after every text that begins with `text`, a prefix of a key. */
export function successorOfPrefix(text: string): string {
  const next = textAfterPrefix(text);
  invariant(next !== undefined, 'every key begins with an empty text');
  return next;
}
