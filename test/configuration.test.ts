import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { publishedSchemas } from '../src/app/options/config-schema.js';
import { longOf } from '../src/app/options/option.js';
import { optionRows, serverTable } from '../src/app/options/table.js';
import { buildProgram } from '../src/cli/program.js';
import { checkSchema, type SchemaName } from '../src/cli/config/schema-check.js';
import { plainValue, readStructuredFile } from '../src/cli/config/structured-file.js';

// The pages about configuration say what the program does: its options, its variables, its schemas.

const program = await buildProgram();

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');

/** Variables for the processes that a server starts, and those that only other commands read. */
const elsewhere = ['TABULARIUM_WORKER_NUMBER', 'TABULARIUM_PAGING_SEED', 'TABULARIUM_DEV_ISSUER'];

let page = '';
let settings: readonly (readonly string[])[] = [];
let folder = '';
before(async () => {
  page = await read('docs/reference/configuration.md');
  settings = rowsAfter('## All settings');
  folder = await mkdtemp(join(tmpdir(), 'tabularium-docs-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** The cells of the first table behind a heading, without its head. */
function rowsAfter(heading: string): readonly (readonly string[])[] {
  const lines = page.slice(page.indexOf(`\n${heading}\n`) + heading.length + 2).split('\n');
  const start = lines.findIndex((line) => line.startsWith('|'));
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'));
  return lines.slice(start + 2, end).map((line) => line.split('|').map((cell) => cell.trim()));
}

/** Texts in backticks. */
function codesIn(cell: string | undefined): readonly string[] {
  return Array.from((cell ?? '').matchAll(/`([^`]+)`/g), ([, code = '']) => code);
}

function startHelp(): string {
  const start = program.commands.find((command) => command.name() === 'start');
  return start?.helpInformation() ?? '';
}

function startOptions() {
  const start = program.commands.find((command) => command.name() === 'start');
  assert.ok(start !== undefined);
  return start.options.filter(
    ({ helpGroupHeading }) => helpGroupHeading?.includes('without use') !== true,
  );
}

async function sourcesOf(directory: string): Promise<string> {
  const files = await readdir(join(root, directory), { recursive: true });
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  return (await Promise.all(sources.map((file) => read(join(directory, file))))).join('\n');
}

describe('the page about configuration', () => {
  it('has every option of start, with its variable', () => {
    for (const { long, envVar } of startOptions()) {
      const row = settings.find(([, option]) =>
        codesIn(option).some((code) => code.split(' ')[0] === long),
      );
      assert.ok(row !== undefined, `${long} needs a row in docs/reference/configuration.md`);
      if (envVar === undefined) continue;
      assert.ok(codesIn(row[2]).includes(envVar), `the row of ${long} needs ${envVar}`);
    }
  });

  it('has no option that start does not have', () => {
    const known = new Set(startOptions().flatMap(({ long, short }) => [long, short]));
    const unknown = settings
      .flatMap(([, option]) => codesIn(option))
      .map((code) => code.split(' ')[0])
      .filter((option) => !known.has(option));
    assert.deepEqual(unknown, []);
  });

  it('has every variable that the program reads', async () => {
    const inSource = new Set((await sourcesOf('src')).match(/\bTABULARIUM_[A-Z_]*[A-Z]\b/g));
    for (const name of elsewhere) inSource.delete(name);
    const variables = settings.flatMap(([, , variable]) => codesIn(variable));
    const onPage = new Set(variables.map((code) => code.replace(/=.*/, '')));
    assert.deepEqual(
      [...inSource].filter((name) => !onPage.has(name)),
      [],
    );
  });
});

describe('what is made of the table of options', () => {
  it('is as the table says: the published schemas and the tables of the pages', () => {
    const script = join(root, 'scripts/write-options.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--check'], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(`${stdout}${stderr}`, '');
    assert.equal(status, 0);
  });

  it('names each option: help, schema and pages', async () => {
    const schema = await read('schemas/config.schema.json');
    const programPage = await read('docs/reference/create-server.md');
    const commandPage = await read('docs/reference/command-line.md');
    const help = startHelp();
    for (const [name, { flags = [], file }] of optionRows()) {
      for (const flag of flags) {
        assert.ok(help.includes(`  ${flag.spelling}`), `the help needs ${flag.spelling}`);
        assert.ok(commandPage.includes(longOf(flag)), `the page of commands needs ${longOf(flag)}`);
      }
      const member = file?.member.split('.').at(-1);
      if (member !== undefined) assert.ok(schema.includes(`"${member}": {`), member);
      const isOfProgram = Object.hasOwn(serverTable, name);
      assert.equal(programPage.includes(`| \`${name}\``), isOfProgram, name);
    }
  });

  it('is made of well-formed schemas', () => {
    for (const schema of Object.values(publishedSchemas)) {
      const ajv = new Ajv2020({ strictTypes: false });
      assert.equal(ajv.validateSchema(schema()), true, JSON.stringify(ajv.errors));
      ajv.compile(schema());
    }
  });
});

describe('the examples of the pages', () => {
  const pages: readonly (readonly [file: string, schema: SchemaName])[] = [
    ['configuration', 'config'],
    ['seed', 'seed'],
  ];
  for (const [file, schema] of pages) {
    it(`are ${schema} files that are accepted`, async () => {
      const text = await read(`docs/reference/${file}.md`);
      const blocks = Array.from(text.matchAll(/```yaml\n([^]*?)```/g), ([, yaml = '']) => yaml);
      assert.ok(blocks.length > 0);
      for (const block of blocks) {
        const name = join(folder, `${file}.yaml`);
        await writeFile(name, block);
        const structured = await readStructuredFile(name, 1_000_000);
        checkSchema(schema, structured, plainValue(structured));
      }
    });
  }
});
