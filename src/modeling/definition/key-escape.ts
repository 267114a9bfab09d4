import { ValueError } from '../rows/model-error.js';
import { isReservedKey, reservedInitials } from './reserved-keys.js';

/**
 * Text inside of keys. The service forbids / \ # ? and the control characters U+0000–1F and
 * U+007F–9F in keys, and a template forbids the characters that separate its parts. Escaped texts
 * stay distinct and keep their order:
 *
 * - A forbidden character becomes the nearest allowed character below it, then `above` (U+FFEE),
 *   then its code as two hexadecimal digits: `a/b` is `a.￮2Fb`. It sorts after every text that
 *   begins with the allowed character, because no text begins with U+FFEE, and before the next
 *   character.
 * - A character from U+FFED on, which would sort with or above the mark, becomes `literal` (U+FFED)
 *   and the low byte of its code.
 * - At the beginning of a key, a reserved character is forbidden too: `~bob` is `}￮7Ebob`.
 * - Every other character stays as it is.
 *
 * U+0000–1F have no allowed character below them: they are written above the space and sort just
 * after it.
 */

const above = '\uffee';
const literal = '\uffed';
const literalFrom = 0xffed;

/** Sorts after every possible continuation of an escaped text. */
export const afterEscapedText = above;

const loneSurrogate = /\p{Surrogate}/u;
/** Characters that no key may contain, whatever the template. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const forbidden = /[/\\#?\u0000-\u001f\u007f-\u009f]/;
/** Characters that may need an escape, and those of escapes. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const notable = /[/\\#?\u0000-\u001f\u007f-\u009f\ud800-\udfff\uffed-\uffff]/;

export function isForbiddenInKeys(text: string): boolean {
  return forbidden.test(text) || loneSurrogate.test(text);
}

/**
 * Whether a character can end a part of variable width: printable ASCII that occurs in no escape.
 */
export function isSeparator(char: string): boolean {
  return /^[ -~]$/.test(char) && !/[0-9A-F]/.test(char) && !forbidden.test(char);
}

/** Where a text is in its key. */
export type TextPlace = 'first' | 'later';

/** The characters that a text must not have at a position, besides those of `forbidden`. */
function isForbidden(char: string, others: string): boolean {
  return others.includes(char) || forbidden.test(char);
}

function baseOf(char: string, others: string): string {
  const code = char.charCodeAt(0);
  for (let below = code - 1; below >= 0x20; below--) {
    const base = String.fromCharCode(below);
    if (!isForbidden(base, others)) return base;
  }
  return [' ', '!', '"'].find((base) => !isForbidden(base, others)) ?? '$';
}

function hexOf(code: number): string {
  return code.toString(16).toUpperCase().padStart(2, '0');
}

/**
 * Escapes a text as a part of a key. `separator` is the character that ends the part, '' at the end
 * of a key. Throws `ValueError` for a lone surrogate, which UTF-8 cannot encode.
 */
export function escapeKeyText(text: string, separator: string, place: TextPlace = 'later'): string {
  const isPlain =
    !notable.test(text) &&
    (separator === '' || !text.includes(separator)) &&
    (place === 'later' || !isReservedKey(text));
  if (isPlain) return text;
  if (loneSurrogate.test(text)) {
    throw new ValueError('a string with half a surrogate pair cannot be in a key');
  }
  let escaped = '';
  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index);
    const code = text.charCodeAt(index);
    const others = index === 0 && place === 'first' ? separator + reservedInitials : separator;
    if (code >= literalFrom) escaped += literal + hexOf(code & 0xff);
    else if (isForbidden(char, others)) escaped += baseOf(char, others) + above + hexOf(code);
    else escaped += char;
  }
  return escaped;
}

/** Undoes `escapeKeyText`; undefined for a text that it does not produce. */
export function unescapeKeyText(
  escaped: string,
  separator: string,
  place: TextPlace = 'later',
): string | undefined {
  if (place === 'first' && isReservedKey(escaped)) return undefined;
  if (!notable.test(escaped)) return escaped;
  if (isForbiddenInKeys(escaped)) return undefined;
  if (!escaped.includes(above) && !escaped.includes(literal)) return escaped;
  const text = escaped.replace(
    /([^\uffed\uffee])\uffee([0-9A-F]{2})|\uffed([0-9A-F]{2})/g,
    (_whole, _base: string | undefined, code: string | undefined, low: string | undefined) =>
      code === undefined
        ? String.fromCharCode(0xff00 | Number.parseInt(low ?? '', 16))
        : String.fromCharCode(Number.parseInt(code, 16)),
  );
  // Another spelling means that another program wrote the key.
  const isOwn = !loneSurrogate.test(text) && escapeKeyText(text, separator, place) === escaped;
  return isOwn ? text : undefined;
}
