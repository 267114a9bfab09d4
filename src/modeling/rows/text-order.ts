import type { RowKey } from './row.js';

/** The order of the service: by UTF-16 code units. Negative, zero or positive. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The order of rows: by PartitionKey, then by RowKey. */
export function compareKeys(left: RowKey, right: RowKey): number {
  return (
    compareTexts(left.partitionKey, right.partitionKey) || compareTexts(left.rowKey, right.rowKey)
  );
}

/**
 * The first text after every text that begins with `text`; undefined when there is none. The result
 * has no lone surrogate, which UTF-8 cannot encode, as long as `text` has none.
 */
export function textAfterPrefix(text: string): string | undefined {
  for (let length = text.length; length > 0; length--) {
    const next = text.charCodeAt(length - 1) + 1;
    const before = text.slice(0, length - 1);
    const follows = /[\ud800-\udbff]$/.test(before);
    // Within a surrogate pair, raise the low surrogate, or else the high one.
    if (follows && next <= 0xdfff) return before + String.fromCharCode(next);
    if (follows) continue;
    if (next === 0xd800) return `${before}\u{10000}`;
    if (next > 0xd800 && next <= 0xdbff) return `${before}${String.fromCharCode(next)}\udc00`;
    if (next === 0xdc00) return `${before}\ue000`;
    if (next <= 0xffff) return before + String.fromCharCode(next);
  }
  return undefined;
}
