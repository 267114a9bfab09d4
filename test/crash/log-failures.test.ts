import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  endpointOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../support/cli-server.js';
import type { CliProcess } from '../support/cli-process.js';
import { startCliWithFaults } from '../support/faults/start-with-faults.js';
import { writeCalls } from '../support/faults/faults.js';
import { withoutFaults } from '../support/faults/shim.js';
import { untilEnded, workerPids } from '../support/process-states.js';
import { sampled } from '../support/run-length.js';
import { costly } from '../support/run-length.js';

const bin = fileURLToPath(new URL('../../../bin/tabularium.js', import.meta.url));
const onWindows = process.platform === 'win32';

const longName = 'x'.repeat(4_000);

/**
 * Sends requests without credentials in sequence: at level debug each writes a log line of 4 KB.
 */
async function ask(server: CliProcess, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const { status } = await fetch(`${endpointOf(server).href}/Tables('${longName}')`);
    assert.equal(status, 401);
  }
}

/** The number of requests in a log. */
function requestsIn(text: string): number {
  return text.split('"msg":"request"').length - 1;
}

void describe('a log that cannot be written', { skip: onWindows }, () => {
  void it(
    'keeps no request waiting when the disk under it is full, and tells what was lost',
    costly(withoutFaults),
    async () => {
      await using directory = await temporaryDirectory();
      const file = join(directory.path, 'debug.log');
      await using faulty = await startCliWithFaults(['--in-memory', '--debug', file]);
      const { server, faults } = faulty;
      await ask(server, 1);
      const action = { kind: 'fail', error: 'ENOSPC' } as const;
      faults.set({ path: 'debug.log', calls: writeCalls, action });
      await ask(server, 500);
      await faults.hit();
      faults.clear();
      while (!(await readFile(file, 'utf8')).includes('lines of the log were lost')) {
        await pause(50);
      }
      await ask(server, 1);
      assert.equal(await stopCli(server), 0);
      const text = await readFile(file, 'utf8');
      const lost = Number(/"lines":(\d+),"msg":"lines of the log were lost/.exec(text)?.[1]);
      assert.ok(lost > 0);
      assert.equal(requestsIn(text) + lost, 502);
      assert.equal(text.trimEnd().split('\n').length, 502 - lost + 4, 'lines are whole');
    },
  );

  void it('is no reason not to start, nor not to end', costly(), async () => {
    const server = await startCli(['--in-memory', '--debug', '/dev/full']);
    await ask(server, 20);
    assert.equal(await stopCli(server), 0);
  });

  void it('keeps nobody waiting when nobody reads it', costly(), async () => {
    const server = await startCli(['--in-memory', '--log-level', 'debug']);
    server.child.stderr.pause();
    await ask(server, 50);
    server.child.kill('SIGTERM');
    const [code] = (await once(server.child, 'exit')) as [number | null];
    assert.equal(code, 0);
    server.child.stderr.destroy();
  });

  for (const signal of sampled(['SIGTERM', 'SIGINT'] as const, 1)) {
    void it(`lets ${signal} end a server whose parent has died`, costly(), async () => {
      const args = JSON.stringify([bin, 'start', '--in-memory', ...freePorts]);
      const parent = spawn(process.execPath, [
        '-e',
        `const child = require('child_process').spawn(process.execPath, ${args});
         let text = '';
         child.stdout.on('data', (chunk) => {
           if ((text += chunk).includes('to stop.')) console.log(child.pid);
         });`,
      ]);
      const [line] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(line.toString());
      parent.kill('SIGKILL');
      await once(parent, 'exit');
      process.kill(pid, signal);
      await untilEnded([pid]);
    });
  }
});

void describe('SIGHUP', { skip: onWindows }, () => {
  void it('ends no server without a configuration, whenever it comes', costly(), async () => {
    const server = await startCli(['--in-memory']);
    for (let at = 0; at < 3; at += 1) server.child.kill('SIGHUP');
    await ask(server, 1);
    assert.equal(await stopCli(server), 0);
  });

  void it('opens the file of the log again, in every process', costly(), async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'debug.log');
    const location = join(directory.path, 'data');
    const server = await startCli(['--location', location, '--workers', '2', '--debug', file]);
    await ask(server, 10);
    // A record is written after its response was sent.
    while (requestsIn(await readFile(file, 'utf8')) < 10) await pause(20);
    await rename(file, `${file}.1`);
    const before = await readFile(`${file}.1`, 'utf8');
    server.child.kill('SIGHUP');
    const reopened = '"msg":"log file opened again"';
    let text = '';
    while (text.split(reopened).length < 4) {
      await pause(20);
      text = await readFile(file, 'utf8').catch(() => '');
    }
    await ask(server, 10);
    assert.equal(await stopCli(server), 0);
    text = await readFile(file, 'utf8');
    assert.equal(requestsIn(text), 10);
    assert.match(text, /"msg":"stopped"/);
    assert.equal(await readFile(`${file}.1`, 'utf8'), before);
    assert.equal(workerPids({ stderr: before }).length, 2);
  });
});
