import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { CommandFailure } from '../terminal/failure.js';
import { RemotePartitions } from './remote.js';

/** The ranges of a server that gives each request this answer. */
async function answering(t: TestContext, answer: unknown) {
  const server = createServer((_, response) => response.end(JSON.stringify(answer)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  t.after(() => server.close());
  return new RemotePartitions(port);
}

void describe('what a server is asked that begins a job', () => {
  void it('gives the number of the job', async (t) => {
    const control = await answering(t, { job: 3 });
    assert.deepEqual(await control.cancel(9), { job: 3 });
  });

  void it('fails when a server of another release answers without a job', async (t) => {
    for (const answer of [{ cancelled: true }, { job: '3' }, 3]) {
      const control = await answering(t, answer);
      for (const asked of [() => control.cancel(9), () => control.sizes()]) {
        await assert.rejects(asked, (error: Error) => {
          assert.ok(error instanceof CommandFailure, String(error));
          assert.match(error.message, /may be done.* the server is of another release/);
          return true;
        });
      }
    }
  });
});
