import { cpus } from 'node:os';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Three significant digits below 100, whole numbers above. */
export function shortNumber(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** How far a ratio is from 1. */
export function changeText(ratio: number): string {
  const change = (ratio - 1) * 100;
  return `${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)} %`;
}

/** A line of a table in Markdown. */
export function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

export function machineLine(): string {
  return `Machine: ${cpus().length} cores, Node ${process.versions.node}; Tabularium on LMDB.`;
}
