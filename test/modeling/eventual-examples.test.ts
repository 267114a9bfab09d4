import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startFixture } from '../wire/kit/server.js';
import { costly } from '../support/run-length.js';

// The programs of the guide's pages on eventual consistency, run as a user runs them.

const { server } = await startFixture();
const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** The code blocks of a page in one language; `''` for output. */
function blocksOf(page: string, language: string): string[] {
  const text = readFileSync(`${root}${page}`, 'utf8');
  const blocks = [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)];
  return blocks.flatMap(([, each, code = '']) => (each === language ? [code] : []));
}

describe('the pages on eventual consistency', () => {
  for (const name of [
    'eventually-consistent-transactions',
    'transactional-outbox',
    'change-feed',
  ]) {
    const page = `docs/guides/patterns/${name}.md`;

    it(`show the program ${name} as it is`, () => {
      const program = readFileSync(`${root}examples/patterns/${name}.ts`, 'utf8');
      assert.deepEqual(blocksOf(page, 'ts'), [program]);
    });

    it(`say what the program ${name} prints, each time that it is run`, costly(), async () => {
      const program = fileURLToPath(new URL(`../../examples/patterns/${name}.js`, import.meta.url));
      const AZURE_STORAGE_CONNECTION_STRING = server.connectionString();
      const env = { ...process.env, AZURE_STORAGE_CONNECTION_STRING };
      for (let round = 0; round < 2; round += 1) {
        const { stdout } = await run(process.execPath, [program], { env });
        assert.equal(stdout, blocksOf(page, '').at(-1));
      }
    });
  }
});
