import { expectedWords } from '../../src/base/shape/words.js';
import type { Shape } from '../../src/base/shape/shape.js';
import { defaultOf } from '../../src/app/options/config-schema.js';
import { longOf, type Flag, type Option } from '../../src/app/options/option.js';
import { optionRows, serverTable } from '../../src/app/options/table.js';

/** Generated tables for docs/reference, in Markdown, by the name of their marker. */
export const optionPages = {
  'docs/reference/configuration.md': () => ({ settings: settingsTable() }),
  'docs/reference/create-server.md': () => ({ options: programTable() }),
} as const;

type Row = readonly string[];

function table(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row): string => `| ${cells.map(cellText).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function cellText(text: string): string {
  return text.replaceAll('|', '\\|');
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Each part of an option that can be set alone, with what sets it. */
function settingsTable(): string {
  const rows = optionRows().flatMap(([, row]) => linesOf(row).map((line) => settingRow(row, line)));
  return table(['option', 'variable', 'in the file', 'default'], rows);
}

interface SettingLine {
  readonly part: string | undefined;
  readonly flags: readonly Flag[];
}

/** Options that only programs have are left out. */
function linesOf({ flags = [], file }: Option): readonly SettingLine[] {
  const parts = new Set(flags.map(({ part }) => part));
  if (file !== undefined && ![...parts].some((part) => part === undefined || isOnly(part, flags))) {
    parts.add(undefined);
  }
  return [...parts].map((part) => ({ part, flags: flags.filter((flag) => flag.part === part) }));
}

/** True when each flag of an option sets the whole part. */
function isOnly(part: string, flags: readonly Flag[]): boolean {
  return flags.some((flag) => flag.part === part && flag.completes !== true);
}

function settingRow(row: Option, { part, flags }: SettingLine): Row {
  const variables = flags.flatMap(variablesOf);
  const place =
    row.file === undefined ? [] : [row.file.member, ...(part === undefined ? [] : [part])];
  const isFirst = part === undefined || flags.some((flag) => flag === row.flags?.[0]);
  return [
    flags.map((flag) => spellings(flag)).join(', '),
    variables.join(', '),
    place.length === 0 ? '' : code(place.join('.')),
    isFirst ? defaultCell(row, defaultOf(row)) : '',
  ];
}

function spellings({ spelling }: Flag): string {
  return spelling.split(', ').map(code).join(', ');
}

function variablesOf(flag: Flag): readonly string[] {
  const { variable, otherVariables, form } = flag;
  const own = variable === undefined ? [] : [code(form === 'on' ? `${variable}=true` : variable)];
  return [...own, ...(otherVariables === undefined ? [] : [otherVariables])];
}

function defaultCell(
  { defaultValue, startDefault, page }: Option,
  words: string | undefined,
): string {
  const isValue = defaultValue !== undefined || startDefault !== undefined;
  if (words === undefined) return page === undefined ? '' : `[see there](${page})`;
  return isValue ? code(words) : words;
}

/** The options of `createServer`, and where else each can be set. */
function programTable(): string {
  const rows = Object.entries<Option>(serverTable).map(([name, row]) => [
    code(name),
    typeWords(row.shape),
    defaultCell(row, row.defaultValue === undefined ? row.defaultWords : String(row.defaultValue)),
    `${row.help}${row.page === undefined ? '' : ` ([more](${row.page}))`}`,
    (row.flags ?? [])
      .filter(({ isOfAzurite }) => !isOfAzurite)
      .map((flag) => code(longOf(flag)))
      .join(', '),
    row.reloads === true ? 'yes' : '',
  ]);
  return table(['option', 'value', 'default', 'meaning', 'command line', 'can change'], rows);
}

/** Long lists of names are left to the page of their option. */
function typeWords(shape: Shape): string {
  if (shape.kind === 'object' || shape.kind === 'record') return 'an object';
  if (shape.kind === 'either') return shape.shapes.map(typeWords).join(', or ');
  if (shape.kind === 'list') return 'a list';
  return expectedWords(shape);
}
