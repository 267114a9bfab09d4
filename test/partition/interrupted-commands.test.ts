import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { CliProcess } from '../support/cli-process.js';
import { costly } from '../support/run-length.js';

// What commands on ranges say when a signal ends them.

void describe('the commands on partitions', () => {
  const interrupted: Readonly<Record<string, RegExp>> = {
    'move 5 --to b': /^Operation 7 has .*\nOperation 7 goes on in the server.*cancel 7\.\n$/,
    'restore 5 --from /backup': /^The restore, operation 7, goes on in the server.*cancel 7\.\n$/,
    'cancel 7': /^The server goes on undoing operation 7\..*\n$/,
    'balance --dry-run': /^No operation has begun\.\n$/,
  };
  for (const [words, said] of Object.entries(interrupted)) {
    void it(
      `say in one line what goes on when they are interrupted: ${words}`,
      costly(),
      async () => {
        const plan = { operations: [], measuredMs: 1, neededMs: 15_000 };
        const running = { operation: 7, job: 3, state: 'running', kind: 'move', done: 0, unit: '' };
        const server = createHttpServer((request, response) => {
          response.setHeader('Content-Type', 'application/json');
          const begun = { operation: 7, ...(!words.startsWith('move') && { job: 3 }) };
          const answer = request.method === 'GET' ? running : { ...begun, ...plan };
          response.end(JSON.stringify(answer));
        });
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const access = ['--control-port', String(port)];
        const command = new CliProcess(['partition', ...words.split(' '), ...access]);
        // It is asked for the operation when the signal can be told.
        await once(server, 'request');
        await once(server, 'request');
        command.child.kill('SIGINT');
        const { signal, stderr } = await command.result;
        server.closeAllConnections();
        server.close();
        assert.equal(signal, 'SIGINT');
        assert.match(stderr, said);
      },
    );
  }

  void it(
    'say of what a silent server was asked to begin that it may begin',
    costly(),
    async () => {
      const server = createHttpServer(() => undefined);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const words = ['partition', 'move', '5', '--to', 'b', '--control-port', String(port)];
      const command = new CliProcess(words);
      await once(server, 'request');
      command.child.kill('SIGTERM');
      const { signal, stderr } = await command.result;
      server.closeAllConnections();
      server.close();
      assert.deepEqual(
        [signal, stderr],
        ['SIGTERM', 'It may begin all the same. See tabularium partition list.\n'],
      );
    },
  );
});
