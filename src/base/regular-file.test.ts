import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FileReadError, readRegularFile, type FileProblem } from './regular-file.js';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-files-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function refused(path: string, problem: FileProblem, reason: RegExp): Promise<void> {
  await assert.rejects(readRegularFile(path, 100), (error) => {
    assert.ok(error instanceof FileReadError);
    assert.equal(error.problem, problem);
    assert.match(error.reason, reason);
    assert.ok(error.message.startsWith(path));
    return true;
  });
}

const isPosix = process.platform !== 'win32';

describe('a regular file', () => {
  it('is read whole, through links as well, up to its bound', async () => {
    const path = join(folder, 'whole');
    await writeFile(path, 'x'.repeat(100));
    await symlink(path, `${path}-link`);
    assert.equal((await readRegularFile(`${path}-link`, 100)).length, 100);
    await writeFile(path, 'x'.repeat(101));
    await refused(path, 'too-large', /larger than 100 bytes/);
    await writeFile(path, '');
    assert.equal((await readRegularFile(path, 100)).length, 0);
  });

  it('that has no size is read to its end', { skip: process.platform !== 'linux' }, async () => {
    const status = await readRegularFile('/proc/self/status', 64 * 1024);
    assert.match(status.toString(), /^Name:/);
    await refused('/proc/self/status', 'too-large', /larger than 100 bytes/);
  });

  it('is told from what is absent and from directories', async () => {
    await refused(join(folder, 'absent'), 'absent', /does not exist/);
    await refused(folder, 'directory', /is a directory/);
  });

  it('is told from pipes, sockets and devices at once', { skip: !isPosix }, async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await refused(pipe, 'not-regular', /is a pipe, not a regular file/);
    await symlink('/dev/zero', join(folder, 'zero'));
    await refused(join(folder, 'zero'), 'not-regular', /is a device/);
    const server = createServer().listen(join(folder, 'socket'));
    await once(server, 'listening');
    await refused(join(folder, 'socket'), 'not-regular', /is a socket/);
    server.close();
  });
});
