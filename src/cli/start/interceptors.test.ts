import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableServiceClient } from '@azure/data-tables';
import { runCli } from '../../../test/support/cli-process.js';
import {
  connectionStringOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../test/support/cli-server.js';
import { usageErrorOf } from '../../../test/support/start-settings.js';
import { costly } from '../../../test/support/run-length.js';

type CliServer = Awaited<ReturnType<typeof startCli>>;

const busy = { operation: 'QueryTables', effect: { kind: 'error', code: 'ServerBusy' } };

function controlOf({ stdout }: CliServer): string {
  return /Control +(\S+)/.exec(stdout)?.[1] ?? '';
}

/** Names and counters of the fault rules of a server. */
async function faultsOf(server: CliServer): Promise<unknown> {
  const response = await fetch(`${controlOf(server)}/faults`);
  const { faults } = (await response.json()) as { faults: { name: string; fired: number }[] };
  return faults.map(({ name, fired }) => [name, fired]);
}

async function listStatus(server: CliServer): Promise<number> {
  const client = TableServiceClient.fromConnectionString(connectionStringOf(server), {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
  try {
    for await (const _ of client.listTables()) break;
    return 200;
  } catch (error) {
    return Number((error as { statusCode?: unknown }).statusCode);
  }
}

describe('start with faults', () => {
  it(
    'injects those of the command line, says so, and logs which one a request met',
    costly(),
    async () => {
      const fault = JSON.stringify({ ...busy, name: 'by-hand' });
      const server = await startCli([
        '--in-memory',
        '--fault',
        fault,
        '--throttle',
        'azure',
        '--control-port',
        '0',
      ]);
      assert.match(server.stdout, /Faults +1 rule\n {2}Throttle +azure\n {2}Control +http:/);
      assert.equal(await listStatus(server), 503);
      await server.printed('"fault":"by-hand"');
      assert.deepEqual(await faultsOf(server), [['by-hand', 1]]);
      assert.equal(await stopCli(server), 0);
    },
  );

  it(
    'follows its configuration, and leaves alone what that does not change',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const file = join(directory.path, 'tabularium.json');
      const config = { inMemory: true, controlPort: 0, faults: [{ ...busy, name: 'of-file' }] };
      await writeFile(file, JSON.stringify(config));
      const server = await startCli(['--config', file]);
      assert.equal(await listStatus(server), 503);
      const rule = JSON.stringify({ ...busy, name: 'added' });
      await fetch(`${controlOf(server)}/faults`, { method: 'POST', body: rule });
      const account = { name: 'orders', keys: ['c2VjcmV0IGtleSBvZiBvcmRlcnM='] };
      await writeFile(file, JSON.stringify({ ...config, accounts: [account] }));
      await server.printed('configuration reloaded');
      assert.deepEqual(await faultsOf(server), [
        ['of-file', 1],
        ['added', 0],
      ]);
      const throttle = { requestsPerSecondPerAccount: 7 };
      await writeFile(
        file,
        JSON.stringify({ ...config, faults: [], accounts: [account], throttle }),
      );
      await server.printed('configuration reloaded', 2);
      assert.deepEqual(await faultsOf(server), []);
      const limits = await (await fetch(`${controlOf(server)}/throttle`)).json();
      assert.deepEqual(limits, { throttle, refused: 0 });
      assert.equal(await stopCli(server), 0);
    },
  );

  const refused: readonly [what: string, args: readonly string[], says: RegExp][] = [
    ['a rule that is no JSON', ['--fault', 'reset'], /--fault.*must be JSON/],
    [
      'control of workers',
      ['--workers', '2', '--control-port', '0'],
      /--control-port.*--workers 2/,
    ],
    ['a journal for workers', ['--workers', '2', '--journal', 'on'], /--journal on.*--workers 2/],
  ];
  for (const [what, args, says] of refused) {
    it(`refuses ${what}`, async () => {
      assert.match(await usageErrorOf(...args), says);
    });
  }

  it('refuses a wrong rule before any worker starts', costly(), async () => {
    await using directory = await temporaryDirectory();
    const args = ['--workers', '2', '--fault', '{"effect":{"kind":"boom"}}'];
    const { code, stderr } = await runCli(['start', '--location', directory.path, ...args]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^error: --fault\[0\]\.effect\.kind must be error, .* not "boom"/);
  });
});
