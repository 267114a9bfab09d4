import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DataDirectoryError } from './directory/data-directory-error.js';
import { startError } from './disk-error.js';

void it('a start with too few open files says how to raise the limit', () => {
  const cause = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  const error = startError('/data', cause);
  assert.ok(error instanceof DataDirectoryError);
  assert.match(error.message, /open files\. Raise the limit .*\(ulimit -n 1024, or more\)/);
});
