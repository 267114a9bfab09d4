import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { makeDirectory } from './make-directory.js';

void it('makes what is missing above a directory, with its mode, tells it, and leaves what is there', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-directory-'));
  t.after(() => rm(folder, { recursive: true }));
  const made = [join(folder, 'a'), join(folder, 'a', 'b'), join(folder, 'a', 'b', 'c')];
  assert.deepEqual(makeDirectory(join(folder, 'a', 'b', 'c'), 0o700), made);
  for (const path of ['a', 'a/b', 'a/b/c']) {
    assert.equal(statSync(join(folder, path)).mode & 0o777, 0o700);
  }
  assert.deepEqual(makeDirectory(join(folder, 'a', 'b'), 0o755), []);
  assert.equal(statSync(join(folder, 'a', 'b')).mode & 0o777, 0o700);
  await writeFile(join(folder, 'file'), '');
  assert.throws(() => makeDirectory(join(folder, 'file')), { code: 'EEXIST' });
  assert.throws(() => makeDirectory(join(folder, 'file', 'below')), { code: 'ENOTDIR' });
  await symlink(join(folder, 'nowhere'), join(folder, 'link'));
  assert.throws(() => makeDirectory(join(folder, 'link', 'below')));
});

const skip = existsSync('/proc/self') ? false : 'there is no /proc';

void it('ends in a file system that makes no directories', { skip }, () => {
  assert.throws(() => makeDirectory('/proc/tabularium'), { code: 'ENOENT' });
  assert.throws(() => makeDirectory('/proc/tabularium/below/it'), { code: 'ENOENT' });
});
