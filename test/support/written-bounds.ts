import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './repository-files.js';

// The bounds in the sources, and how pages write them.

export interface Bound {
  readonly name: string;
  readonly expression: string;
  readonly file: string;
}

/** The constants of a folder whose names end with Max, those of tests and of the library aside. */
export function boundsOf(folder: string): Bound[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /(?<!\.test)\.ts$/.test(file) && !/modeling|conformance/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, folder, file), 'utf8');
      const found = text.matchAll(/^(?:export )?const ([a-z]\w*Max) = ([^;\n]+);/gm);
      return Array.from(found, ([, name = '', expression = '']) => ({ name, expression, file }));
    });
}

/** The value of a number, a product, a power or a shift. */
export function valueOf(expression: string): number {
  const number = (text: string): number => Number(text.trim().replaceAll('_', ''));
  const [base = '', shift] = expression.split('<<');
  if (shift !== undefined) return number(base) * 2 ** number(shift);
  const [powered = '', power] = expression.split('**');
  if (power !== undefined) return number(powered) ** number(power);
  return expression.split('*').reduce((product, factor) => product * number(factor), 1);
}

/** The forms in which a page may write it. */
export function textsOf(value: number): string[] {
  const grouped = value.toLocaleString('en-US');
  const units = [
    [1024, 'KiB'],
    [1024 ** 2, 'MiB'],
    [1024 ** 3, 'GiB'],
    [1000, 's'],
    [60_000, 'minutes'],
    [365 * 86_400, 'years'],
  ] as const;
  const inUnits = units.flatMap(([unit, name]) =>
    [String(value / unit), (value / unit).toLocaleString('en-US')].map(
      (count) => `${count} ${name}`,
    ),
  );
  const inKilobytes = `${value / 1024} KB`;
  const words: Readonly<Record<number, string>> = { 8: 'eight', 600_000: 'ten minutes' };
  return [grouped, inKilobytes, words[value] ?? grouped, ...inUnits];
}
