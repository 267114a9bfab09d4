import { mistakesIn } from '../../base/shape/check.js';
import { unknownMember, within, type Mistake } from '../../base/shape/mistake.js';
import type { Shape } from '../../base/shape/shape.js';
import { checkSeedShape } from '../seed/seed-shape.js';
import { ServerOptionsError } from './server-options-error.js';
import { serverTable, type ServerChanges, type ServerOptions } from './table.js';
import type { Option } from './option.js';

const rows: Readonly<Record<string, Option>> = serverTable;
const optionNames = Object.keys(rows);
/** Options that a running server can change. */
export const reloadedNames = optionNames.filter((name) => rows[name]?.reloads === true);

/**
 * Refuses unknown options and invalid values, which an untyped program can pass and which would
 * otherwise be ignored. Throws `ServerOptionsError`, and `SeedError` for `init`, with all mistakes.
 */
export function checkOptions(options: unknown): asserts options is ServerOptions {
  checkGiven(options, optionNames, 'createServer({…})');
}

/** As `checkOptions`, for changes of a running server. */
export function checkChanges(changes: unknown): asserts changes is ServerChanges {
  checkGiven(changes, reloadedNames, 'reload({…})');
}

function checkGiven(given: unknown, known: readonly string[], call: string): void {
  const mistakes = mistakesOfOptions(given, known);
  if (mistakes.length > 0) throw new ServerOptionsError(mistakes, { call });
  if (typeof given === 'object' && given !== null && 'init' in given) checkSeedShape(given.init);
}

function mistakesOfOptions(given: unknown, known: readonly string[]): readonly Mistake[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return [{ path: [], problem: 'must be given an object with options', unknownName: undefined }];
  }
  return Object.entries(given).flatMap(([name, value]): readonly Mistake[] => {
    if (!known.includes(name)) return [unknownMember(name, known)];
    if (value === undefined || name === 'init') return [];
    return mistakesOf(rows[name]?.shape, value, name);
  });
}

function mistakesOf(shape: Shape | undefined, value: unknown, name: string): readonly Mistake[] {
  if (shape === undefined) return [];
  // Each option has its own shape, so that only those given are compiled.
  const { shown } = mistakesIn(shape, value);
  return shown.map((mistake) => within(name, mistake));
}
