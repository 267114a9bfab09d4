import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { CliProcess, cliProgram, type CliResult } from '../../../test/support/cli-process.js';
import { temporaryDirectory } from '../../../test/support/cli-server.js';
import { costly } from '../../../test/support/run-length.js';
import { startServer, type StartedServer } from '../../../test/support/start-server.js';
import { createServer } from '../../app/index.js';

const count = 20;
const names = Array.from({ length: count }, (_, at) => `n${at}`);
const insecure = { allowInsecureConnection: true };

/** Runs a command whose output has no reader. */
function unread(args: readonly string[], input = ''): Promise<CliResult> {
  const command = new CliProcess(args, { input });
  command.child.stdout.destroy();
  return command.result;
}

describe('a command whose reader closes the output', () => {
  let started: StartedServer;
  let connection: string;

  before(async () => {
    started = await startServer();
    connection = started.server.connectionString();
  });
  after(() => started[Symbol.asyncDispose]());

  it('does all that it was asked for', costly(), async () => {
    await using directory = await temporaryDirectory();
    for (const name of names) await writeFile(join(directory.path, name), name);
    const container = BlobServiceClient.fromConnectionString(connection).getContainerClient('box');
    await container.create();
    const put = await unread(['blob', 'put', '-r', directory.path, 'box', '-c', connection]);
    assert.equal(put.code, 0, put.stderr);
    const stored: string[] = [];
    for await (const { name } of container.listBlobsFlat()) stored.push(name);
    assert.equal(stored.length, count);

    const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('lines');
    await queue.create();
    const lines = ['queue', 'put', '-q', 'lines', '--lines', '-c', connection];
    const added = await unread(lines, names.map((name) => `${name}\n`).join(''));
    assert.equal(added.code, 0, added.stderr);
    assert.equal((await queue.getProperties()).approximateMessagesCount, count);
  });

  it('ends if it only prints, and deletes nothing that was not delivered', costly(), async () => {
    const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('kept');
    await queue.create();
    for (const name of names) await queue.sendMessage(name);
    const all = ['-q', 'kept', '-n', String(count), '--delete'];
    assert.equal((await unread(['queue', 'get', ...all, '-c', connection])).code, 0);
    assert.equal((await queue.getProperties()).approximateMessagesCount, count);
  });

  it('reports damage that it has found by its exit code', costly(), async () => {
    await using directory = await temporaryDirectory();
    const location = directory.path;
    const server = await createServer({ location, tablePort: 0, queuePort: 0, blobPort: 0 });
    const table = TableClient.fromConnectionString(server.connectionString(), 'rows', insecure);
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: 'r', text: 'the value to look for' });
    await server.close();
    const file = join(location, 'data.mdb');
    const bytes = await readFile(file);
    for (let at = bytes.indexOf('look for'); at >= 0; at = bytes.indexOf('look for', at + 1)) {
      bytes.write('look fox', at);
    }
    await writeFile(file, bytes);
    const check = await unread(['check', '--location', location]);
    assert.equal(check.code, 1);
    assert.match(check.stderr, /is damaged in \d+ places?/);
  });
});

const skip = existsSync('/dev/full') ? false : 'there is no /dev/full';

describe('a command whose output cannot be written', () => {
  for (const args of [['--version'], ['sas', 'table', '--help'], ['queue', 'list']]) {
    it(`fails and says why: ${args.join(' ')}`, costly(skip), async () => {
      await using started = await startServer();
      const env = { AZURE_STORAGE_CONNECTION_STRING: started.server.connectionString() };
      const full = openSync('/dev/full', 'w');
      const child = spawn(process.execPath, [cliProgram, ...args], {
        env: { PATH: process.env['PATH'] ?? '', ...env },
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      let said = '';
      child.stderr?.on('data', (chunk) => (said += String(chunk)));
      const [code] = (await once(child, 'close')) as [number | null];
      assert.equal(code, 1);
      assert.match(said, /^error: The output cannot be written: ENOSPC[^\n]*\n$/);
    });
  }
});
