import assert from 'node:assert/strict';
import { it } from 'node:test';
import { JournalProgress } from './journal-progress.js';

void it('shows how many files of a journal were read, behind the line that begins', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const progress = new JournalProgress(stream, () => written.push('begun'));
  progress.read(1);
  progress.read(1_234);
  t.mock.timers.tick(5_000);
  progress.stop();
  t.mock.timers.tick(5_000);
  const [begun, shown = '', ...rest] = written;
  assert.equal(begun, 'begun');
  assert.match(shown, /^1,234 files of the journal, [\d,]+\/s\n$/);
  assert.deepEqual(rest, []);
});

void it('shows nothing where there is no journal', () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  new JournalProgress(stream, () => written.push('begun')).stop();
  assert.deepEqual(written, []);
});
