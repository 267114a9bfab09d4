import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openFilesIn, openFilesMax, tooFewOpenFiles } from './open-files.js';

void it('the limit of open files is what holds now, if there is one', () => {
  const lines = [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max file size             1024                 unlimited            bytes     ',
    'Max open files            4096                 524288               files     ',
  ];
  assert.equal(openFilesIn(lines.join('\n')), 4096);
  assert.equal(
    openFilesIn('Max open files            unlimited            unlimited            files'),
    undefined,
  );
  assert.ok(openFilesMax() > 0);
});

void it('a limit with which a server would fail later is refused, and others are not', () => {
  assert.match(tooFewOpenFiles(40) ?? '', /may have 40 open files.*needs 128.*ulimit -n 1024/);
  assert.equal(tooFewOpenFiles(128), undefined);
  assert.equal(tooFewOpenFiles(Infinity), undefined);
});
