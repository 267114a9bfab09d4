import assert from 'node:assert/strict';
import { readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { runCli } from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import {
  connectionStringOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../test/support/cli-server.js';
import { costly } from '../../test/support/run-length.js';

void it('tells whether a data directory is intact, and lists what is not', costly(), async () => {
  await using directory = await temporaryDirectory();
  const location = join(directory.path, 'data');
  const check = () => runCommand(['check', '--location', location]);
  assert.match((await check()).stderr, /error: There are no data to check in /);
  const server = await startCli(['--location', location]);
  const row = ['PartitionKey=a', 'RowKey=b', 'text=the value to look for'];
  const connection = ['-c', connectionStringOf(server)];
  await runCommand(['table', 'insert', '-t', 'people', '--create', ...row, ...connection]);
  const busy = await check();
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, /error: A server uses the data directory .* Stop it first/);
  assert.doesNotMatch(busy.stderr, /Checking/);
  assert.equal(await stopCli(server), 0);

  const intact = await check();
  assert.equal(intact.code, 0, intact.stderr);
  assert.match(intact.stderr, /^Checking .*data\.mdb \([\d,]+ bytes\)\n/);
  assert.match(
    intact.stdout,
    /^No damage: \d+ entries are intact\.\nNo damage: 0 files of content, 0 bytes, are intact\.\n$/,
  );

  const file = join(location, 'data.mdb');
  const bytes = await readFile(file);
  // Free pages keep their former content.
  for (let at = bytes.indexOf('look for'); at >= 0; at = bytes.indexOf('look for', at + 1)) {
    bytes.write('look fox', at);
  }
  await writeFile(file, bytes);
  const damaged = await check();
  assert.equal(damaged.code, 1);
  assert.match(damaged.stdout, /^page \d+ of the tree 'entries' has a value that does not match/);
  assert.match(damaged.stderr, /error: The data file .* is damaged in \d+ places?\. Restore/);

  const start = await runCli(['start', '--location', location, ...freePorts]);
  assert.equal(start.code, 1);
  assert.match(start.stderr, /data\.mdb is damaged: page \d+ .* tabularium check --location /);
});

void it('tells what a server that was killed has left of its journal', costly(), async () => {
  await using directory = await temporaryDirectory();
  const location = join(directory.path, 'data');
  const check = () => runCommand(['check', '--location', location]);
  const server = await startCli(['--location', location, '--journal', 'on']);
  const row = ['-t', 'people', '--create', 'PartitionKey=a', 'RowKey=b'];
  await runCommand(['table', 'insert', ...row, '-c', connectionStringOf(server)]);
  server.child.kill('SIGKILL');
  await server.result;
  const left = await check();
  assert.equal(left.code, 0, left.stderr);
  assert.match(left.stdout, /No damage: .*\n.* has left its journal: \d+ frames with changes/);

  const file = join(location, 'journal', '1', '000001');
  const content = await readFile(file);
  const corrupted = Buffer.from(content);
  // The first frame is in the first block after the file header.
  corrupted.fill(7, 4_096, 4_196);
  await writeFile(file, corrupted);
  const damaged = await check();
  assert.equal(damaged.code, 1);
  assert.match(damaged.stdout, /^No damage in the data file: /);
  assert.match(damaged.stderr, /error: The journal .*data.journal is damaged: .* lacks frame 1\. /);
  const start = await runCli(['start', '--location', location, ...freePorts]);
  assert.equal(start.code, 1);
  assert.match(start.stderr, /error: The journal .* is damaged: .* lacks frame 1/);

  // The failed start has moved the journal away from processes that might still write to it.
  await writeFile(join(location, 'journal', '1.old', '000001'), content);
  await rename(join(location, 'journal'), join(location, 'elsewhere'));
  assert.match((await check()).stderr, /error: The journal .*data.journal is missing: /);
  await rename(join(location, 'elsewhere'), join(location, 'journal'));
  const again = await startCli(['--location', location]);
  assert.equal(await stopCli(again), 0);
  const settled = await check();
  assert.deepEqual([settled.code, /journal/.test(settled.stdout)], [0, false]);
});

/** The files of extents, each with its size. */
async function contentFiles(location: string): Promise<ReadonlyMap<number, string>> {
  const folder = join(location, 'content', 'extents');
  const names = await readdir(folder, { recursive: true });
  const found = new Map<number, string>();
  for (const name of names) {
    const path = join(folder, name);
    const stats = await stat(path);
    if (stats.isFile()) found.set(stats.size, path);
  }
  return found;
}

void it(
  'reads the content of blobs, and names blob and file of what is not intact',
  costly(),
  async () => {
    await using directory = await temporaryDirectory();
    const location = join(directory.path, 'data');
    const check = (...options: string[]) =>
      runCommand(['check', '--location', location, ...options]);
    const server = await startCli(['--location', location, '--journal', 'on']);
    const connection = ['-c', connectionStringOf(server)];
    const names = ['flipped', 'missing', 'short', 'whole', 'small'];
    for (const [index, name] of names.entries()) {
      const bytes = name === 'small' ? 100 : (index + 2) * 100_000;
      await writeFile(join(directory.path, name), Buffer.alloc(bytes, name));
      const words = [join(directory.path, name), 'photos', '--create'];
      const put = await runCommand(['blob', 'put', ...words, ...connection]);
      assert.equal(put.code, 0, put.stderr);
    }
    // The stored row is only in the journal.
    server.child.kill('SIGKILL');
    await server.result;
    const intact = await check();
    assert.equal(intact.code, 0, intact.stdout + intact.stderr);
    assert.match(intact.stdout, /\nNo damage: 4 files of content, 1\.34 MiB, are intact\.\n$/);

    const files = [...(await contentFiles(location))].sort(([left], [right]) => left - right);
    const [[, flipped] = [], [, missing] = [], [shortBytes, short] = [], [, whole] = []] = files;
    assert.ok(flipped && missing && short && whole && shortBytes);
    const bytes = await readFile(flipped);
    bytes.writeUInt8((bytes[150_000] ?? 0) ^ 1, 150_000);
    await writeFile(flipped, bytes);
    await rm(missing);
    await truncate(short, shortBytes - 10);
    await writeFile(whole.replace(/[^/]+$/, 'zzz'), 'left by a crash');
    const damaged = await check();
    assert.equal(damaged.code, 1);
    const account = 'devstoreaccount1: photos';
    const lines = damaged.stdout.split('\n').filter((line) => line.startsWith('devstore'));
    assert.deepEqual(lines.sort(), [
      `${account}/flipped: ${flipped} does not match its checksums, from byte 131,072 of the ` +
        'content on',
      `${account}/missing: ${missing} is missing`,
      `${account}/short: ${short} is shorter than it was written, or has lost its end`,
    ]);
    assert.match(damaged.stdout, /\n1 file is of no blob: it was given up, or left by a crash\./);
    assert.match(damaged.stderr, /error: The content of .*data is damaged in 3 files\. Restore/);
    const keys = await check('--no-content');
    assert.deepEqual([keys.code, /content/.test(keys.stdout)], [0, false]);
  },
);
