import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

type LongForms = (root: string) => (file: string) => boolean;

const scripts = new URL('../../scripts/', import.meta.url);
const { longForms } = (await import(new URL('long-forms.js', scripts).href)) as {
  readonly longForms: LongForms;
};
const { weighedFiles } = (await import(new URL('long-parts.js', scripts).href)) as {
  readonly weighedFiles: readonly string[];
};

const folder = mkdtempSync(join(tmpdir(), 'long-forms-'));
after(() => {
  rmSync(folder, { recursive: true });
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

void describe('the tests with a long form', () => {
  void it('are those that import what draws more, by way of others as well', () => {
    write({
      'support/run-length.js': 'export const isLong = true;\n',
      'support/rounds.js': "import {\n  isLong,\n} from './run-length.js';\nimport './world.js';\n",
      'support/world.js': "export { rounds } from './rounds.js';\n",
      'support/plain.js':
        "export const text = 'fast-check';\nexport const here = './';\nimport './plain.js';\n",
      'test/itself.test.js': "import { isLong } from '../support/run-length.js';\n",
      'test/property.test.js': "import * as fc from 'fast-check';\n",
      'test/by-another.test.js': "import '../support/world.js';\n",
      'test/none.test.js': "import { text } from '../support/plain.js';\nimport './gone.js';\n",
      'test/named.long.test.js': '',
    });
    const hasLongForm = longForms(folder);
    const names = ['itself', 'property', 'by-another', 'none', 'named.long'];
    assert.deepEqual(
      names.filter((name) => hasLongForm(`test/${name}.test.js`)),
      ['itself', 'property', 'by-another', 'named.long'],
    );
  });

  void it('have all those that take longest among them', () => {
    const root = fileURLToPath(new URL('../', import.meta.url));
    const files = readdirSync(root, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith('.test.js'));
    const found = new Set(files.filter(longForms(root)));
    assert.deepEqual(
      weighedFiles.filter((file) => !found.has(file)),
      [],
    );
  });
});
