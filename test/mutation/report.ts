import { readFileSync, writeFileSync } from 'node:fs';
import { layers } from './mutants.js';
import type { Trial } from './trial.js';

/** The results of a run, as stored in a file. */
export interface MutationReport {
  readonly seed: number;
  /** Without those that the compiler rejected. */
  readonly trials: readonly Trial[];
  /** Mutants of an earlier report whose line is no longer in the source. */
  readonly gone: number;
}

export function writeReport(file: string, report: MutationReport): void {
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}

export function readReport(file: string): MutationReport {
  return JSON.parse(readFileSync(file, 'utf8')) as MutationReport;
}

/**
 * The share of caught mutants for each layer, and each mutant that survived, with the tests that
 * ran.
 */
export function showReport({ trials, gone }: MutationReport): string {
  const survivors = trials.filter(({ outcome }) => outcome === 'survived');
  return [
    ...layers.map((layer) => shareOf(layer, ofLayer(trials, layer))),
    shareOf('all', trials),
    ...(gone === 0 ? [] : [`${gone} mutants of the earlier report are no longer in the source`]),
    '',
    ...survivors.map(showSurvivor),
  ].join('\n');
}

/** One line of progress. */
export function showTrial({ mutant, outcome, by, ran, reaching }: Trial): string {
  const { file, line, operator } = mutant;
  const tests = outcome === 'caught' ? `by ${by}` : `${ran.length} of ${reaching} test files`;
  return `${outcome} ${file}:${line} ${operator}, ${tests}`;
}

function ofLayer(trials: readonly Trial[], layer: string): readonly Trial[] {
  return trials.filter(({ mutant }) => mutant.file.startsWith(`src/${layer}/`));
}

function shareOf(name: string, trials: readonly Trial[]): string {
  const caught = trials.filter(({ outcome }) => outcome === 'caught').length;
  const share = trials.length === 0 ? '' : ` (${((100 * caught) / trials.length).toFixed(1)} %)`;
  return `${name.padEnd(10)} ${caught} of ${trials.length} caught${share}`;
}

function showSurvivor({ mutant, ran, reaching }: Trial): string {
  const { file, line, operator, before, text, lineText } = mutant;
  return [
    `${file}:${line} ${operator}`,
    `  line   ${lineText}`,
    `  before ${before}`,
    `  after  ${text}`,
    `  ran ${ran.length} of ${reaching} test files: ${ran.join(' ')}`,
    '',
  ].join('\n');
}
