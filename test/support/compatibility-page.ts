import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

// The tables of docs/reference/compatibility.md by heading.

const text = readFileSync(
  new URL('../../../docs/reference/compatibility.md', import.meta.url),
  'utf8',
);

/** The cells of all table rows under a heading, without the table heads. */
export function rowsUnder(heading: string): string[][] {
  const section = text.split(/^#{2,3} /m).find((each) => each.startsWith(`${heading}\n`));
  assert.ok(section !== undefined, `no heading ${heading}`);
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  const isRule = (line: string | undefined) => line !== undefined && /^\|[ -]+\|[ |-]*$/.test(line);
  const rows = lines.filter((line, index) => !isRule(line) && !isRule(lines[index + 1]));
  assert.ok(rows.length > 0, `no rows under ${heading}`);
  return rows.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** A text of the page without backticks. */
export function plain(cell: string): string {
  return cell.replaceAll('`', '');
}
