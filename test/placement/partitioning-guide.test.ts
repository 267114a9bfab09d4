import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The guide to partitioning, and its programs that need no server.

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const page = read('docs/guides/partitioning.md');

function blocksOf(language: string): readonly string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm');
  return [...page.matchAll(pattern)].map(([, code = '']) => code);
}

describe('the guide to partitioning', () => {
  it('prints of one key in every system what the page says', async () => {
    const program = `${root}dist/examples/placement/one-key.js`;
    const { stdout } = await run(process.execPath, [program]);
    assert.ok(blocksOf('text').includes(stdout), stdout);
  });

  it('shows nothing that is not in its programs', () => {
    const files = readdirSync(`${root}examples/placement`);
    const programs = files.map((file) => read(`examples/placement/${file}`)).join('');
    const blocks = blocksOf('ts');
    assert.ok(blocks.length > 2);
    for (const block of blocks) assert.ok(programs.includes(block), `not there:\n${block}`);
  });
});
