import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { runCli } from '../../test/support/cli-process.js';
import {
  connectionStringOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../test/support/cli-server.js';

void it('tells whether a data directory is intact, and lists what is not', async () => {
  await using directory = await temporaryDirectory();
  const location = join(directory.path, 'data');
  const check = () => runCli(['check', '--location', location]);
  assert.match((await check()).stderr, /error: There are no data to check in /);
  const server = await startCli(['--location', location]);
  const row = ['PartitionKey=a', 'RowKey=b', 'text=the value to look for'];
  const connection = ['-c', connectionStringOf(server)];
  await runCli(['table', 'insert', '-t', 'people', '--create', ...row, ...connection]);
  const busy = await check();
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, /error: A server uses the data directory .* Stop it first/);
  assert.doesNotMatch(busy.stderr, /Checking/);
  assert.equal(await stopCli(server), 0);

  const intact = await check();
  assert.equal(intact.code, 0, intact.stderr);
  assert.match(intact.stderr, /^Checking .*data\.mdb \([\d,]+ bytes\)\n/);
  assert.match(intact.stdout, /^No damage: \d+ entries are intact\.\n$/);

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

void it('tells what a server that was killed has left of its journal', async () => {
  await using directory = await temporaryDirectory();
  const location = join(directory.path, 'data');
  const check = () => runCli(['check', '--location', location]);
  const server = await startCli(['--location', location, '--journal', 'on']);
  const row = ['-t', 'people', '--create', 'PartitionKey=a', 'RowKey=b'];
  await runCli(['table', 'insert', ...row, '-c', connectionStringOf(server)]);
  server.child.kill('SIGKILL');
  await server.result;
  const left = await check();
  assert.equal(left.code, 0, left.stderr);
  assert.match(left.stdout, /No damage: .*\n.* has left its journal: \d+ frames with changes/);

  const file = join(location, 'journal', '1', '000001');
  const content = await readFile(file);
  const spoilt = Buffer.from(content);
  // The first frame is in the first block after the file header.
  spoilt.fill(7, 4_096, 4_196);
  await writeFile(file, spoilt);
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
