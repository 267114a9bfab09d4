import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Document, parse } from 'yaml';
import { UsageError } from '../terminal/failure.js';
import { loadConfig } from './config-file.js';
import { checkSchema } from './schema-check.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const example = join(root, 'examples/configuration/tabularium.yaml');
const key = Buffer.from('secret of an account').toString('base64');

const folder = await mkdtemp(join(tmpdir(), 'tabularium-config-'));
after(() => rm(folder, { recursive: true, force: true }));

async function fileOf(text: string, name = 'config.yaml'): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** The error of loading a text, without the folder in it. */
async function refusal(
  text: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    await loadConfig(await fileOf(text), environment);
  } catch (error) {
    if (error instanceof UsageError) return error.message.replaceAll(`${folder}/`, '');
    throw error;
  }
  return 'accepted';
}

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Yields the value once for each of its members, with that member replaced. */
function* replacements(
  value: Json,
  replacementFor: (name: string) => readonly [string, Json],
): Generator<Json> {
  if (isList(value)) {
    for (const [at, item] of value.entries()) {
      for (const bad of replacements(item, replacementFor)) yield value.with(at, bad);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const name of Object.keys(value)) {
      const entries = Object.entries(value);
      const at = entries.findIndex(([other]) => other === name);
      yield Object.fromEntries(entries.with(at, [...replacementFor(name)]));
      for (const bad of replacements(value[name] ?? null, replacementFor)) {
        yield Object.fromEntries(entries.with(at, [name, bad]));
      }
    }
  }
}

describe('a configuration file', () => {
  it('is the example of the documentation, as it stands', async () => {
    const { config, files } = await loadConfig(example, { ORDERS_KEY: key });
    const keyFile = join(root, 'examples/configuration/keys/orders-key');
    assert.deepEqual(files, [example, keyFile]);
    const [orders] = config.accounts ?? [];
    const fromFile = (await readFile(keyFile, 'utf8')).trim();
    assert.deepEqual(orders, { name: 'orders', keys: [key, fromFile] });
    assert.equal(config['location'], join(root, 'examples/configuration/data'));
    assert.equal(config['init'], join(root, 'examples/configuration/seed.yaml'));
    assert.deepEqual(config['queues'], { host: '127.0.0.1', port: 10_001 });
  });

  it('may be JSON, with a schema for editors, and with a byte order mark', async () => {
    const text = `\ufeff{\n\t"$schema": "./x.json",\n\t"tables": { "port": 7 }\n}\n`;
    const { config } = await loadConfig(await fileOf(text, 'config.json'), {});
    assert.deepEqual(config, { tables: { port: 7 } });
  });

  it('may say nothing', async () => {
    assert.deepEqual((await loadConfig(await fileOf('# nothing yet\n'), {})).config, {});
  });

  it('is refused with any member misspelt or of another type', async () => {
    const whole = parse(await readFile(example, 'utf8')) as Json;
    const misspelt = [...replacements(whole, (name) => [`${name}X`, 1])];
    const mistyped = [...replacements(whole, (name) => [name, [[]]])];
    assert.ok(misspelt.length > 20);
    assert.equal(misspelt.length, mistyped.length);
    for (const bad of [...misspelt, ...mistyped]) {
      const text = JSON.stringify(bad, null, 1);
      const said = await refusal(text, { ORDERS_KEY: key });
      assert.match(said, /^config\.yaml:\d+:\d+: /, text);
    }
  });

  it('is refused without repeating a key that stands in the wrong place', async () => {
    const secret = 'c2VjcmV0'.repeat(11);
    const texts = [
      `accounts: [{ name: "${secret}", keys: [YQ==] }]`,
      `accounts: "orders:${secret}"`,
      `accounts: [{ name: orders, keys: [{ env: "${secret}" }] }]`,
      `accounts: [{ name: orders, "${secret}": keys }]`,
      `accounts: { orders: "${secret}" }`,
      `accounts: ["${secret}"]`,
      `host: 1\n${secret}: 1`,
      `durability: "${secret}"`,
    ];
    for (const text of texts) {
      const said = await refusal(text, {});
      assert.ok(!said.includes('c2VjcmV0'), said);
    }
  });

  const refused: readonly [what: string, text: string, said: RegExp][] = [
    [
      'a misspelt member',
      'host: x\ndurabilty: durable\n',
      /^config\.yaml:2:1: The file has no member 'durabilty'; .*Did you mean 'durability'\?$/,
    ],
    [
      'a misspelt member inside of another',
      'tables:\n  limits: { conectionsMax: 5 }\n',
      /^config\.yaml:2:13: tables\.limits has no member 'conectionsMax'; .*Did you mean 'connectionsMax'\?$/,
    ],
    [
      'a misspelt value',
      'durability: relaxd\n',
      /^config\.yaml:1:13: durability must be durable or relaxed, not "relaxd"\. .*'relaxed'\?$/,
    ],
    [
      'a number out of range',
      'queues:\n  port: 65536\n',
      /^config\.yaml:2:9: queues\.port must be a whole number from 0 to 65535, not 65536\.$/,
    ],
    [
      'another type',
      'workers: many\n',
      /^config\.yaml:1:10: workers must be a whole number from 1 to 64, not "many"\.$/,
    ],
    [
      'a name that no account can have',
      `accounts: [{ name: My-Account, keys: [${key}] }]`,
      /^config\.yaml:1:20: accounts\[0\]\.name must be 3 to 24 lower-case .*, not "My-Account"\.$/,
    ],
    [
      'no key',
      'accounts: [{ name: orders, keys: [] }]',
      /accounts\[0\]\.keys must be a list of one key or two/,
    ],
    [
      'three keys',
      'accounts: [{ name: orders, keys: [a, b, c] }]',
      /accounts\[0\]\.keys must be a list of one key or two/,
    ],
    ['no keys', 'accounts: [{ name: orders }]', /accounts\[0\] needs the member 'keys'\.$/],
    ['a list', '- accounts', /^config\.yaml:1:1: The file must be an object, not a list of 1\.$/],
    ['text that is no YAML', 'a: [1\nb: 2\n', /^config\.yaml:2:1: /],
    [
      'a deep nesting',
      `a: ${'['.repeat(65)}${']'.repeat(65)}`,
      /^config\.yaml:1:67: Values .* 64 levels/,
    ],
    [
      'a bottomless nesting',
      '- '.repeat(100_000),
      /^config\.yaml.*: Values may be nested 64 levels/,
    ],
    ['a member twice', 'host: a\nhost: b\n', /^config\.yaml:2:1: Map keys must be unique/],
    ['two documents', 'host: a\n---\nhost: b\n', /^config\.yaml:2:1: .*multiple documents/],
    ['an alias that is not there', 'host: *a\n', /^config\.yaml: Unresolved alias .*: a\.$/],
    [
      'a key of nowhere',
      'accounts: [{ name: orders, keys: [{ env: NOT_SET }] }]',
      /^config\.yaml:1:35: .* the environment variable NOT_SET is not set or empty\.$/,
    ],
    [
      'a key of what every environment inherits',
      'accounts: [{ name: orders, keys: [{ env: toString }] }]',
      /^config\.yaml:1:35: .* the environment variable toString is not set or empty\.$/,
    ],
    [
      'a key of a file that is not there',
      'accounts: [{ name: orders, keys: [{ file: nope }] }]',
      /^config\.yaml:1:35: A key cannot be had: There is no file nope\.$/,
    ],
    [
      'a key of two places',
      'accounts: [{ name: orders, keys: [{ file: a, env: B }] }]',
      /accounts\[0\]\.keys\[0\] must be base64, \{ env: NAME \} or/,
    ],
  ];
  for (const [what, text, said] of refused) {
    it(`is refused with ${what}`, async () => {
      assert.match(await refusal(text), said);
    });
  }

  it('lists every mistake', async () => {
    const said = await refusal('host: 1\nworkers: 0\ntabels: {}\n');
    const places = said.split('\n').map((line) => /^config\.yaml:(\d):/.exec(line)?.[1] ?? '');
    assert.equal(places.toSorted((left, right) => left.localeCompare(right)).join(), '1,2,3');
  });

  it('is searched for the locations of no more mistakes than are shown', () => {
    const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`m${at}`, at]));
    let searched = 0;
    const file = {
      name: 'config.yaml',
      document: new Document(),
      isEmpty: false,
      location: () => `config.yaml:${(searched += 1)}:1`,
    };
    assert.throws(() => checkSchema('config', file, unknown), /\nand 990 more$/);
    assert.equal(searched, 10);
  });

  it('never has its keys repeated', async () => {
    const secret = 'TWVsbG9uIHNwZWFrIGZyaWVuZA==';
    for (const keys of [secret, `[[${secret}]]`, `[{ file: x, ${secret}: y }]`, `[12345678]`]) {
      const said = await refusal(`accounts: [{ name: orders, keys: ${keys} }]`);
      assert.notEqual(said, 'accepted');
      assert.ok(!said.includes(secret) && !said.includes('12345678'), said);
    }
  });

  it('is refused when its aliases multiply', async () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg']) {
      lines.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join(', ')}]`);
    }
    assert.match(await refusal(lines.join('\n')), /^config\.yaml: .*alias/);
  });

  it('is refused when it is no file, or a large one', async () => {
    await assert.rejects(
      loadConfig(join(folder, 'none.yaml'), {}),
      /There is no file .*none\.yaml/,
    );
    await assert.rejects(loadConfig(folder, {}), /is a directory, not a file/);
    assert.match(await refusal(`# ${'x'.repeat(1024 * 1024)}`), /is larger than 1048576 bytes/);
  });
});

describe('the schemas', () => {
  interface Schema {
    readonly description?: string;
    readonly examples?: readonly unknown[];
    readonly not?: unknown;
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly $defs?: Readonly<Record<string, Schema>>;
    readonly then?: Schema;
    readonly else?: Schema;
  }

  /** All members that a file can have, each with its location in the schema. */
  function* membersOf(schema: Schema, place: string): Generator<readonly [string, Schema]> {
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      yield [`${place}.${name}`, member];
      yield* membersOf(member, `${place}.${name}`);
    }
    for (const part of [schema.then, schema.else]) if (part) yield* membersOf(part, place);
    for (const [name, part] of Object.entries(schema.$defs ?? {})) yield* membersOf(part, name);
  }

  async function schemaOf(name: string): Promise<Schema> {
    const text = await readFile(join(root, `schemas/${name}.schema.json`), 'utf8');
    return JSON.parse(text) as Schema;
  }

  for (const name of ['config', 'seed']) {
    it(`tell editors what each member of a ${name} file is, with examples`, async () => {
      for (const [place, { description = '', examples = [], not }] of membersOf(
        await schemaOf(name),
        name,
      )) {
        assert.ok(description.length > 7, `${place} needs a description`);
        assert.ok(examples.length > 0 || not !== undefined, `${place} needs an example`);
      }
    });
  }

  it('give examples that are accepted', async () => {
    const { properties = {} } = await schemaOf('config');
    for (const [member, { examples = [] }] of Object.entries(properties)) {
      for (const value of examples) {
        const said = await refusal(JSON.stringify({ [member]: value }), { ORDERS_KEY: key });
        assert.match(said, /^accepted$|There is no file/, member);
      }
    }
  });
});
