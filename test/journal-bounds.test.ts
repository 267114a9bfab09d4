import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultJournalLimits } from '../src/engines/journal/journal-limits.js';
import { readRepositoryFile } from './support/repository-files.js';
import { boundsOf, textsOf, valueOf } from './support/written-bounds.js';

// The table of bounds in docs/internals/journal.md has the values of the sources, and each constant
// of the journal whose name ends with Max.

const { tableBytesMax, tableRowsMax, changesMax, filesMax, fileBytes } = defaultJournalLimits;
const bounds = ['src/engines/journal', 'src/kv'].flatMap(boundsOf);

/** The bounds of each row in the order of its numbers: constants by name, limits by value. */
const rows: Readonly<Record<string, readonly (string | number)[]>> = {
  'bytes of the table': [tableBytesMax],
  'entries of the table': [tableRowsMax],
  'changes in frames that the note lacks': [changesMax],
  'bytes of these frames on disk': [filesMax * fileBytes],
  'files of at most N, of an opening': [fileBytes, filesMax],
  'files that are kept to be used again': ['freeFilesMax'],
  'commits, bytes of a group': ['groupCommitsMax', 'groupBytesMax'],
  'commits that wait': ['waitingCommitsMax'],
  'entries, bytes of a transaction of the base': ['portionEntriesMax', 'portionBytesMax'],
  'files in a folder, bytes of one at a start': ['folderFilesMax', 'fileBytesMax'],
  'deletions, bytes that a range passes over in a turn': ['turnDeletionsMax', 'turnBytesMax'],
};
/** What nobody reaches or notices: numbers in names of folders, what is remembered, attempts. */
const elsewhere = new Set(['generationMax', 'knownVersionsMax', 'runsMax', 'attemptsMax']);

/** A number with its unit, as the table writes it. */
const number = /\d+(?:,\d{3})*(?: [KMG]iB)?/g;

/** The numbers of each row, by its words with N in place of them. */
function writtenRows(): Map<string, string[]> {
  const [, section = ''] = readRepositoryFile('docs/internals/journal.md').split('\n## Bounds\n');
  const [table = ''] = section.trim().split('\n\n');
  const lines = table.split('\n').slice(2);
  return new Map(
    lines.map((line) => {
      const [, words = '', value = ''] = line.split('|').map((cell) => cell.trim());
      return [words.replace(number, 'N'), `${words} ${value}`.match(number) ?? []];
    }),
  );
}

function valueOfBound(bound: string | number): number {
  if (typeof bound === 'number') return bound;
  const found = bounds.filter(({ name }) => name === bound);
  assert.equal(found.length, 1, `one constant ${bound}`);
  return valueOf(found[0]?.expression ?? '');
}

describe('the table of bounds in docs/internals/journal.md', () => {
  const written = writtenRows();

  it('has the bounds that are known here, and every one of the journal', () => {
    assert.deepEqual([...written.keys()], Object.keys(rows));
    const known = new Set<string | number>([...Object.values(rows).flat(), ...elsewhere]);
    const missing = boundsOf('src/engines/journal').filter(({ name }) => !known.has(name));
    assert.deepEqual(missing, [], 'write these into the table, or among those that nobody meets');
  });

  it('has the values of the sources', () => {
    for (const [words, named] of Object.entries(rows)) {
      const numbers = written.get(words) ?? [];
      const values = named.map(valueOfBound);
      assert.equal(numbers.length, values.length, words);
      for (const [index, value] of values.entries()) {
        const text = numbers[index] ?? '';
        assert.ok(textsOf(value).includes(text), `${words}: ${text} is written for ${value}`);
      }
    }
  });
});
