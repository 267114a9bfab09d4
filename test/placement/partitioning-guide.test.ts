import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { placementRules } from '../../src/modeling/advisor/placement/review-placement.js';
import { sampled } from '../support/run-length.js';

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
  for (const file of sampled(readdirSync(`${root}examples/placement`))) {
    it(`prints by ${file} what the page says`, async () => {
      const program = `${root}dist/examples/placement/${file.replace(/ts$/, 'js')}`;
      const { stdout } = await run(process.execPath, [program]);
      assert.ok(blocksOf('text').includes(stdout), stdout);
    });
  }

  it('has every rule of the review, with its severity', () => {
    const [, table = ''] = page.split('## Checklists');
    const rows = [...table.matchAll(/^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) +\| (\w+)/gm)];
    const told = rows.flatMap(([, ids = '', severity = '']) =>
      ids.split(', ').map((id) => `${id.slice(1, -1)} ${severity}`),
    );
    const rules = placementRules.map(({ id, severity }) => `${id} ${severity}`);
    assert.deepEqual(told.toSorted(), rules.toSorted());
  });

  it('shows nothing that is not in its programs', () => {
    const files = readdirSync(`${root}examples/placement`);
    const programs = files.map((file) => read(`examples/placement/${file}`)).join('');
    const blocks = blocksOf('ts');
    assert.ok(blocks.length > 2);
    for (const block of blocks) assert.ok(programs.includes(block), `not there:\n${block}`);
  });
});
