import { MalformedBatchError } from './malformed.js';

/** Header lines of one part, folded ones included; each folded line copies the value. */
const headerLinesMax = 64;

/**
 * Read access to the header fields of a part. Names are given in lower case. Iterates over names
 * and values, in their order.
 */
export interface BatchHeaders extends Iterable<readonly [name: string, value: string]> {
  /** The value without surrounding white space; of several fields with the name, the first. */
  get(name: string): string | undefined;
}

/**
 * Reads a block of header lines, which end in CRLF or LF. A line that begins with white space
 * continues the one before.
 */
export function parseHeaders(block: string): BatchHeaders {
  const fields = new Map<string, string>();
  let name = '';
  let lines = 0;
  for (let start = 0; start < block.length;) {
    const feed = block.indexOf('\n', start);
    const end = feed < 0 ? block.length : feed;
    const line = block.slice(start, end).trimEnd();
    lines += 1;
    if (lines > headerLinesMax) throw new MalformedBatchError('too many header lines');
    if (line.includes('\r') || line.includes('\0')) throw new MalformedBatchError('header bytes');
    if (line.startsWith(' ') || line.startsWith('\t')) {
      if (name === '') throw new MalformedBatchError('folded line without a field');
      fields.set(name, `${fields.get(name) ?? ''} ${line.trimStart()}`.trim());
    } else if (line !== '') {
      name = addField(fields, line);
    }
    start = end + 1;
  }
  return fields;
}

/** Returns the name of the field that later lines may continue; a repeated field has none. */
function addField(fields: Map<string, string>, line: string): string {
  const colon = line.indexOf(':');
  if (colon <= 0) throw new MalformedBatchError('header line without a name');
  const name = line.slice(0, colon).trimEnd().toLowerCase();
  if (fields.has(name)) return '';
  fields.set(name, line.slice(colon + 1).trimStart());
  return name;
}
