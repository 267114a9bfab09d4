import { median, row, shortNumber } from '../figures.js';
import { goals, type ComparedKind } from './kinds.js';

/** Neighbouring turns of the engine and of the driver. */
export interface Turn {
  readonly kind: ComparedKind;
  readonly engine: number;
  readonly driver: number;
}

const titles: Readonly<Record<ComparedKind, string>> = {
  insert: 'conditional inserts, batches of 64',
  get: 'point reads',
  range: 'ranges of 100',
};

/** A row a kind: median rates of the turns, and the median of their ratios. */
export function comparison(turns: readonly Turn[]): string {
  const kinds = new Set(turns.map(({ kind }) => kind));
  const rows = [...kinds].map((kind) => {
    const own = turns.filter((turn) => turn.kind === kind);
    const rates = [own.map(({ engine }) => engine), own.map(({ driver }) => driver)];
    const ratio = median(own.map(({ engine, driver }) => engine / driver));
    const numbers = [...rates.map(median), ratio].map(shortNumber);
    return row([titles[kind], ...numbers, `${goals[kind]}`]);
  });
  const head = ['kind', 'engine /s', 'driver /s', 'of driver', 'goal'];
  return [row(head), row(['---', ...head.slice(1).map(() => '---:')]), ...rows].join('\n');
}
