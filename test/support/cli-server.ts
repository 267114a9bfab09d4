import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { developmentAccount } from '../../src/services/accounts/directory.js';
import { signRequest } from '../../src/wire/auth/shared-key/shared-key.js';
import { CliProcess, type CliOptions } from './cli-process.js';

export const freePorts = ['--table-port', '0', '--queue-port', '0', '--blob-port', '0'];

/** The end of what `tabularium start` prints when it listens. */
export const bannerEnd = 'to stop.';

/** `tabularium start` on free ports; resolves when it listens. */
export async function startCli(
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliProcess> {
  const server = new CliProcess(['start', ...freePorts, ...args], options);
  await server.printed(bannerEnd);
  return server;
}

/** Stops the server orderly; resolves with its exit code. */
export async function stopCli(server: CliProcess): Promise<number | null> {
  server.child.kill('SIGTERM');
  return (await server.result).code;
}

export function endpointOf(
  server: CliProcess,
  label: 'Tables' | 'Queues' | 'Blobs' | 'Control' = 'Tables',
): URL {
  return new URL(new RegExp(`${label} +(\\S+)`).exec(server.stdout)?.[1] ?? '');
}

/** The first connection string that was printed. */
export function connectionStringOf(server: CliProcess): string {
  return /DefaultEndpointsProtocol\S+/.exec(server.stdout)?.[0] ?? '';
}

export const heldBody = '{"TableName":"held"}';

/** A connection with a signed Create Table whose body, `heldBody`, the server waits for. */
export async function heldRequest(server: CliProcess): Promise<Socket> {
  const { hostname, port } = endpointOf(server);
  const { name, keys } = developmentAccount;
  const rawPath = `/${name}/Tables`;
  const xMsDate = new Date().toUTCString();
  const authorization = signRequest(
    'SharedKeyLite',
    { name, key: createSecretKey(Buffer.from(keys[0] ?? '', 'base64')) },
    {
      form: 'table',
      method: 'POST',
      rawPath,
      comp: undefined,
      contentMd5: undefined,
      contentType: 'application/json',
      xMsDate,
    },
  );
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  const head = [
    `POST ${rawPath} HTTP/1.1`,
    'Host: x',
    `x-ms-date: ${xMsDate}`,
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${heldBody.length}`,
    'Accept: application/json',
    'Expect: 100-continue',
    'Connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 100 /);
  return socket;
}

/** Sends the body of a held request; resolves with the complete response. */
export async function releasedAnswer(socket: Socket): Promise<string> {
  socket.write(heldBody);
  const chunks: Buffer[] = [];
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Removed when it is disposed of. */
export async function temporaryDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'tabularium-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
