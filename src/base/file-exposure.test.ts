import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { exposureOf } from './file-exposure.js';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-exposure-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** A file in its own folder. */
async function fileWith(name: string, modes: { file: number; folder: number }): Promise<string> {
  const inside = join(folder, name);
  await mkdir(inside);
  await writeFile(join(inside, 'file'), '');
  await chmod(join(inside, 'file'), modes.file);
  await chmod(inside, modes.folder);
  return join(inside, 'file');
}

const exposed = (path: string, isSecret = true): readonly string[] =>
  exposureOf({ path, isSecret }).map((text) => text.replaceAll(folder, ''));

void describe('a file that the server trusts', { skip: process.platform === 'win32' }, () => {
  void it('may be used by its owner and their group', async () => {
    assert.deepEqual(exposed(await fileWith('own', { file: 0o660, folder: 0o770 })), []);
  });

  void it('may be read by everybody where it holds no secret', async () => {
    const path = await fileWith('readable', { file: 0o644, folder: 0o755 });
    assert.deepEqual(exposed(path, false), []);
    assert.deepEqual(exposed(path), [
      'Every user of this machine can read /readable/file, which holds keys: ' +
        'chmod o-r /readable/file',
    ]);
  });

  void it('must not be written or replaced by everybody', async () => {
    const path = await fileWith('writable', { file: 0o602, folder: 0o777 });
    assert.deepEqual(exposed(path, false), [
      'Every user of this machine can change /writable/file: chmod o-w /writable/file',
      'Every user of this machine can put another file in place of /writable/file: ' +
        'chmod o-w /writable',
    ]);
    assert.deepEqual(exposed(await fileWith('sticky', { file: 0o600, folder: 0o1777 })), []);
  });

  void it('is checked where its link leads to as well', async () => {
    const path = await fileWith('target', { file: 0o600, folder: 0o777 });
    await mkdir(join(folder, 'links'));
    await symlink(path, join(folder, 'links', 'link'));
    assert.deepEqual(exposed(join(folder, 'links', 'link')), [
      'Every user of this machine can put another file in place of /links/link: ' +
        'chmod o-w /target',
    ]);
  });

  void it('is no matter when it is not there', () => {
    assert.deepEqual(exposed(join(folder, 'absent')), []);
  });
});
