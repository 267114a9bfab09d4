import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createServer } from '../../src/app/index.js';
import { pageShapes } from '../support/page-shapes.js';
import { findingTexts } from '../../src/modeling/advisor/findings/finding-texts.js';
import { costly } from '../support/run-length.js';

// The first page of the guide, its program, and the index of the pattern pages.

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const server = await createServer({ inMemory: true, ...pageShapes() });
after(() => server.close());

/** A text without its indentation. */
function lined(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

function blocksOf(page: string, language: string): readonly string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...read(page).matchAll(pattern)].map(([, code = '']) => code);
}

describe('getting started with table design', () => {
  const page = 'docs/guides/modeling.md';

  it('prints what the page says, again and again', costly(), async () => {
    const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING: server.connectionString() };
    const [printed = ''] = blocksOf(page, 'text');
    for (let round = 0; round < 2; round += 1) {
      const { stdout } = await run(process.execPath, [`${root}dist/examples/modeling.js`], { env });
      assert.ok(stdout.startsWith(printed), stdout);
    }
  });

  it('shows pieces that are the program, one behind the other', () => {
    const program = lined(read('examples/modeling.ts'));
    const blocks = blocksOf(page, 'ts');
    assert.ok(blocks.length > 10);
    let rest = program;
    let left = '';
    for (const block of blocks) {
      const piece = lined(block);
      const at = rest.indexOf(piece);
      assert.ok(at >= 0, `not there, or before another one:\n${block}`);
      left += rest.slice(0, at);
      rest = rest.slice(at + piece.length);
    }
    const unshown = lined(left + rest)
      .split('\n')
      .filter((line) => !line.startsWith('//'));
    assert.deepEqual(unshown, [
      'try {',
      'console.log(`${sent.length} requests in all, the last one a ${sent.at(-1)}`);',
      '} finally {',
      'await client.deleteTable();',
      '}',
    ]);
  });
});

describe('the index of patterns', () => {
  const index = read('docs/guides/patterns/README.md');

  it('links to every page', () => {
    const pages = readdirSync(`${root}docs/guides/patterns`).filter(
      (file) => file !== 'README.md' && !index.includes(`](${file})`),
    );
    assert.deepEqual(pages, []);
  });

  it('has every pattern of the guide by its name', () => {
    const names = [
      'Intra-partition secondary index',
      'Inter-partition secondary index',
      'Eventually consistent transactions',
      'Index entities',
      'Denormalisation',
      'Compound key',
      'Log tail',
      'High-volume delete',
      'Data series',
      'Wide entities',
      'Large entities',
      'Prepend/append anti-pattern',
      'Log data anti-pattern',
      'Materialised views',
      'Client-side encryption',
      'Asynchronous and parallel operations',
      'Controlling access by SAS',
      'Cost considerations',
      'Index table',
      'One-to-many, one-to-one',
      'Join in the client',
      'Inheritance',
    ];
    const rows = index.split('\n').filter((line) => line.startsWith('| '));
    const missing = names.filter((name) => !rows.some((row) => row.startsWith(`| ${name}`)));
    assert.deepEqual(missing, []);
  });

  it('has the pages that the advisor sends people to', () => {
    const pages = new Set(Object.values(findingTexts).map(({ page }) => page));
    const missing = [...pages].filter(
      (page) => !existsSync(`${root}docs/guides/patterns/${page}.md`),
    );
    assert.deepEqual(missing, []);
  });
});
