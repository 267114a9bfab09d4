import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createServer } from '../../src/app/index.js';
import { withoutExtras } from '../support/extras.js';
import { pageShapes } from '../support/page-shapes.js';
import { isLong, sampled } from '../support/run-length.js';

// The programs of the pattern guide, and the pages that show them.

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const programs = readdirSync(`${root}examples/patterns`)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length));

const server = await createServer({ inMemory: true, ...pageShapes() });
after(() => server.close());

/** Why a program cannot run: some need a data set. */
function lackOf(name: string): string | false {
  const text = readFileSync(`${root}examples/patterns/${name}.ts`, 'utf8');
  return /extras\//.test(text) && withoutExtras;
}

function pageOf(name: string): string {
  return `docs/guides/patterns/${name}.md`;
}

/** A text without its indentation. */
function lined(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** Runs programs in sequence in one process, and returns the output of each. */
async function printedBy(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const mark = 'program: ';
  const script = `for (const name of process.argv.slice(1)) {
    console.log(${JSON.stringify(mark)} + name);
    await import(${JSON.stringify(`${root}dist/examples/patterns/`)} + name + '.js');
  }`;
  const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: server.connectionString() };
  const given = ['--input-type=module', '--eval', script, ...names];
  const { stdout } = await run(process.execPath, given, { env, maxBuffer: 16 * 1024 * 1024 });
  const parts = `\n${stdout}`.split(`\n${mark}`).slice(1);
  return new Map(parts.map((part) => [part.split('\n', 1)[0] ?? '', part]));
}

describe('the programs of the pattern guide', () => {
  /** A sixth of them in the short form of the tests. */
  const drawn = sampled(programs, Math.ceil(programs.length / 6));
  const able = drawn.filter((name) => lackOf(name) === false);
  // All programs run in one process: loading the same modules takes most of their time.
  let together: Promise<ReadonlyMap<string, string>> | undefined;

  for (const name of drawn) {
    it(`${name} runs, also again`, { timeout: 600_000, skip: lackOf(name) }, async () => {
      together ??= printedBy(able);
      const printed = [(await together).get(name) ?? ''];
      if (isLong) printed.push((await printedBy([name])).get(name) ?? '');
      for (const text of printed) {
        assert.ok(text.split('\n').length > 2, 'a program shows what it did');
      }
    });
  }
});

describe('the pages of the pattern guide', () => {
  for (const name of programs) {
    it(`${name}: all code is from the program`, () => {
      assert.ok(existsSync(`${root}${pageOf(name)}`), `${pageOf(name)} is missing`);
      const page = readFileSync(`${root}${pageOf(name)}`, 'utf8');
      const program = lined(readFileSync(`${root}examples/patterns/${name}.ts`, 'utf8'));
      const blocks = [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code);
      assert.ok(blocks.length > 0, 'a page shows code');
      for (const block of blocks) {
        assert.ok(program.includes(lined(block)), `not in the program:\n${block}`);
      }
    });
  }
});
