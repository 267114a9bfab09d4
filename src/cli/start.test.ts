import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CliProcess, cliProgram, runCli, type CliOptions } from '../../test/support/cli-process.js';
import { usageErrorOf } from '../../test/support/start-settings.js';
import { runCommand } from '../../test/support/command-host.js';
import { costly, sampled } from '../../test/support/run-length.js';
import {
  bannerEnd,
  connectionStringOf,
  endpointOf,
  freePorts,
  heldRequest,
  releasedAnswer,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../test/support/cli-server.js';
import { developmentAccount } from '../services/accounts/directory.js';

const developmentKey = developmentAccount.keys[0] ?? '';

function started(args: readonly string[], options: CliOptions = {}): Promise<CliProcess> {
  return startCli(['--in-memory', ...args], options);
}

void describe('tabularium start', () => {
  void it(
    'prints the endpoint, where data are and a connection string that works',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const server = await startCli(['--location', directory.path]);
      for (const label of ['Tables', 'Queues', 'Blobs'] as const) {
        assert.match(
          endpointOf(server, label).href,
          /^http:\/\/127\.0\.0\.1:\d+\/devstoreaccount1$/,
        );
      }
      assert.ok(server.stdout.includes(directory.path));
      assert.ok(
        !server.stdout.includes('UseDevelopmentStorage'),
        'the port is not the default one',
      );
      assert.ok(server.stdout.includes(developmentKey), 'it is public');
      const insert = ['table', 'insert', '-t', 'people', '--create', 'PartitionKey=a', 'RowKey=b'];
      const written = await runCommand([...insert, '-c', connectionStringOf(server)]);
      assert.equal(written.code, 0, written.stderr);
      assert.equal(await stopCli(server), 0);
    },
  );

  for (const signal of sampled(['SIGINT', 'SIGTERM'] as const, 1)) {
    void it(`finishes the request in flight and ends with 0 at ${signal}`, costly(), async () => {
      const server = await started([]);
      const socket = await heldRequest(server);
      const stopping = server.printed('stopping');
      server.child.kill(signal);
      await stopping;
      assert.match(await releasedAnswer(socket), /^HTTP\/1\.1 201 /);
      const { code } = await server.result;
      assert.equal(code, 0);
    });
  }

  void it(
    'logs the durability of writes where there is one, and none of what is in memory',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const listening = /^\{.*"msg":"listening"\}$/m;
      for (const [args, durability] of [
        [['--in-memory', '--durability', 'relaxed'], undefined],
        [['--location', directory.path], 'durable'],
      ] as const) {
        const server = await startCli(args);
        assert.equal(await stopCli(server), 0);
        const [line = '{}'] = listening.exec(server.stderr) ?? [];
        const fields = JSON.parse(line) as Readonly<Record<string, unknown>>;
        assert.equal(fields['msg'], 'listening');
        assert.equal(fields['durability'], durability);
      }
    },
  );

  void it('ends at once at a second signal', costly(), async () => {
    const server = await started([]);
    const socket = await heldRequest(server);
    server.child.kill('SIGTERM');
    await server.printed('stopping');
    server.child.kill('SIGTERM');
    const { code } = await server.result;
    socket.destroy();
    assert.equal(code, 143);
  });

  for (const service of sampled(['table', 'queue', 'blob'], 1)) {
    void it(
      `names the port in use that the ${service} service needs, and what to do`,
      costly(),
      async () => {
        const other = createServer().listen(0, '127.0.0.1');
        await once(other, 'listening');
        const { port } = other.address() as AddressInfo;
        const args = ['--in-memory', ...freePorts, `--${service}-port`, String(port)];
        const result = await runCli(['start', ...args]);
        other.close();
        assert.equal(result.code, 1);
        assert.match(result.stderr, new RegExp(`Port ${port} .*in use.*--${service}-port`));
      },
    );
  }

  void it('refuses one port for two services', async () => {
    assert.match(
      await usageErrorOf('--in-memory', '--queue-port', '10002'),
      /--queue-port must not be 10002, the port of the table service: each needs its own/,
    );
    assert.match(
      await usageErrorOf('--in-memory', '--blob-port', '10001'),
      /--blob-port must not be 10001, the port of the queue service: each needs its own/,
    );
  });

  void it('names a data directory that is in use', costly(), async () => {
    await using directory = await temporaryDirectory();
    const location = join(directory.path, 'cleared\x1b[2J');
    const args = ['start', ...freePorts, '--location', location];
    const first = new CliProcess(args);
    await first.printed(bannerEnd);
    const second = await runCli(args);
    assert.equal(second.code, 1);
    assert.ok(second.stderr.includes(directory.path));
    assert.match(second.stderr, /in use/);
    assert.equal(await stopCli(first), 0);
    const { stdout } = await first.result;
    assert.ok(!`${stdout}${second.stderr}`.includes('\x1b'), 'a name commands no terminal');
  });

  void it('takes no word for a data directory, and says how to name one', costly(), async () => {
    const { code, stderr } = await runCli(['start', ...freePorts, 'foo']);
    assert.equal(code, 2);
    assert.match(stderr, /not 'foo'\. Did you mean --location foo\? See: tabularium start --help/);
  });

  void it(
    'says that the working directory is gone',
    { skip: process.platform === 'win32' },
    async () => {
      await using directory = await temporaryDirectory();
      const gone = join(directory.path, 'gone');
      await mkdir(gone);
      const command = 'cd "$1" && rmdir "$1" && exec "$2" "$3" start --location data';
      const args = ['-c', command, 'sh', gone, process.execPath, cliProgram];
      const { PATH = '' } = process.env;
      const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8', env: { PATH } });
      const text =
        'error: The working directory does not exist any more: change to one that does.\n';
      assert.deepEqual([status, stderr], [1, text]);
    },
  );

  void it('names a data directory and a log file that cannot be made', costly(), async () => {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, 'file');
    await writeFile(file, '');
    for (const [args, message] of [
      [
        ['--location', file],
        /The data directory .*\bfile cannot be used: .* no directory\. Choose/,
      ],
      [['--in-memory', '--debug', join(file, 'log')], /The log file .*--debug cannot be written/],
    ] as const) {
      const { code, stdout, stderr } = await runCli(['start', ...freePorts, ...args]);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, message);
      assert.ok(!stderr.includes('    at '), stderr);
    }
  });

  void it('accepts the spellings of Azurite', costly(), async () => {
    const line =
      'start --inMemoryPersistence --tablePort 0 --tableHost 127.0.0.1 -s --skipApiVersionCheck ' +
      '--loose --disableTelemetry --disableProductStyleUrl --blobPort 0 --blobHost 127.0.0.3 ' +
      '--queuePort 0 --queueHost 127.0.0.2 --extentMemoryLimit 5 --tableKeepAliveTimeout 7 ' +
      '--queueKeepAliveTimeout 8 --blobKeepAliveTimeout 9';
    const server = new CliProcess(line.split(' '));
    await server.printed(bannerEnd);
    assert.match(server.stdout, /in memory/);
    assert.equal(endpointOf(server, 'Tables').hostname, '127.0.0.1');
    assert.equal(endpointOf(server, 'Queues').hostname, '127.0.0.2');
    assert.equal(endpointOf(server, 'Blobs').hostname, '127.0.0.3');
    for (const [label, seconds] of [
      ['Tables', 7],
      ['Queues', 8],
      ['Blobs', 9],
    ] as const) {
      const { headers } = await fetch(`${endpointOf(server, label).origin}/healthz`);
      assert.equal(headers.get('keep-alive'), `timeout=${seconds}`);
    }
    const flags = ['skipApiVersionCheck', 'loose', 'disableTelemetry', 'disableProductStyleUrl'];
    for (const flag of [...flags, 'extentMemoryLimit']) {
      assert.match(server.stderr, new RegExp(`Note: --${flag} has no effect: .+\\.\n`));
    }
    assert.equal(await stopCli(server), 0);
  });

  void it(
    'serves the accounts of AZURITE_ACCOUNTS and never logs their keys',
    costly(),
    async () => {
      const keys = ['first', 'second', 'third'].map((text) => Buffer.from(text).toString('base64'));
      const server = await started(['--log-level', 'debug'], {
        env: { AZURITE_ACCOUNTS: `one:${keys[0]}:${keys[1]};two:${keys[2]}` },
      });
      const { origin } = endpointOf(server);
      for (const [name, key] of [
        ['one', keys[0]],
        ['one', keys[1]],
        ['two', keys[2]],
      ]) {
        const connection = `AccountName=${name};AccountKey=${key};TableEndpoint=${origin}/${name}`;
        const args = ['table', 'query', '-t', 'none', '-c', connection];
        assert.match((await runCommand(args)).stderr, /TableNotFound/);
      }
      const wrong = `AccountName=two;AccountKey=${keys[0]};TableEndpoint=${origin}/two`;
      const refused = await runCommand(['table', 'query', '-t', 'none', '-c', wrong]);
      assert.match(refused.stderr, /AuthenticationFailed \(403\)/);
      assert.equal(await stopCli(server), 0);
      for (const key of keys) assert.ok(!(server.stdout + server.stderr).includes(key));
      assert.match(server.stderr, /"operation":"QueryEntities"/);
      assert.doesNotMatch(server.stderr, /SharedKey/);
    },
  );

  void it('takes a key that is not base64 by its bytes, and says so', costly(), async () => {
    const key = 'not base64 at all';
    const server = await started(['--account', `mine:${key}`]);
    assert.match(server.stderr, /'mine' is not base64.*\| base64/);
    const { href } = endpointOf(server);
    const text = Buffer.from(key).toString('base64');
    const connection = `AccountName=mine;AccountKey=${text};TableEndpoint=${href}`;
    const result = await runCommand(['table', 'query', '-t', 'none', '-c', connection]);
    assert.match(result.stderr, /TableNotFound/);
    assert.equal(await stopCli(server), 0);
  });

  void it(
    'logs no requests with --silent, and all of them into the file of --debug',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const file = join(directory.path, 'debug.log');
      const loud = await started(['--debug', file]);
      const quiet = await started(['--silent', '--log-level', 'debug']);
      for (const server of [loud, quiet]) await fetch(`${endpointOf(server).href}/Tables`);
      assert.equal(await stopCli(loud), 0);
      assert.equal(await stopCli(quiet), 0);
      assert.match(await readFile(file, 'utf8'), /"msg":"request"/);
      assert.doesNotMatch(loud.stderr, /"msg":/);
      assert.doesNotMatch(quiet.stderr, /"msg":"request"/);
      assert.match(quiet.stderr, /"msg":"stopped"/);
    },
  );

  void it('keeps data in memory only when it is told so plainly', costly(), async () => {
    const env = { TABULARIUM_IN_MEMORY: 'nope' };
    const result = await runCli(['start', ...freePorts], { env });
    assert.equal(result.code, 2);
    assert.match(result.stderr, /TABULARIUM_IN_MEMORY/);
  });
});

void describe('the command line', () => {
  void it('ends with 2 and a suggestion for what it does not know', costly(), async () => {
    const option = await runCli(['start', '--in-memry']);
    assert.equal(option.code, 2);
    assert.match(option.stderr, /unknown option '--in-memry'[\s\S]*--in-memory/);
    const command = await runCli(['tabel']);
    assert.equal(command.code, 2);
    assert.match(command.stderr, /There is no command .*tabel.*Did you mean .tabularium table./);
  });

  void it('prints its version and its help to standard output', costly(), async () => {
    const text = await readFile(new URL('../../../package.json', import.meta.url), 'utf8');
    const { version }: { version?: string } = JSON.parse(text);
    assert.deepEqual((await runCli(['--version'])).stdout, `${version}\n`);
    const help = await runCommand(['table', 'import', '--help']);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /--partition-key/);
  });
});
