import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { CommandFailure, UsageError } from './failure.js';
import { notice } from './notice.js';
import { report } from '../report.js';

/** The text that a call prints to standard error. */
function noticesOf(t: TestContext, print: () => void): string {
  const write = t.mock.method(process.stderr, 'write', () => true);
  print();
  const text = write.mock.calls.map(({ arguments: [chunk] }) => String(chunk)).join('');
  write.mock.restore();
  return text;
}

void it('a notice is one line, whatever a name in it holds', (t) => {
  const text = noticesOf(t, () => notice('Left out: box/a\nerror: nothing\r\x1b[2J, no file.'));
  assert.equal(text, 'Left out: box/a\\nerror: nothing\\r\\x1b[2J, no file.\n');
});

void it('an error of several lines is shown with each below the other', (t) => {
  const failure = new CommandFailure(['one\nof it', 'two']);
  assert.equal(
    noticesOf(t, () => report(failure)),
    'error: one\\nof it\n       two\n',
  );
  const usage = new UsageError('one\ntwo');
  assert.equal(
    noticesOf(t, () => report(usage)),
    'error: one\n       two\n',
  );
});
