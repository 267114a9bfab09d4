import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Command, Option } from 'commander';
import { longOf } from '../app/options/option.js';
import { optionRows } from '../app/options/table.js';
import { buildProgram } from './program.js';

const page = readFileSync(
  new URL('../../../docs/reference/command-line.md', import.meta.url),
  'utf8',
);

/** The commands without subcommands, by their full names. */
function leaves(command: Command, name = command.name()): [string, Command][] {
  if (command.commands.length === 0) return [[name, command]];
  return command.commands.flatMap((child) => leaves(child, `${name} ${child.name()}`));
}

function sectionOf(name: string): string {
  const start = page.indexOf(`\n## ${name}\n`);
  assert.notEqual(start, -1, `no section '## ${name}'`);
  const end = page.indexOf('\n## ', start + 1);
  return page.slice(start, end === -1 ? undefined : end);
}

/** How the page writes an option: each of its names, the last with the argument. */
function written({ short, long, flags }: Option): string[] {
  const argument = / [<[].+[>\]]$/.exec(flags)?.[0] ?? '';
  return [...(short === undefined ? [] : [short]), `${long}${argument}`];
}

/** A row of a table of options. */
interface PageRow {
  /** The texts in the first cell that are marked as code. */
  readonly names: readonly string[];
  /** Undefined where the table has no such column. */
  readonly defaultValue: string | undefined;
  readonly rest: string;
}

const codesIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** The rows of all tables of a section whose first column is `option`. */
function rowsOf(section: string): PageRow[] {
  const tables = section.split(/\n(?!\|)/).map((part) => part.split('\n').filter(isRow));
  return tables.flatMap(([head = '', , ...rows]) => {
    const columns = cellsOf(head);
    if (columns[0] !== 'option') return [];
    const at = columns.indexOf('default');
    return rows.map(cellsOf).map((cells) => ({
      names: codesIn(cells[0] ?? ''),
      defaultValue: at < 0 ? undefined : cells[at],
      rest: cells.filter((_, index) => index !== 0 && index !== at).join(' '),
    }));
  });
}

const isRow = (line: string): boolean => line.startsWith('|');
const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

/** The variables that a row declares equivalent to its option. */
const variablesIn = ({ rest }: PageRow): string[] =>
  [...(rest.split('Environment: ')[1] ?? '').matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g)].map(
    ([name]) => name,
  );

/** The default value in a row: in its own column, or in the meaning. */
function defaultIn({ defaultValue, rest }: PageRow): string | undefined {
  if (defaultValue === undefined) return /\. Default `([^`]+)`/.exec(rest)?.[1];
  if (defaultValue === 'see meaning') return /by default `([^`]+)`/.exec(rest)?.[1];
  return /^(?:`([^`]+)`|(\d+))/
    .exec(defaultValue)
    ?.slice(1)
    .find((found) => found !== undefined);
}

/** The facts about a flag of `start` in the table of options, by the flag. */
const startFacts = new Map(
  optionRows().flatMap(([, row]) =>
    (row.flags ?? []).map((flag) => [
      longOf(flag),
      {
        defaultWords: flag.part === undefined ? row.defaultWords : undefined,
        otherVariables: codesIn(flag.otherVariables ?? ''),
      },
    ]),
  ),
);

/** The default of an option; where only its description tells one, that. */
function defaultOf(option: Option): string | undefined {
  const { defaultValue, defaultValueDescription, description } = option;
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  if (typeof defaultValue === 'string' || typeof defaultValue === 'number') {
    return String(defaultValue);
  }
  return /\(default: ([^)]+)\)$/.exec(description)?.[1];
}

function variablesOf(option: Option, name: string): readonly string[] {
  const own = option.envVar ?? / \(env: (\w+)=true\)$/.exec(option.description)?.[1];
  const { otherVariables = [] } = startFacts.get(longName(option)) ?? {};
  return [
    ...(own === undefined ? [] : [own]),
    ...(name === 'tabularium start' ? otherVariables : []),
  ];
}

const longName = ({ long }: Option): string => long ?? '';

/** Throws unless the row has exactly the default of an option, or one that its words have. */
function defaultHolds(option: Option, row: PageRow, name: string): void {
  const [written, defaultValue] = [defaultIn(row), defaultOf(option)];
  const words = name === 'tabularium start' ? startFacts.get(longName(option))?.defaultWords : '';
  const sentence = defaultValue?.includes(' ') === true ? defaultValue : words;
  if (defaultValue !== undefined && defaultValue !== sentence) {
    assert.equal(written, defaultValue, `the default of ${option.flags}`);
  } else {
    assert.ok(
      written === undefined || sentence?.includes(written),
      `${option.flags} is not ${written}`,
    );
  }
}

/** The same of its variables; that of connections stands in a section of its own. */
function variablesHold(option: Option, row: PageRow, name: string): void {
  const variables = variablesOf(option, name);
  const isOfConnections = row.rest.includes('[Connection](#connection)');
  const told = isOfConnections
    ? codesIn(sectionOf('Connection')).filter((code) => /^[A-Z]+(?:_[A-Z]+)+$/.test(code))
    : variablesIn(row);
  assert.deepEqual(told, variables, `the variables of ${option.flags}`);
}

/** The names of options, which rows of others may have. */
const names = new Set(optionRows().map(([name]) => name));

/** The same of its values, which the page has in small letters, as code. */
function valuesHold({ argChoices, flags }: Option, { rest }: PageRow): void {
  if (argChoices === undefined) return;
  const words = codesIn(rest)
    .filter((code) => /^[a-z][a-z-]*$/.test(code))
    .filter((code) => argChoices.includes(code) || !names.has(code));
  assert.deepEqual([...new Set(words)].toSorted(), argChoices.toSorted(), `the values of ${flags}`);
}

const program = await buildProgram();

void describe('docs/reference/command-line.md', () => {
  const commands = leaves(program);

  void it('has a section for every command', () => {
    assert.deepEqual(
      commands.map(([name]) => name),
      [...page.matchAll(/^## (tabularium .+)$/gm)].map((match) => match[1]),
    );
  });

  for (const [name, command] of commands) {
    const section = sectionOf(name);
    const rows = rowsOf(section);
    const rowOf = (option: Option): PageRow | undefined =>
      rows.find(({ names }) => names.includes(written(option).at(-1) ?? ''));

    void it(`names every option of ${name} as it is written, and no other`, () => {
      assert.deepEqual(
        rows.flatMap(({ names }) => names).toSorted(),
        command.options.flatMap(written).toSorted(),
      );
      const known = new Set(command.options.map(({ long }) => long));
      const flags = [...section.matchAll(/(?<![\w-])--[A-Za-z][A-Za-z0-9-]*/g)].map(
        ([flag]) => flag,
      );
      assert.deepEqual(
        flags.filter((flag) => !known.has(flag)),
        [],
      );
    });

    void it(`tells defaults, variables and values of ${name} as its options have them`, () => {
      for (const option of command.options) {
        const row = rowOf(option);
        assert.ok(row !== undefined, option.flags);
        defaultHolds(option, row, name);
        variablesHold(option, row, name);
        valuesHold(option, row);
      }
    });

    void it(`explains every option of ${name} in its help`, () => {
      const help = command.helpInformation();
      for (const { flags, description } of command.options) {
        assert.ok(help.includes(flags), flags);
        assert.notEqual(description, '', `${flags} has no description`);
      }
    });
  }
});
