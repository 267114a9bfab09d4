const opening: ReadonlySet<number | undefined> = new Set(Buffer.from('[{'));
const closing: ReadonlySet<number | undefined> = new Set(Buffer.from(']}'));
const quote = '"'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);

/**
 * Whether JSON is nested deeper than this number of levels, for readers that need a stack frame per
 * level. Ignores brackets in strings; the result for invalid JSON does not matter.
 */
export function isNestedBeyond(json: Uint8Array, levels: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) isInString = !isInString;
    else if (isInString) at += byte === backslash ? 1 : 0;
    else if (opening.has(byte)) depth += 1;
    else if (closing.has(byte)) depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}
