import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as fc from 'fast-check';
import { redisSlot } from '../../src/placement/index.js';
import { byLength } from '../support/run-length.js';

// The slots of keys beside those of a server, where one is installed: on the PATH, or where
// REDIS_SERVER_PATH says.

const program = process.env['REDIS_SERVER_PATH'] ?? 'redis-server';
const isThere = spawnSync(program, ['--version']).status === 0;

let folder = '';
let server: ChildProcess | undefined;
let socket: Socket | undefined;

/** A busy machine may take seconds to start a server. */
const attemptsMax = 3000;

async function connected(path: string): Promise<Socket> {
  for (let attempt = 0; ; attempt++) {
    const found = connect(path);
    try {
      await once(found, 'connect');
      return found;
    } catch (error) {
      if (attempt >= attemptsMax) throw error;
      await delay(20);
    }
  }
}

before(async () => {
  if (!isThere) return;
  folder = mkdtempSync(join(tmpdir(), 'tabularium-redis-'));
  const path = join(folder, 'socket');
  const settings = ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no'];
  const cluster = ['--cluster-enabled', 'yes', '--cluster-config-file', join(folder, 'nodes')];
  const args = [...settings, ...cluster, '--dir', folder];
  server = spawn(program, args, { stdio: 'ignore' });
  socket = await connected(path);
});

after(() => {
  socket?.destroy();
  server?.kill('SIGKILL');
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

/** CLUSTER KEYSLOT of each key, asked all at once. */
async function slotsOf(keys: readonly Uint8Array[]): Promise<readonly number[]> {
  assert.ok(socket !== undefined);
  const asked = keys.map((key) =>
    Buffer.concat([
      Buffer.from(`*3\r\n$7\r\nCLUSTER\r\n$7\r\nKEYSLOT\r\n$${key.length}\r\n`),
      key,
      Buffer.from('\r\n'),
    ]),
  );
  socket.write(Buffer.concat(asked));
  let text = '';
  for await (const [piece] of on(socket, 'data', { close: ['close', 'error'] })) {
    text += String(piece);
    const lines = text.split('\r\n').slice(0, -1);
    if (lines.length >= keys.length) return lines.map((line) => Number(line.replace(/^:/, '')));
  }
  throw new Error('the server has closed the connection');
}

/** Keys with braces in every place, and bytes that are no text. */
const key = fc.oneof(
  fc.array(fc.constantFrom(0x7b, 0x7d, 0x61, 0x62, 0xff), { maxLength: 12 }),
  fc.array(fc.nat(255), { maxLength: 40 }),
);

describe(
  'the slots of Redis, beside a server',
  { skip: isThere ? false : 'no redis-server' },
  () => {
    it('are those that the server tells', async () => {
      const count = byLength({ short: 2000, long: 20_000 });
      const keys = fc.sample(key, count).map((bytes) => Uint8Array.from(bytes));
      const told = await slotsOf(keys);
      const wrong = keys.filter((bytes, index) => redisSlot(bytes) !== told[index]);
      assert.deepEqual(wrong, []);
      assert.ok(new Set(told).size > 100);
    });
  },
);
