import { extname } from 'node:path';

export const inputFormats = ['csv', 'tsv', 'json', 'jsonl'] as const;
export type InputFormat = (typeof inputFormats)[number];

const extensions: ReadonlyMap<string, InputFormat> = new Map([
  ['.csv', 'csv'],
  ['.tsv', 'tsv'],
  ['.jsonl', 'jsonl'],
  ['.ndjson', 'jsonl'],
]);

/**
 * The format of an input, by its extension or else by its first bytes. `json` is an array of
 * objects, or objects in any layout; `jsonl` has one object per line, so that a broken line affects
 * only itself.
 */
export function detectFormat(name: string, head: Buffer): InputFormat {
  const known = extensions.get(extname(name).toLowerCase());
  if (known !== undefined) return known;
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  if (text.startsWith('[')) return 'json';
  if (!text.startsWith('{')) return 'csv';
  return isWholeObject(text.split('\n', 1)[0] ?? '') ? 'jsonl' : 'json';
}

function isWholeObject(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
