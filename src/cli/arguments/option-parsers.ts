import { InvalidArgumentError } from 'commander';

/** A parser of whole numbers within bounds, for options. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

const unitSeconds: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** A parser of durations, `90`, `90s`, `5m`, `2h` or `7d`, as seconds within bounds. */
export function duration(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, digits = '', unit = ''] = /^(\d{1,15})([smhd]?)$/.exec(text) ?? [];
    const seconds = Number(digits) * (unitSeconds[unit] ?? NaN);
    if (digits !== '' && seconds >= min && seconds <= max) return seconds;
    throw new InvalidArgumentError(
      `It must be ${min} to ${max} seconds, written like 90, 90s, 5m, 2h or 7d.`,
    );
  };
}

/** The values of a repeatable option with comma-separated names. */
export function names(text: string, before: readonly string[] = []): string[] {
  const given = text.split(',').map((name) => name.trim());
  return [...before, ...given.filter((name) => name !== '')];
}

/** The values of an option that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
