import { publishedSchema, type JsonSchema } from '../../base/shape/json-schema.js';
import { member, shapeOf, text, type Shape, type ShapeMember } from '../../base/shape/shape.js';
import { seedShape } from '../seed/seed-shape.js';
import type { FileMember, Option } from './option.js';
import { optionRows } from './table.js';

const draft = 'https://json-schema.org/draft/2020-12/schema';

/** The sections of the configuration file. */
const subjects: Readonly<Record<string, string>> = {
  tables: 'The table service.',
  queues: 'The queue service.',
  blobs: 'The blob service.',
};

interface FileRow {
  readonly row: Option;
  readonly file: FileMember;
}

/** The shape of the configuration file: all options that it can have. */
export const configShape: Shape = objectOf([
  ['$schema', schemaMember('config')],
  ...membersOf(fileRows(), ''),
]);

/** The published schemas, by file name. */
export const publishedSchemas = {
  config: (): JsonSchema =>
    publishedSchema(configShape, {
      $schema: draft,
      $id: 'urn:tabularium:config',
      title: 'Tabularium configuration',
      description:
        'What `tabularium start --config FILE` reads, as YAML or JSON. The command line goes before ' +
        'environment variables, these go before this file. Relative paths start at the folder of ' +
        'this file.',
    }),
  seed: (): JsonSchema =>
    publishedSchema(seedShape, {
      $schema: draft,
      $id: 'urn:tabularium:seed',
      title: 'Tabularium seed',
      description:
        'What `tabularium start --init FILE` makes before the server listens, as YAML or JSON. ' +
        'Tables and queues beside `accounts` belong to the first account of the server.',
    }),
} as const;

function fileRows(): readonly FileRow[] {
  return optionRows().flatMap(([, row]) =>
    row.file === undefined ? [] : [{ row, file: row.file }],
  );
}

function schemaMember(name: string): ShapeMember {
  return member(
    text({ charactersMin: 0 }),
    'Where an editor finds this schema. The server does not look at it.',
    `./node_modules/tabularium/schemas/${name}.schema.json`,
  );
}

/** The members with a prefix such as `tables.`, in the order of the table. */
function membersOf(rows: readonly FileRow[], prefix: string): (readonly [string, ShapeMember])[] {
  const here = rows.filter(({ file }) => file.member.startsWith(prefix));
  const names = new Set(here.map(({ file }) => nameBehind(file, prefix)));
  return [...names].map((name) => {
    const own = here.find(({ file }) => file.member === `${prefix}${name}`);
    if (own !== undefined) return [name, fileMember(own)];
    const members = membersOf(here, `${prefix}${name}.`);
    return [name, member(objectOf(members), subjects[name] ?? '', exampleOf(members))];
  });
}

function nameBehind({ member }: FileMember, prefix: string): string {
  return member.slice(prefix.length).split('.')[0] ?? '';
}

function exampleOf(members: readonly (readonly [string, ShapeMember])[]): JsonSchema {
  return Object.fromEntries(members.slice(0, 1).map(([name, { examples }]) => [name, examples[0]]));
}

function fileMember({ row, file }: FileRow): ShapeMember {
  return member(file.shape ?? row.shape, descriptionOf(row, file), file.example);
}

/** The description of an option: its meaning, its default, and when a change takes effect. */
function descriptionOf(row: Option, file: FileMember): string {
  const defaultValue = defaultOf(row);
  const meaning = file.help ?? row.help;
  return [
    `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
    ...(defaultValue === undefined ? [] : [`Default: ${defaultValue}.`]),
    ...(row.reloads === true ? ['Changes hold without a restart.'] : []),
  ].join(' ');
}

/** The default of an option in `tabularium start`, for people. */
export function defaultOf({
  startDefault,
  defaultValue,
  defaultWords,
}: Option): string | undefined {
  const value = startDefault ?? defaultValue;
  return value === undefined ? defaultWords : String(value);
}

function objectOf(members: readonly (readonly [string, ShapeMember])[]): Shape {
  return shapeOf({
    kind: 'object',
    members: Object.fromEntries(members),
    required: [],
    others: undefined,
    isSingle: false,
    like: undefined,
  });
}
