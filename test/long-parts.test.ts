import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

interface LongParts {
  readonly weighedFiles: readonly string[];
  readonly filesOfPart: (
    files: readonly string[],
    part: number,
    parts: number,
  ) => readonly string[];
  readonly parsePart: (
    text: string,
  ) => { readonly part: number; readonly parts: number } | undefined;
}

const script = new URL('../../scripts/long-parts.js', import.meta.url);
const { weighedFiles, filesOfPart, parsePart } = (await import(script.href)) as LongParts;
const compiled = fileURLToPath(new URL('../', import.meta.url));
const files = readdirSync(compiled, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.test.js'))
  .sort();

void describe('the parts of the long forms', () => {
  void it('have every file once, whatever the number of parts', () => {
    for (const parts of [1, 2, 8]) {
      const all = Array.from({ length: parts }, (_, at) => filesOfPart(files, at + 1, parts));
      assert.deepEqual(all.flat().toSorted(), files);
    }
  });

  void it('are the same again, in whatever order the files are found', () => {
    const part = filesOfPart(files, 3, 8);
    assert.deepEqual(filesOfPart(files.toReversed(), 3, 8).toReversed(), part);
  });

  void it('share the files that take longest among them', () => {
    const dear = [1, 2, 3, 4].map((part) => filesOfPart(weighedFiles, part, 4).length);
    assert.ok(Math.min(...dear) > 0, dear.join(', '));
  });

  void it('know only files that exist', () => {
    assert.deepEqual(
      weighedFiles.filter((file) => !files.includes(file)),
      [],
    );
  });

  void it('are written as a number of a number', () => {
    assert.deepEqual(parsePart('2/8'), { part: 2, parts: 8 });
    for (const text of ['', '2', '0/8', '9/8', '1/0', '1/1000', 'a/b', '2/8x']) {
      assert.equal(parsePart(text), undefined, text);
    }
  });
});
