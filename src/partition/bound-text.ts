import type { Bytes } from '../base/bytes.js';
import { partitionPrefixElements } from '../kv/partition-prefix.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../kv/tuple.js';

// Bounds of ranges as people write them: `table/account/#7/London`. Elements are separated by
// slashes and percent-encoded; a number has `#` before it.

/** UTF-8 cannot encode it, so a bound with a lone surrogate can be shown but not typed. */
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const numberForm = /^#(0|[1-9][0-9]{0,15})$/;

/** A bound as text; empty for the beginning of the key space. */
export function boundText(bound: Bytes): string {
  return decodeTuple(bound).map(elementText).join('/');
}

/** Parses a bound; undefined for a text of another form. */
export function boundOf(text: string): Bytes | undefined {
  const parts = text.split('/');
  if (parts.length > partitionPrefixElements) return undefined;
  const elements = parts.map(elementOf);
  return elements.every((each) => each !== undefined) ? encodeTuple(elements) : undefined;
}

function elementText(element: TupleElement): string {
  if (typeof element === 'number') return `#${element}`;
  if (typeof element !== 'string') return `0x${Buffer.from(element).toString('hex')}`;
  return encodeURIComponent(element.replaceAll(loneSurrogate, '\uFFFD'));
}

function elementOf(text: string): TupleElement | undefined {
  const number = numberForm.exec(text)?.[1];
  if (number !== undefined) {
    return Number.isSafeInteger(Number(number)) ? Number(number) : undefined;
  }
  if (text.startsWith('#')) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
