const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/**
 * `1 byte`, `512 bytes`, `1.5 KiB`, `3 GiB`: three significant digits, or all digits before the
 * point; for people.
 */
export function byteText(bytes: number): string {
  if (bytes === 1) return '1 byte';
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const digits =
    size >= 100 ? Math.round(size).toLocaleString('en-US') : String(Number(size.toPrecision(3)));
  return `${digits} ${units[unit] ?? ''}`;
}
