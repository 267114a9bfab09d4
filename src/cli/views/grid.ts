import { displayWidth, printable, truncated } from '../terminal/terminal.js';

export interface GridColumn {
  readonly name: string;
  readonly align: 'left' | 'right';
}

const gap = '  ';
const cellWidthMin = 8;

/** Widths with which the columns fit into `widthMax`: the widest shrink first, none below 8. */
export function fitWidths(natural: readonly number[], widthMax: number): number[] {
  const widths = [...natural];
  const total = (): number => widths.reduce((sum, width) => sum + width + gap.length, -gap.length);
  // Each round narrows the widest column, so the loop terminates.
  while (total() > widthMax) {
    const widest = Math.max(...widths);
    if (widest <= cellWidthMin) break;
    const at = widths.indexOf(widest);
    const second = Math.max(cellWidthMin, ...widths.filter((width) => width < widest));
    widths[at] = Math.max(second, widest - (total() - widthMax), cellWidthMin);
    if (widths[at] === widest) widths[at] = widest - 1;
  }
  return widths;
}

/**
 * Lines of an aligned table, header first. Columns that do not fit are dropped from the right;
 * `hidden` names them.
 */
export function renderGrid(
  columns: readonly GridColumn[],
  rows: readonly (readonly string[])[],
  widthMax: number,
): { readonly lines: string[]; readonly hidden: readonly string[] } {
  const cells = rows.map((row) => row.map(printable));
  const names = columns.map((column) => printable(column.name));
  const natural = names.map((name, at) =>
    cells.reduce((width, row) => Math.max(width, displayWidth(row[at] ?? '')), displayWidth(name)),
  );
  const shown = fittingCount(natural, widthMax);
  const widths = fitWidths(natural.slice(0, shown), widthMax);
  const line = (row: readonly string[]): string =>
    widths
      .map((width, at) => aligned(row[at] ?? '', width, columns[at]?.align ?? 'left'))
      .join(gap)
      .trimEnd();
  const rule = widths.map((width) => '-'.repeat(width)).join(gap);
  return { lines: [line(names), rule, ...cells.map(line)], hidden: names.slice(shown) };
}

function fittingCount(natural: readonly number[], widthMax: number): number {
  let used = -gap.length;
  for (let at = 0; at < natural.length; at++) {
    used += Math.min(natural[at] ?? 0, cellWidthMin) + gap.length;
    if (used > widthMax) return Math.max(1, at);
  }
  return natural.length;
}

function aligned(text: string, width: number, align: 'left' | 'right'): string {
  const cut = truncated(text, width);
  const padding = ' '.repeat(Math.max(0, width - displayWidth(cut)));
  return align === 'right' ? padding + cut : cut + padding;
}
