/** Numbers as a person reads them, the same in every locale. */

const thousands = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** `12,345`, `3.4`, `0.05`, `3.2e-7`: about three digits, or all of a whole number. */
export function amount(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return thousands.format(value);
  if (size >= 10) return trimmed(value.toFixed(1));
  if (size >= 1) return trimmed(value.toFixed(2));
  if (size >= 0.001) return trimmed(value.toPrecision(2));
  return trimmed(value.toExponential(1));
}

function trimmed(text: string): string {
  return text.replace(/(\.\d*?)0+(?=$|e)/, '$1').replace(/\.(?=$|e)/, '');
}

/** `90 %`, `0.5 %`. */
export function percent(share: number): string {
  return `${amount(Math.round(share * 10_000) / 100)} %`;
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** `512 bytes`, `1.5 KiB`, `3 GiB`. */
export function byteText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${amount(size)} ${units[unit] ?? ''}`;
}

/** `1 row`, `2 rows`, `1,000 entities`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${amount(count)} ${count === 1 ? one : many}`;
}
