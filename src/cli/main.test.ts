import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startCli, stopCli } from '../../test/support/cli-server.js';
import { costly } from '../../test/support/run-length.js';

/** Makes objects that survive, at a signal, within the program. */
const survivors = `
  process.on('SIGUSR2', () => {
    const kept = [];
    const make = (made) => [{ made }, [made]];
    for (let made = 0; made < 500_000; made += 1) kept.push(make(made));
    console.log('made ' + kept.length);
  });
`;

void describe('the program', () => {
  void it(
    'has new objects allocated in the young generation, whatever survives',
    costly(),
    async () => {
      const module = `data:text/javascript,${encodeURIComponent(survivors)}`;
      const nodeArgs = ['--trace-pretenuring-statistics', '--import', module];
      const server = await startCli(['--in-memory'], { nodeArgs });
      server.child.kill('SIGUSR2');
      await server.printed('made 500000');
      assert.equal(await stopCli(server), 0);
      assert.doesNotMatch(server.stdout, /AllocationSite/);
    },
  );
});
