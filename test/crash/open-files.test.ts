import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { BlobServiceClient } from '@azure/storage-blob';
import { cliProgram } from '../support/cli-process.js';
import { costly } from '../support/run-length.js';

const openFiles = 150;
const skip = process.platform === 'linux' ? false : 'one machine has one address here';

/** A server whose process may have few open files, and its connection string. */
async function startWithin(location: string) {
  const ports = ['--blob-port', '0', '--queue-port', '0', '--table-port', '0'];
  const limit = `ulimit -n ${openFiles}; exec "$0" "$@"`;
  const args = [
    process.execPath,
    cliProgram,
    'start',
    '--location',
    location,
    '--silent',
    ...ports,
  ];
  const child = spawn('sh', ['-c', limit, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  let printed = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    printed += String(chunk);
    if (printed.includes('to stop.')) break;
  }
  const connection = /DefaultEndpointsProtocol=\S+/.exec(printed)?.[0] ?? assert.fail(printed);
  return { child, connection };
}

/** Connects again and again, and keeps what stays open. */
async function idleConnections(port: number, count: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
  }
  return sockets;
}

it(
  'clients that connect and do nothing leave a server the files that its data need',
  costly(skip),
  async (t) => {
    const location = await mkdtemp(join(tmpdir(), 'tabularium-open-files-'));
    t.after(() => rm(location, { recursive: true, force: true }));
    const { child, connection } = await startWithin(location);
    t.after(() => child.kill('SIGKILL'));
    const service = BlobServiceClient.fromConnectionString(connection);
    const container = service.getContainerClient('box');
    await container.create();
    const tablePort = Number(/TableEndpoint=http:\/\/[^:]+:(\d+)/.exec(connection)?.[1]);
    const idle = await idleConnections(tablePort, 2 * openFiles);
    t.after(() => idle.forEach((socket) => socket.destroy()));
    const bytes = Buffer.alloc(100_000, 'x');
    for (const name of ['a', 'b', 'c']) {
      await container.getBlockBlobClient(name).uploadData(bytes);
      assert.deepEqual(await container.getBlobClient(name).downloadToBuffer(), bytes);
    }
    assert.equal(child.exitCode, null);
  },
);

it(
  'a server that may have too few open files to go on says so instead of starting',
  costly(skip),
  async (t) => {
    const location = await mkdtemp(join(tmpdir(), 'tabularium-open-files-'));
    t.after(() => rm(location, { recursive: true, force: true }));
    for (const words of [[], ['--workers', '2']]) {
      const args = [cliProgram, 'start', '--location', location, '--table-port', '0', ...words];
      const command = ['-c', 'ulimit -n 40; exec "$0" "$@"', process.execPath, ...args];
      const failure: unknown = await promisify(execFile)('sh', command).catch((error) => error);
      assert.match(String(failure), /error: This process may have 40 open files.*ulimit -n 1024/);
    }
  },
);
