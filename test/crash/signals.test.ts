import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { byLength, costly, drawn, sampled } from '../support/run-length.js';
import { CliProcess } from '../support/cli-process.js';
import {
  freePorts,
  heldRequest,
  releasedAnswer,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import { untilEnded, workerPids } from '../support/process-states.js';
import { numberSetting } from '../support/sim-settings.js';

// Signals from the first milliseconds of a start to the last of a stop. TABULARIUM_SIGNAL_STEP_MS
// sets the milliseconds between the moments that are tried.

const stepMs = numberSetting('TABULARIUM_SIGNAL_STEP_MS', byLength({ short: 900, long: 100 }));
const startMs = 900;
/** From the first signal to after the end of a stop. */
const stopMs = 300;

/** The first moment, in a time in which every moment has its turn over many runs. */
function firstMs(lengthMs: number): number {
  return drawn(Math.min(stepMs, lengthMs));
}

const furtherSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * An orderly end, or an end by the signal: before the program handles it, or as the second signal.
 */
const documented = new Set<number | NodeJS.Signals | null>([0, 143, 130, 'SIGTERM', 'SIGINT']);

const cases = [
  ['SIGTERM'],
  ['SIGINT', 'SIGTERM'],
] as const satisfies readonly (readonly NodeJS.Signals[])[];

/** Sends SIGHUP to a process when it begins to load the program. */
const hangupHook = `export function resolve(name, context, next) {
  if (name.endsWith('/cli/main.js')) process.kill(process.pid, 'SIGHUP');
  return next(name, context);
}`;
const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const hangupWhileLoading = [
  '--import',
  asModule(
    `import { register } from 'node:module'; register(${JSON.stringify(asModule(hangupHook))});`,
  ),
];

void describe('SIGHUP while the program is being loaded', () => {
  void it('does not end a server, by whatever name it is started', costly(), async () => {
    for (const name of sampled([['start'], ['azurite'], []], 1)) {
      const args = [...name, '--in-memory', ...freePorts];
      const server = new CliProcess(args, { nodeArgs: hangupWhileLoading });
      await server.printed('to stop.');
      server.child.kill('SIGTERM');
      assert.equal((await server.result).code, 0);
    }
  });

  void it('ends another command', costly(), async () => {
    const args = ['check', '--location', '/nowhere'];
    const { signal } = await new CliProcess(args, { nodeArgs: hangupWhileLoading }).result;
    assert.equal(signal, 'SIGHUP');
  });
});

for (const workers of sampled(['1', '2'], 1)) {
  void describe(`signals at any time, ${workers} workers`, () => {
    for (const signals of cases) {
      void it(
        `${signals.join(' and ')}: it ends as documented, and the directory starts again`,
        costly(),
        async () => {
          await using directory = await temporaryDirectory();
          const location = ['--location', join(directory.path, 'data'), '--workers', workers];
          for (let atMs = firstMs(startMs); atMs <= startMs; atMs += stepMs) {
            const server = new CliProcess(['start', ...freePorts, ...location]);
            await pause(atMs);
            for (const signal of signals) {
              server.child.kill(signal);
              await pause(5);
            }
            const { code, signal, stderr } = await server.result;
            assert.ok(
              documented.has(code ?? signal),
              `${code} ${signal} after ${atMs} ms: ${stderr}`,
            );
            await untilEnded(workerPids({ stderr }));
          }
          assert.equal(await stopCli(await startCli(location)), 0);
        },
      );
    }

    void it(
      'one signal more while it stops: it ends as documented, and the directory starts again',
      costly(),
      async () => {
        await using directory = await temporaryDirectory();
        const location = ['--location', join(directory.path, 'data'), '--workers', workers];
        let round = 0;
        for (let atMs = firstMs(stopMs); atMs <= stopMs; atMs += stepMs) {
          const server = await startCli(location);
          // A request in progress, so that the stop has to wait.
          const held = await heldRequest(server);
          const further = furtherSignals[round++ % furtherSignals.length] ?? 'SIGTERM';
          server.child.kill('SIGTERM');
          await pause(atMs);
          server.child.kill(further);
          if (further === 'SIGHUP') await releasedAnswer(held);
          const { code, signal, stderr } = await server.result;
          const how = `${code} ${signal} by ${further} after ${atMs} ms: ${stderr}`;
          const isEnded = further === 'SIGHUP' ? code === 0 : documented.has(code ?? signal);
          // In the last moments of the process none of its code runs, and the signal ends it.
          assert.ok(isEnded || signal === further, how);
          held.destroy();
          await untilEnded(workerPids({ stderr }));
        }
        assert.equal(await stopCli(await startCli(location)), 0);
      },
    );

    void it(
      'SIGHUP, again and again: it goes on, and stops when it is told to',
      costly(),
      async () => {
        await using directory = await temporaryDirectory();
        const location = ['--location', join(directory.path, 'data'), '--workers', workers];
        const server = await startCli(location);
        const hangups = setInterval(() => server.child.kill('SIGHUP'), 10);
        await pause(200);
        server.child.kill('SIGTERM');
        const { code, signal, stderr } = await server.result;
        clearInterval(hangups);
        // In the last moments of the process none of its code runs, and the signal ends it.
        assert.ok(code === 0 || signal === 'SIGHUP', `${code} ${signal}`);
        assert.match(stderr, /"msg":"stopped"/);
      },
    );
  });
}
