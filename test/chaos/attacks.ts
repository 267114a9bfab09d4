import { METHODS } from 'node:http';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { SimRandom } from '../support/sim-random.js';
import { entityPath, type WireClient } from '../wire/kit/client.js';
import { malformedHttp } from '../wire/kit/malformed-http.js';
import { mainTable } from '../crash/load.js';
import { reset } from './dial.js';
import { eventually, Finding, within } from './finding.js';
import type { World } from './world.js';

// Attacks on sockets by other hosts and bad networks. Each attack leaves the server unchanged, and
// resolves when all its connections are closed.

const atOnce = 50;
const upgrades = ['', 'websocket', 'h2c', 'TLS/1.0'];

/** Runs `one` so many times, some at once. */
async function many(count: number, one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}

/** Sends bytes and closes, in one of the ways in which clients go. */
async function sendAndLeave(
  socket: Socket,
  bytes: Buffer | string,
  how: { readonly waitMs: number; readonly leave: 'reset' | 'end' | 'destroy' },
): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.on('data', () => undefined);
  socket.write(bytes);
  // A reset right after the connection would not reach the server at all.
  await Promise.race([pause(how.waitMs), closed]);
  if (how.leave === 'reset') reset(socket);
  else if (how.leave === 'destroy') socket.destroy();
  else socket.end();
  await within('the server closes the connection', closed);
}

function wayOut(random: SimRandom) {
  return { waitMs: random.int(5), leave: random.pick(['reset', 'reset', 'destroy'] as const) };
}

/** Every method, with and without an upgrade, and a reset within milliseconds. */
export async function everyMethod(world: World, rounds: number): Promise<void> {
  const { random } = world;
  const methods = [...METHODS, 'CONNECT', 'CONNECT', 'CONNECT', 'FROB', 'connect'];
  await many(rounds, async () => {
    const method = random.pick(methods);
    const target =
      method === 'CONNECT' ? 'x:1' : random.pick(['/', '*', '/devstoreaccount1/Tables']);
    const upgrade = random.pick(upgrades);
    const more = upgrade === '' ? '' : `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
    const early = random.chance(0.3) ? 'early bytes' : '';
    const bytes = `${method} ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n${early}`;
    await sendAndLeave(world.dial(), bytes, wayOut(random));
  });
}

const rowPath = entityPath(mainTable, 'attacks', 'row');
const rowBody = JSON.stringify({ serial: 0, pad: 'x'.repeat(100) });

/**
 * Replaces the row only if it exists: a request without a waiting client may finish after the row
 * was removed, and must not bring it back.
 */
function replacement(client: WireClient): Buffer {
  const headers = { Expect: undefined, 'If-Match': '*' };
  return client.bytes({ method: 'PUT', path: rowPath, body: rowBody, headers });
}

async function makeRow(client: WireClient): Promise<void> {
  const { status } = await client.send({ method: 'PUT', path: rowPath, body: rowBody });
  if (status !== 204) throw new Finding(`the row of attacks is not made: ${status}`);
}

/** Resets or half-closes a sound request after each of its bytes, or after a share of them. */
export async function everyByte(world: World, share: number): Promise<void> {
  const { random } = world;
  const client = world.tableClient();
  await makeRow(client);
  const bytes = replacement(client);
  await many(bytes.length + 1, async (length) => {
    if (!random.chance(share)) return;
    const socket = world.dial();
    await sendAndLeave(socket, bytes.subarray(0, length), {
      waitMs: random.int(3),
      leave: random.pick(['reset', 'end', 'destroy']),
    });
  });
  await removeRow(client);
}

/** The ledger does not know the row. */
async function removeRow(client: WireClient): Promise<void> {
  const headers = { 'If-Match': '*' };
  const { status } = await client.send({ method: 'DELETE', path: rowPath, headers });
  client.close();
  if (status !== 204) throw new Finding(`the row of attacks: ${status}`);
}

/** The client half-closes at once, and must get its whole response. */
export async function halfOpen(world: World, rounds: number): Promise<void> {
  const client = world.tableClient();
  await makeRow(client);
  const bytes = replacement(client);
  await many(rounds, async () => {
    const socket = connect({ port: world.server.port, host: '127.0.0.1', allowHalfOpen: true });
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.once('end', () => socket.destroy());
    socket.end(bytes);
    await within('the end of a half-open connection', closed);
    if (!/^HTTP\/1\.1 204 [^]*\r\n\r\n$/.test(text)) {
      throw new Finding(`half-open, answered '${text.slice(0, 200)}'`);
    }
  });
  await removeRow(client);
}

/** Many requests at once on one connection must get as many responses, in order. */
export async function pipelining(world: World, count: number): Promise<void> {
  const client = world.tableClient();
  const socket = connect(world.server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  const isThere = Array.from({ length: count }, () => world.random.chance(0.5));
  const requests = isThere.map((there) =>
    client.bytes({ path: `/Tables('${there ? mainTable : 'nowhere'}')` }),
  );
  socket.write(Buffer.concat(requests));
  const statuses = () => Array.from(text.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => status);
  await eventually('pipelined answers', () => statuses().length >= count || socket.destroyed);
  socket.destroy();
  client.close();
  const expected = isThere.map((there) => (there ? '200' : '404')).join();
  if (statuses().join() !== expected) {
    throw new Finding(`${count} pipelined requests: ${statuses().join()}, not ${expected}`);
  }
}

/** Requests large responses many times without reading them, then disconnects. */
export async function neverReading(world: World, connections: number): Promise<void> {
  const client = world.tableClient();
  const query = client.bytes({ path: `/${mainTable}()` });
  const requests = Buffer.concat(Array.from({ length: 50 }, () => query));
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(world.server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(requests);
    return socket;
  });
  await pause(1000);
  for (const socket of sockets) {
    if (world.random.chance(0.5)) reset(socket);
    else socket.destroy();
  }
  client.close();
}

/** A body in chunks of one byte must be stored whole or refused with an error. */
export async function oneByteChunks(world: World, bytes: number): Promise<void> {
  const client = world.tableClient();
  await makeRow(client);
  const body = JSON.stringify({ serial: 0, pad: 'x'.repeat(bytes) });
  const head = client.bytes({
    method: 'PUT',
    path: rowPath,
    headers: {
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
      'Content-Length': undefined,
    },
  });
  const chunks = Array.from(body, (character) => `1\r\n${character}\r\n`).join('');
  const { status, text } = await client.sendRaw(
    Buffer.concat([head, Buffer.from(`${chunks}0\r\n\r\n`)]),
  );
  if (status !== 204 && (status < 400 || status >= 500)) throw new Finding(`${status} ${text}`);
  await removeRow(client);
}

/** Bytes that are no request; over TLS, no handshake. */
export async function nonsense(world: World, rounds: number): Promise<void> {
  const { random } = world;
  await many(rounds, async () => {
    const bytes = random.chance(0.5)
      ? Buffer.from(random.pick(malformedHttp)[1], 'latin1')
      : random.bytes(random.int(300));
    const way = { ...wayOut(random), leave: random.pick(['reset', 'destroy'] as const) };
    const socket = random.chance(0.5) ? world.dial() : connect(world.server.port, '127.0.0.1');
    await sendAndLeave(socket, bytes, way);
  });
}

/** A handshake that stops after each of its bytes. `hello`: a ClientHello. */
export async function brokenHandshakes(world: World, hello: Buffer, share: number): Promise<void> {
  const { random } = world;
  await many(hello.length + 1, async (length) => {
    if (!random.chance(share)) return;
    const socket = connect(world.server.port, '127.0.0.1');
    await sendAndLeave(socket, hello.subarray(0, length), wayOut(random));
  });
}
