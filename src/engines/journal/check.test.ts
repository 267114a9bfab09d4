import assert from 'node:assert/strict';
import { it } from 'node:test';
import { journalDirectory, putRow } from '../../../test/support/journals.js';
import { checkJournal, noteKey } from './check.js';

void it('tells after each file of a journal how many it has read', async () => {
  await using made = await journalDirectory();
  for (const name of ['a', 'b', 'c']) await putRow(await made.open(), name);
  const note = await made.memory.get(noteKey);
  const told: number[] = [];
  const report = await checkJournal(made.directory, note?.value, (files) => told.push(files));
  assert.deepEqual(told, [1, 2, 3]);
  assert.deepEqual([report?.frames, report?.damage], [3, undefined]);
});
