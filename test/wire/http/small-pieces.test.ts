import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endpointOf, startCli, stopCli, temporaryDirectory } from '../../support/cli-server.js';
import {
  openConnection,
  plainRequest,
  signedRequest,
  type RawConnection,
  type RawRequest,
} from '../../support/raw-http.js';
import type { CliProcess } from '../../support/cli-process.js';
import { tableSas, withSas, type SasParameters } from '../kit/sas.js';
import { costly } from '../../support/run-length.js';

const table = 'pieces';
const service = '/devstoreaccount1';
/** Allows adding rows only. */
const adds = tableSas({ tn: table, sp: 'a' });

const chunkedJson = {
  Host: '127.0.0.1',
  'x-ms-version': '2019-02-02',
  Accept: 'application/json;odata=nometadata',
  'Content-Type': 'application/json',
  'Transfer-Encoding': 'chunked',
};

function entityOf(rowKey: string): string {
  return JSON.stringify({ PartitionKey: 'p', RowKey: rowKey, text: 'x'.repeat(300) });
}

function rowPath(rowKey: string): string {
  return `${service}/${table}(PartitionKey='p',RowKey='${rowKey}')`;
}

function headOf(method: string, path: string, token: SasParameters): Buffer {
  return plainRequest({ method, target: withSas(path, token), headers: chunkedJson });
}

/** Sends chunks of one byte, each in its own TLS record. */
async function drip(connection: RawConnection, body: string): Promise<void> {
  for (const byte of body) {
    connection.write(`1\r\n${byte}\r\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function statusOf(port: number, request: RawRequest): Promise<number> {
  using connection = openConnection(port, true);
  connection.write(signedRequest(request));
  return (await connection.read())?.status ?? 0;
}

/** The status of an insert whose body arrives in chunks of one byte. */
async function insertInPieces(port: number, rowKey: string): Promise<number> {
  using connection = openConnection(port, true);
  connection.write(headOf('POST', `${service}/${table}`, adds));
  await drip(connection, entityOf(rowKey));
  connection.write('0\r\n\r\n');
  return (await connection.read())?.status ?? 0;
}

/** Disconnects in the middle of a body. */
async function leaveHalfway(port: number, rowKey: string): Promise<void> {
  using connection = openConnection(port, true);
  connection.write(headOf('POST', `${service}/${table}`, adds));
  await drip(connection, entityOf(rowKey).slice(0, 200));
  connection.socket.destroy();
}

/** The status of a replacement with an incomplete body. */
async function replaceInPieces(port: number, rowKey: string): Promise<number> {
  using connection = openConnection(port, true);
  connection.write(headOf('PUT', rowPath(rowKey), adds));
  await drip(connection, '{"text":');
  return (await connection.read())?.status ?? 0;
}

async function startWorkersOverTls(location: string): Promise<CliProcess> {
  const flags = ['--workers', '2', '--tls', 'self-signed', '--location', location];
  const server = await startCli(flags);
  await server.printed('"msg":"a worker listens"', 2);
  return server;
}

it(
  'takes bodies in chunks of one byte over TLS with workers, and no more than a token allows',
  costly(),
  async () => {
    await using directory = await temporaryDirectory();
    const server = await startWorkersOverTls(directory.path);
    const port = Number(endpointOf(server).port);
    const body = JSON.stringify({ TableName: table });
    assert.equal(await statusOf(port, { method: 'POST', target: `${service}/Tables`, body }), 201);
    const names = Array.from({ length: 12 }, (_, index) => `r${index}`);

    const inserted = await Promise.all([
      ...names.map((name) => insertInPieces(port, name)),
      ...names.map((name) => leaveHalfway(port, `half-${name}`).then(() => 201)),
    ]);
    assert.deepEqual(new Set(inserted), new Set([201]));
    const again = await Promise.all(names.slice(0, 4).map((name) => insertInPieces(port, name)));
    assert.deepEqual(new Set(again), new Set([409]));
    const replaced = await Promise.all(
      names.slice(0, 4).map((name) => replaceInPieces(port, name)),
    );
    assert.deepEqual(new Set(replaced), new Set([403]), 'refused before the end of its body');

    using reader = openConnection(port, true);
    reader.write(signedRequest({ target: `${service}/${table}()` }));
    const page = (await reader.read())?.json['value'] as { RowKey: string; text: string }[];
    const rows = page.map(({ RowKey, text }) => `${RowKey} ${text.length}`);
    assert.deepEqual(
      rows,
      names.toSorted().map((name) => `${name} 300`),
    );
    reader.socket.destroy();
    assert.equal(await stopCli(server), 0);
  },
);
