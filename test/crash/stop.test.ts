import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ServerProcess } from '../support/crash-server.js';
import { costly } from '../support/run-length.js';

it('finishes a request whose body is still coming when SIGTERM arrives', costly(), async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'tabularium-stop-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  let server = await ServerProcess.start(directory);
  t.after(() => server.end('SIGKILL'));
  const setup = server.client();
  await setup.send({ method: 'POST', path: '/Tables', body: '{"TableName":"slow"}' });
  const bytes = setup.bytes({
    method: 'POST',
    path: '/slow',
    headers: { Prefer: 'return-no-content', Expect: '100-continue' },
    body: JSON.stringify({ PartitionKey: 'p', RowKey: 'r', text: 'x'.repeat(20_000) }),
  });
  const socket = connect(server.port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(bytes.subarray(0, bytes.length - 10_000));
  // The server requests the body, so the request is in progress.
  await once(socket, 'data');
  assert.match(received, /^HTTP\/1\.1 100 /);
  const exit = server.end('SIGTERM');
  await pause(300);
  socket.write(bytes.subarray(bytes.length - 10_000));
  const { code } = await exit;
  assert.match(received, /HTTP\/1\.1 204 /);
  assert.equal(code, 0);
  setup.close();
  server = await ServerProcess.start(directory);
  const client = server.client();
  assert.equal((await client.get('slow', 'p', 'r')).status, 200);
  client.close();
});
