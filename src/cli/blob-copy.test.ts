import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  BlobServiceClient,
  ContainerSASPermissions,
  type ContainerClient,
} from '@azure/storage-blob';
import { runCommand } from '../../test/support/command-host.js';
import type { CliResult } from '../../test/support/cli-process.js';
import { startServer, type StartedServer } from '../../test/support/start-server.js';
import { costly } from '../../test/support/run-length.js';

// Commands on many blobs: copies inside of a server and from another, and downloads of folders.

let here: StartedServer;
let there: StartedServer;
let photos: ContainerClient;
let directory: string;

function cli(command: string, ...args: readonly string[]): Promise<CliResult> {
  const words = ['blob', command, ...args, '-c', here.server.connectionString()];
  return runCommand(words, { cwd: directory });
}

async function stored(container: ContainerClient): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of container.listBlobsFlat()) names.push(name);
  return names;
}

async function put(container: ContainerClient, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const blob = container.getBlockBlobClient(name);
    await blob.upload(name, Buffer.byteLength(name), { metadata: { of: 'it' } });
  }
}

function containerOf({ server }: StartedServer, name: string): ContainerClient {
  return BlobServiceClient.fromConnectionString(server.connectionString()).getContainerClient(name);
}

const names = ['2030/a.jpg', '2030/deep/ü 1?.jpg', 'b.jpg'];

before(async () => {
  const copySources = { hosts: ['127.0.0.1:*'], privateNetworks: true };
  [here, there] = await Promise.all([startServer({ copySources }), startServer()]);
  directory = await mkdtemp(join(tmpdir(), 'tabularium-copies-'));
  photos = containerOf(here, 'photos');
  await photos.create();
  await put(photos, names);
});

after(async () => {
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

void describe('tabularium blob copy', () => {
  void it('copies a blob to a name, or under its own', costly(), async () => {
    const { code, stdout, stderr } = await cli('copy', 'photos/b.jpg', 'copies/c.jpg', '--create');
    assert.deepEqual([code, stdout], [0, 'copies/c.jpg\n'], stderr);
    assert.match(stderr, /Copied 1 blob into copies, 5 bytes\./);
    assert.equal((await cli('copy', 'photos/2030/a.jpg', 'copies/x/')).code, 0);
    const copies = containerOf(here, 'copies');
    assert.deepEqual(await stored(copies), ['c.jpg', 'x/a.jpg']);
    const { metadata } = await copies.getBlobClient('c.jpg').getProperties();
    assert.deepEqual(metadata, { of: 'it' });
  });

  void it('copies a folder, and all of a container of another server by its URL', async () => {
    const result = await cli('copy', '-r', 'photos/2030/', 'folders/to/', '--create');
    assert.equal(result.code, 0, result.stderr);
    const folders = containerOf(here, 'folders');
    assert.deepEqual(await stored(folders), ['to/a.jpg', 'to/deep/ü 1?.jpg']);

    const others = containerOf(there, 'others');
    await others.create();
    await put(others, names);
    const url = await others.generateSasUrl({
      permissions: ContainerSASPermissions.parse('rl'),
      expiresOn: new Date(Date.now() + 3_600_000),
    });
    const { code, stderr } = await cli('copy', '-r', url, 'elsewhere', '--create');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Copied 3 blobs into elsewhere, 34 bytes\./);
    assert.ok(!stderr.includes('sig='), 'a signature is not printed');
    const elsewhere = containerOf(here, 'elsewhere');
    assert.deepEqual(await stored(elsewhere), names);
    const content = await elsewhere.getBlobClient('2030/deep/ü 1?.jpg').downloadToBuffer();
    assert.equal(content.toString(), '2030/deep/ü 1?.jpg');
  });

  void it('says what is wrong, with its exit code', async () => {
    const refused = async (expected: RegExp, ...args: readonly string[]) => {
      const { code, stderr } = await cli('copy', ...args);
      assert.match(stderr, expected);
      return code;
    };
    assert.equal(await refused(/use --recursive/, 'photos', 'copies'), 2);
    assert.equal(await refused(/end copies\/x with a slash/, '-r', 'photos', 'copies/x'), 2);
    assert.equal(await refused(/BlobNotFound/, 'photos/none', 'photos/new'), 1);
    assert.equal(await refused(/--create/, 'photos/b.jpg', 'not-there'), 1);
    const deep = `copies/${'x'.repeat(1_010)}/`;
    assert.equal(await refused(/at most 1024/, '-r', 'photos', deep, '--create'), 1);
    const unsigned = containerOf(there, 'unsigned').getBlobClient('b').url;
    assert.equal(await refused(/with a signature/, unsigned, 'photos/new'), 1);
  });
});

void describe('tabularium blob get --recursive', () => {
  void it('writes the blobs of a folder as files, and those that are there only once', async () => {
    const first = await cli('get', '-r', 'photos', 'all');
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stderr, /Got 3 blobs, 34 bytes, into all\./);
    const found = await readdir(join(directory, 'all'), { recursive: true });
    assert.deepEqual(found.toSorted(), ['2030', ...names, '2030/deep'].toSorted());
    for (const name of names) {
      assert.equal(await readFile(join(directory, 'all', name), 'utf8'), name);
    }
    const before = await stat(join(directory, 'all/b.jpg'));
    await writeFile(join(directory, 'all/2030/a.jpg'), '2030/x.jpg');
    const { stdout, stderr } = await cli('get', '-r', 'photos', 'all');
    assert.equal(stdout.trim(), join('all', '2030/a.jpg'));
    assert.match(stderr, /Got 1 blob, 10 bytes, into all\. 2 files had all bytes already\./);
    assert.equal((await stat(join(directory, 'all/b.jpg'))).ino, before.ino);
    const folder = await cli('get', '-r', 'photos/2030/', 'part');
    assert.equal(folder.code, 0, folder.stderr);
    assert.deepEqual(await readdir(join(directory, 'part')), ['a.jpg', 'deep']);
  });

  void it('writes no file outside of the directory', async () => {
    const bad = containerOf(here, 'bad');
    await bad.create();
    await put(bad, ['/root', 'a//b', 'c:d', 'good']);
    await writeFile(join(directory, 'up'), 'up');
    for (const name of ['../up', 'a/../../up']) {
      assert.equal((await cli('put', 'up', `bad/${name}`)).code, 0);
    }
    await mkdir(join(directory, 'inside'));
    const { code, stderr } = await cli('get', '-r', 'bad', 'inside/in');
    assert.equal(code, 1);
    assert.match(stderr, /Left out: bad\/\.\.\/up/);
    assert.match(stderr, /5 blobs cannot be files/);
    assert.deepEqual(await readdir(join(directory, 'inside'), { recursive: true }), [
      'in',
      'in/good',
    ]);
  });

  void it('leaves out what another blob is the file of the folder of', async () => {
    const mixed = containerOf(here, 'mixed');
    await mixed.create();
    await put(mixed, ['a', 'a-b', 'a.d/e', 'a/b', 'a/b/c', 'ab/c', 'b\nerror: x//']);
    const { code, stderr } = await cli('get', '-r', 'mixed', 'mixed');
    assert.equal(code, 1);
    assert.match(stderr, /^Left out: mixed\/a\/b, whose folder is the file of mixed\/a\.$/m);
    assert.match(stderr, /^Left out: mixed\/a\/b\/c, whose folder is the file of mixed\/a\.$/m);
    assert.match(stderr, /^Left out: mixed\/b\\nerror: x\/\/, whose name is none for a file\.$/m);
    assert.match(stderr, /^error: 3 blobs cannot be files: get each by name\.$/m);
    const found = await readdir(join(directory, 'mixed'), { recursive: true });
    assert.deepEqual(found.toSorted(), ['a', 'a-b', 'a.d', 'a.d/e', 'ab', 'ab/c']);
  });

  void it('does not fail as a command of which nothing was done', async () => {
    await mkdir(join(directory, 'taken', 'b.jpg'), { recursive: true });
    const { code, stderr } = await cli('get', '-r', 'photos', 'taken');
    assert.equal(code, 1);
    assert.match(stderr, /^error: taken\/b\.jpg is a directory: name another file/m);
  });

  void it('needs a folder and a directory', async () => {
    assert.equal((await cli('get', '-r', 'photos/20', 'x')).code, 2);
    assert.equal((await cli('get', '-r', 'photos', '-')).code, 2);
    assert.equal((await cli('get', 'photos')).code, 2);
  });
});
