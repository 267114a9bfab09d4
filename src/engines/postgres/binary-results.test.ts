import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { describe } from 'node:test';
import { Client, DatabaseError } from 'pg';
import { it } from '../../base/conformance/limited-test.js';
import { invariant } from '../../base/invariant.js';
import { readAsBytes } from './binary-results.js';
import { failureOf, type FailureKind } from './failures.js';

/** The body of an error, from its fields with their types. */
function bodyOf(...fields: readonly string[]): Buffer {
  return Buffer.from([...fields, ''].map((field) => `${field}\0`).join(''));
}

function message(code: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(code);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A server that lets clients in and answers their first query with an error. */
async function serverThatFails(error: Buffer): Promise<{ server: Server; port: number }> {
  const welcome = Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]);
  const answer = Buffer.concat([message('E', error), message('Z', Buffer.from('I'))]);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(welcome);
      socket.once('data', () => socket.write(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = server.address();
  invariant(typeof own === 'object' && own !== null, 'a server that listens has a port');
  return { server, port: own.port };
}

async function failureTold(error: Buffer): Promise<DatabaseError> {
  const { server, port } = await serverThatFails(error);
  const client = new Client({ host: '127.0.0.1', port, user: 'user', database: 'name' });
  client.on('error', () => undefined);
  readAsBytes(client);
  try {
    await client.connect();
    await client.query('select 1');
  } catch (thrown) {
    assert.ok(thrown instanceof DatabaseError);
    return thrown;
  } finally {
    await client.end();
    server.close();
  }
  return assert.fail('the query fails');
}

describe('the severity of an error that a client is told', () => {
  it('is read in English from a server that speaks another language', async () => {
    const cases: readonly (readonly [string, string, FailureKind])[] = [
      ['ПАНИКА', 'PANIC', 'lost'],
      ['PANIK', 'PANIC', 'lost'],
      ['致命错误', 'FATAL', 'lost'],
      ['ОШИБКА', 'ERROR', 'refused'],
      ['FEHLER', 'ERROR', 'refused'],
    ];
    for (const [localized, plain, kind] of cases) {
      const error = await failureTold(bodyOf(`S${localized}`, `V${plain}`, 'C53100', 'Mvoll'));
      assert.equal(error.severity, plain);
      assert.equal(error.code, '53100');
      assert.equal(error.message, 'voll');
      assert.equal(failureOf(error), kind);
    }
  });

  it('is the localized one where no other is told', async () => {
    const error = await failureTold(bodyOf('SERROR', 'C53100', 'Mfull'));
    assert.equal(error.severity, 'ERROR');
  });
});
