import { randomInt } from 'node:crypto';
import type { Help } from 'commander';
import type { StrictnessOptions } from '../../app/index.js';
import { requestRulesOf, lenientItems } from '../../http/operations/request-rules.js';
import { deleteDelayMsMax } from '../../services/containers/name-reservations.js';

/** The help text about the items of `--lenient`; `helper` knows the width. */
export function lenientItemsText(helper: Help): string {
  const items = Object.entries(lenientItems);
  const width = Math.max(...items.map(([item]) => item.length));
  const lines = items.map(([item, meaning]) => helper.formatItem(item, width, meaning, helper));
  return ['What --lenient accepts:', ...lines].join('\n');
}

/** The seed of the paging test mode; undefined when it is off. */
export function pagingValue(mode: unknown): unknown {
  if (mode === false) return undefined;
  if (mode === true) return { seed: chosenSeed() };
  return typeof mode === 'string' ? { seed: mode } : mode;
}

/** The deviations from the cloud service, as lines of the banner. */
export function strictnessLines(options: StrictnessOptions): string[] {
  return Object.entries(strictnessFields(options)).map(
    ([name, value]) => `  ${(labels[name] ?? name).padEnd(12)}${value}`,
  );
}

/** The deviations from the cloud service, for the log; empty without deviations. */
export function strictnessFields(options: StrictnessOptions): Record<string, string> {
  const { tableDeleteDelayMs = 0, containerDeleteDelayMs = 0, pagingTestMode = false } = options;
  const { items } = requestRulesOf(options.lenient ?? false);
  return {
    ...(items.length === 0 ? {} : { lenient: items.join(', ') }),
    ...(options.strictApiVersions === true ? { apiVersions: 'only those of the cloud' } : {}),
    ...(tableDeleteDelayMs === 0
      ? {}
      : { deletedTables: `names of tables stay taken for ${tableDeleteDelayMs} ms` }),
    ...(containerDeleteDelayMs === 0
      ? {}
      : { deletedContainers: `names of containers stay taken for ${containerDeleteDelayMs} ms` }),
    ...(typeof pagingTestMode === 'object'
      ? { paging: `test mode, seed ${pagingTestMode.seed}` }
      : {}),
  };
}

const labels: Readonly<Record<string, string>> = {
  lenient: 'Lenient',
  apiVersions: 'Versions',
  deletedTables: 'Deleted',
  deletedContainers: 'Deleted',
  paging: 'Paging',
};

const unitMs: Readonly<Record<string, number>> = { ms: 1, '': 1000, s: 1000, m: 60_000 };

/** `500ms`, `40s`, `40` or `1m` in milliseconds; undefined for an invalid or too long time. */
export function delayMsOf(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,9})(ms|s|m)?$/.exec(text) ?? [];
  const delayMs = Number(digits) * (unitMs[unit] ?? NaN);
  return digits !== '' && delayMs <= deleteDelayMsMax ? delayMs : undefined;
}

const seedVariable = 'TABULARIUM_PAGING_SEED';

/** The seed of this process and its workers, which inherit the variable. */
function chosenSeed(): string {
  return (process.env[seedVariable] ??= String(randomInt(1_000_000)));
}
