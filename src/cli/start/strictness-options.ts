import { randomInt } from 'node:crypto';
import { InvalidArgumentError, Option, type Help } from 'commander';
import type { LenientItem, StrictnessOptions } from '../../app/index.js';
import { leniencyOf, lenientItems, UnknownLenientItemError } from '../../http/pipeline/leniency.js';
import { tableDeleteDelayMsMax } from '../../services/tables/limits.js';

export interface StrictnessFlags {
  readonly lenient?: boolean | readonly LenientItem[];
  readonly strictApiVersions?: boolean;
  /** In milliseconds. */
  readonly simulateTableDeleteDelay?: number;
  readonly pagingTestMode?: boolean | string;
}

const group = 'How exactly to do as the cloud service does:';

export function strictnessOptions(): Option[] {
  const options = [
    new Option('--no-clock-check', 'accept requests whose date is more than 15 minutes off'),
    new Option(
      '--lenient [items]',
      'accept what the cloud service refuses: all that is listed below, or items separated by commas',
    ).argParser(parseLenient),
    new Option('--strict-api-versions', 'refuse versions that the cloud service does not have'),
    new Option(
      '--simulate-table-delete-delay <time>',
      'keep the name of a deleted table taken, for 40s as the cloud service does, or for 500ms or 1m',
    ).argParser(parseDelayMs),
    new Option(
      '--paging-test-mode [seed]',
      'answer queries and lists in pages of every legal shape; a seed repeats them',
    ),
  ];
  return options.map((option) => option.helpGroup(group));
}

/** The items of `--lenient`, for people; `helper` knows how wide the help is. */
export function lenientItemsText(helper: Help): string {
  const items = Object.entries(lenientItems);
  const width = Math.max(...items.map(([item]) => item.length));
  const lines = items.map(([item, meaning]) => helper.formatItem(item, width, meaning, helper));
  return ['What --lenient accepts:', ...lines].join('\n');
}

export function strictnessSettings(flags: StrictnessFlags): StrictnessOptions {
  const { lenient, strictApiVersions, simulateTableDeleteDelay, pagingTestMode } = flags;
  return {
    ...(lenient === undefined ? {} : { lenient }),
    ...(strictApiVersions === undefined ? {} : { strictApiVersions }),
    ...(simulateTableDeleteDelay === undefined
      ? {}
      : { tableDeleteDelayMs: simulateTableDeleteDelay }),
    ...(pagingTestMode === undefined || pagingTestMode === false
      ? {}
      : { pagingTestMode: { seed: pagingTestMode === true ? chosenSeed() : pagingTestMode } }),
  };
}

/** What differs from the cloud service, as lines of the banner. */
export function strictnessLines(options: StrictnessOptions): string[] {
  return Object.entries(strictnessFields(options)).map(
    ([name, value]) => `  ${(labels[name] ?? name).padEnd(12)}${value}`,
  );
}

/** The same for the log; nothing where all is as usual. */
export function strictnessFields(options: StrictnessOptions): Record<string, string> {
  const { tableDeleteDelayMs = 0, pagingTestMode = false } = options;
  const { items } = leniencyOf(options.lenient ?? false);
  return {
    ...(items.length === 0 ? {} : { lenient: items.join(', ') }),
    ...(options.strictApiVersions === true ? { apiVersions: 'only those of the cloud' } : {}),
    ...(tableDeleteDelayMs === 0
      ? {}
      : { deletedTables: `names stay taken for ${tableDeleteDelayMs} ms` }),
    ...(typeof pagingTestMode === 'object'
      ? { paging: `test mode, seed ${pagingTestMode.seed}` }
      : {}),
  };
}

const labels: Readonly<Record<string, string>> = {
  lenient: 'Lenient',
  apiVersions: 'Versions',
  deletedTables: 'Deleted',
  paging: 'Paging',
};

function parseLenient(text: string): readonly LenientItem[] {
  const names = text.split(',').map((name) => name.trim());
  try {
    return leniencyOf(names.filter((name) => name !== '')).items;
  } catch (error) {
    if (!(error instanceof UnknownLenientItemError)) throw error;
    throw new InvalidArgumentError(`${capitalised(error.message)}.`);
  }
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, '': 1000, s: 1000, m: 60_000 };

/** Reads `500ms`, `40s`, `40` or `1m` as milliseconds. */
export function parseDelayMs(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})(ms|s|m)?$/.exec(text) ?? [];
  const delayMs = Number(digits) * (unitMs[unit] ?? NaN);
  if (digits !== '' && delayMs <= tableDeleteDelayMsMax) return delayMs;
  throw new InvalidArgumentError(
    `It must be at most ${tableDeleteDelayMsMax / 60_000}m, written like 40s, 1m or 500ms.`,
  );
}

const seedVariable = 'TABULARIUM_PAGING_SEED';

/** One for this process and for its workers, which inherit the variable. */
function chosenSeed(): string {
  return (process.env[seedVariable] ??= String(randomInt(1_000_000)));
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
