/** Formats numbers for people, the same in every locale. */

const thousands = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** `12,345`, `3.4`, `0.05`, `< 0.001`: about three digits, or all of a whole number. */
export function amount(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return thousands.format(value);
  if (size >= 10) return trimmed(value.toFixed(1));
  if (size >= 1) return trimmed(value.toFixed(2));
  return size >= 0.001 ? trimmed(value.toPrecision(2)) : '< 0.001';
}

function trimmed(text: string): string {
  return text.replace(/\.?0+$/, '');
}

const magnitudes = [
  { from: 1e12, letter: 'T' },
  { from: 1e9, letter: 'G' },
  { from: 1e6, letter: 'M' },
  { from: 1e4, letter: 'k' },
] as const;

/** For tables: `23k`, `1.2M`; below 10,000 as `amount`. */
export function short(value: number): string {
  const found = magnitudes.find(({ from }) => Math.abs(value) >= from);
  if (found === undefined) return amount(value);
  const unit = found.letter === 'k' ? 1e3 : found.from;
  return `${amount(Number((value / unit).toPrecision(3)))}${found.letter}`;
}

/** `90 %`, `0.5 %`. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0001) return '< 0.01 %';
  return `${amount(Math.round(share * 10_000) / 100)} %`;
}

/** `1 row`, `2 rows`, `1,000 entities`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${amount(count)} ${count === 1 ? one : many}`;
}
