import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createServer, SeedError, ServerOptionsError } from '../src/app/index.js';
import { configShape, publishedSchemas } from '../src/app/options/config-schema.js';
import { longOf, type Flag, type Option } from '../src/app/options/option.js';
import { optionRows, optionTable, processTable, serverTable } from '../src/app/options/table.js';
import { mistakesIn } from '../src/base/shape/check.js';
import type { Shape } from '../src/base/shape/shape.js';
import { loadConfig } from '../src/cli/config/config-file.js';
import { isOption } from '../src/cli/start/option-values.js';
import { startSettings } from '../src/cli/start/settings.js';
import { runCli } from './support/cli-process.js';
import { givenFlags } from './support/start-settings.js';
import { costly } from './support/run-length.js';

// Every option in every form: an invalid value is refused everywhere, with the same text after the
// name of the option, and before anything has started.

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-options-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const serverRows = Object.entries<Option>(serverTable);
const isOfProcess = (name: string): boolean => Object.hasOwn(processTable, name);

/** Invalid values of a shape: of another type, out of range, with an additional member. */
function* badValues(shape: Shape): Generator {
  if (shape.kind !== 'list') yield [[]];
  switch (shape.kind) {
    case 'number':
      yield 'many';
      if (Number.isFinite(shape.min)) yield shape.min - 1;
      if (shape.max < Number.MAX_SAFE_INTEGER) yield shape.max + 1;
      if (shape.isWhole) yield shape.min + 0.5;
      return;
    case 'choice':
      yield `${shape.values[0]}x`;
      yield 7;
      return;
    case 'object':
      yield 7;
      for (const name of Object.keys(shape.members).slice(0, 1)) yield { [`${name}X`]: 1 };
      return;
    case 'either':
      for (const part of shape.shapes) if (part.kind === 'object') yield* badValues(part);
      return;
    default:
      if (shape.kind !== 'instance' || shape.of !== 'object') yield { a: 1 };
  }
}

interface Refusal {
  readonly name: string;
  readonly message: string;
  readonly problems: readonly string[];
}

async function refusalOf(start: () => unknown): Promise<Refusal> {
  try {
    await start();
  } catch (error) {
    assert.ok(error instanceof Error);
    const { name, message } = error;
    if (error instanceof ServerOptionsError) {
      return { name, message, problems: error.mistakes.map(({ problem }) => problem) };
    }
    const seeds = error instanceof SeedError ? [error, ...error.others] : [];
    return { name, message, problems: seeds.map(({ reason }) => reason) };
  }
  throw new Error('it was accepted');
}

const place = () => join(folder, 'never-made');

/** The error of `createServer` for a value of an option. */
async function programRefusal(name: string, value: unknown): Promise<Refusal> {
  const where = name === 'location' || name === 'inMemory' ? {} : { location: place() };
  const refusal = await refusalOf(() => createServer({ ...where, [name]: value }));
  assert.equal(refusal.name, name === 'init' ? 'SeedError' : 'ServerOptionsError');
  assert.ok(refusal.problems.length > 0, refusal.message);
  assert.equal(existsSync(place()), false, 'nothing was begun');
  return refusal;
}

async function fileRefusal(member: string, value: unknown): Promise<Refusal> {
  const file = join(folder, 'config.json');
  const names = member.split('.');
  const config = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  await writeFile(file, JSON.stringify(config));
  const refusal = await refusalOf(() => loadConfig(file, {}));
  assert.equal(refusal.name, 'UsageError');
  return { ...refusal, message: refusal.message.replaceAll(`${folder}/`, '') };
}

function flagRefusal(words: readonly string[]): Promise<Refusal> {
  const args = words.includes('--location') ? words : ['--location', place(), ...words];
  return refusalOf(() => startSettings(givenFlags(...args), { config: {} }));
}

async function variableRefusal(variable: string, text: string): Promise<Refusal> {
  process.env[variable] = text;
  try {
    return await flagRefusal([]);
  } finally {
    delete process.env[variable];
  }
}

/** A value of a flag as a word of the command line; undefined when it has none. */
function wordOf({ form }: Flag, value: unknown): string | undefined {
  if (form === 'text') return typeof value === 'string' ? value : undefined;
  if (form === 'number') return isScalar(value) ? String(value) : undefined;
  const isJson = form === 'json' || form === 'texts of json';
  return isJson && typeof value === 'object' ? JSON.stringify(value) : undefined;
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

describe('every option', () => {
  it('has the rows that a table of options must have', () => {
    assert.ok(serverRows.length >= 30);
    for (const [name, row] of optionRows()) {
      assert.ok(isOption(name));
      const words = [row.help, ...(row.flags ?? []).map(({ help = row.help }) => help)];
      for (const help of words) assert.match(help, /^[^A-Z.][^]{7,}[^.]$/, name);
      const has = [row.defaultValue, row.startDefault, row.defaultWords, row.page];
      assert.ok(
        has.some((each) => each !== undefined),
        `${name} needs a default`,
      );
      assert.ok(!isOfProcess(name) || (row.flags ?? []).length > 0, `${name} cannot be said`);
    }
    const longs = optionRows().flatMap(([, { flags = [] }]) => flags.map(longOf));
    assert.equal(new Set(longs).size, longs.length, 'no flag is there twice');
  });

  for (const [name, row] of serverRows) {
    it(`is refused in a program, the file and flags alike: ${name}`, async () => {
      for (const value of badValues(row.shape)) {
        const { message, problems } = await programRefusal(name, value);
        if (name !== 'init') assert.ok(message.startsWith(name), message);
        const [problem = ''] = problems;
        if (row.file !== undefined) {
          const said = await fileRefusal(row.file.member, value);
          const { member, shape } = row.file;
          assert.match(said.message, /^config\.json:1:\d+: /);
          assert.ok(said.message.includes(`: ${member}`), said.message);
          const [sentence = ''] = problem.split(';');
          if (shape === undefined) assert.ok(said.message.includes(sentence), said.message);
        }
        for (const flag of row.flags ?? []) await refusedByFlag(flag, value, problem);
      }
    });
  }

  async function refusedByFlag(flag: Flag, value: unknown, problem: string): Promise<void> {
    const word = wordOf(flag, value);
    const isSame = flag.shape === undefined && flag.part === undefined && flag.isOfAzurite !== true;
    if (word === undefined || !isSame || problem.startsWith('must be a text')) return;
    const long = longOf(flag);
    const onLine = await flagRefusal([long, word]);
    assert.equal(onLine.name, 'UsageError');
    assert.ok(onLine.message.startsWith(long), onLine.message);
    const isList = flag.form === 'texts of json';
    if (!isList) assert.ok(onLine.message.includes(problem), `${onLine.message} | ${problem}`);
    if (flag.variable === undefined) return;
    const inVariable = await variableRefusal(flag.variable, word);
    assert.equal(inVariable.message, onLine.message.replaceAll(long, flag.variable));
  }

  for (const [name, { shape, flags = [], file }] of Object.entries<Option>(processTable)) {
    it(`is refused by flags and the file alike: ${name}`, async () => {
      for (const value of badValues(shape)) {
        const [flag] = flags;
        const word = flag && shape.kind !== 'text' ? wordOf(flag, value) : undefined;
        const said = word && flag ? await flagRefusal([longOf(flag), word]) : undefined;
        if (file === undefined) continue;
        const inFile = await fileRefusal(file.member, value);
        assert.ok(inFile.message.includes(`: ${file.member} must be`), inFile.message);
        if (said === undefined || flag === undefined) continue;
        const [, sentence = ''] = inFile.message.split(`: ${file.member} `);
        assert.equal(said.message, `${longOf(flag)} ${sentence}`);
      }
    });
  }

  it('has neighbours that are refused with its name, in a program and in the file', async () => {
    for (const [name] of serverRows) {
      const { message } = await refusalOf(() =>
        createServer({ location: place(), [`${name}X`]: 1 }),
      );
      assert.match(message, new RegExp(`has no member '${name}X'; .*Did you mean '${name}'\\?$`));
      assert.equal(existsSync(place()), false);
    }
    for (const { file } of Object.values(optionTable)) {
      if (file === undefined) continue;
      const { message } = await fileRefusal(`${file.member}X`, 1);
      const last = file.member.split('.').at(-1);
      assert.match(message, new RegExp(`has no member '${last}X'; .*Did you mean '${last}'\\?$`));
    }
  });

  it(
    'is refused with all others that are wrong, and the process ends with 2',
    costly(),
    async () => {
      const file = join(folder, 'config.yaml');
      await writeFile(file, 'tables:\n  port: 5\noauth:\n  issuer: "no url"\n  jwks: keys.json\n');
      const args = ['--queue-port', '70000', '--workers', '1', '--config', file];
      const env = { TABULARIUM_CONTROL_PORT: 'any' };
      const { code, stdout, stderr } = await runCli(['start', '--location', place(), ...args], {
        env,
      });
      assert.deepEqual([code, stdout], [2, '']);
      const port = 'must be a whole number from 0 to 65535';
      assert.equal(
        stderr,
        `error: --queue-port ${port}, not 70000.\n       TABULARIUM_CONTROL_PORT ${port}, not "any".\n`,
      );
      assert.equal(existsSync(place()), false);
      const mended = await runCli(['start', '--location', place(), '--config', file]);
      assert.equal(mended.code, 2);
      assert.match(
        mended.stderr,
        /^error: .*config\.yaml:4:11: oauth\.issuer must be a URL of visible/,
      );
      assert.equal(existsSync(place()), false);
    },
  );

  it('is in the published schema as it is checked', () => {
    const published = new Ajv2020({ strictTypes: false }).compile(publishedSchemas.config());
    let compared = 0;
    for (const { shape: ofProgram, file } of Object.values(optionTable)) {
      if (file === undefined) continue;
      const { shape = ofProgram, member, example } = file;
      const values = [example, ...badValues(shape), ...badValues(ofProgram), 'text', ['text'], {}];
      for (const value of values) {
        const config = member
          .split('.')
          .reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
        const mistakes = mistakesIn(configShape, config, 'file').shown;
        assert.equal(published(config), mistakes.length === 0, JSON.stringify(config));
        compared += 1;
      }
      const { shown } = mistakesIn(shape, example, 'file');
      assert.deepEqual(shown, [], `the example of ${member} is accepted`);
    }
    assert.ok(compared > 150);
  });

  it('has its default where it is not set', async () => {
    const { options, process: own } = startSettings(givenFlags('--in-memory'), { config: {} });
    assert.deepEqual(
      [options.host, options.tablePort, options.queuePort],
      ['127.0.0.1', 10_002, 10_001],
    );
    assert.deepEqual([own.workers, own.logLevel, own.silent], [1, 'info', false]);
    await using server = await createServer({ inMemory: true });
    assert.notEqual(server.tablePort, 10_002);
  });
});
