import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { TableServiceClient, AzureNamedKeyCredential } from '@azure/data-tables';
import { runCli, type CliProcess } from '../../../test/support/cli-process.js';
import {
  connectionStringOf,
  endpointOf,
  freePorts,
  heldRequest,
  releasedAnswer,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../test/support/cli-server.js';
import { usageErrorOf } from '../../../test/support/start-settings.js';
import { workerPids } from '../../../test/support/process-states.js';
import { costly, sampled } from '../../../test/support/run-length.js';
import { developmentAccount } from '../../services/accounts/directory.js';

const [keyA = '', keyB = '', keyC = ''] = ['key a', 'key b', 'key c'].map((text) =>
  Buffer.from(`the secret of ${text}`).toString('base64'),
);
const isPosix = process.platform !== 'win32';
const reloaded = '"msg":"configuration reloaded"';
const notReloaded = '"msg":"configuration not reloaded';

const first = (key: string): object => ({ name: 'first', keys: [key] });

function accountsText(accounts: Readonly<Record<string, readonly string[]>>): string {
  return JSON.stringify({
    accounts: Object.entries(accounts).map(([name, keys]) => ({ name, keys })),
  });
}

/** Replaces the file atomically, as editors and deployments do. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.next`, text);
  await rename(`${file}.next`, file);
}

/** The status of a signed request on a new connection. */
async function statusWith(server: CliProcess, account: string, key: string): Promise<number> {
  const client = new TableServiceClient(
    `${endpointOf(server).origin}/${account}`,
    new AzureNamedKeyCredential(account, key),
    { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } },
  );
  try {
    for await (const _ of client.listTables()) break;
    return 200;
  } catch (error) {
    const { statusCode } = error as { readonly statusCode?: number };
    if (statusCode === undefined) throw error;
    return statusCode;
  }
}

describe('tabularium start --config', () => {
  it(
    'goes before defaults, behind the environment and behind the command line',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const config = join(directory.path, 'config.yaml');
      await writeFile(
        config,
        'location: data\nhost: 127.0.0.3\nworkers: 2\ndurability: relaxed\nlogLevel: debug\n' +
          'queues: { host: 127.0.0.4, limits: { keepAliveTimeoutMs: 7000 } }\n' +
          `accounts: [{ name: filed, keys: [${keyA}] }]\n`,
      );
      const server = await startCli(['--config', config, '--workers', '1'], {
        env: { TABULARIUM_HOST: '127.0.0.2' },
        cwd: directory.path,
      });
      assert.equal(endpointOf(server, 'Tables').hostname, '127.0.0.2');
      assert.equal(endpointOf(server, 'Queues').hostname, '127.0.0.4');
      assert.ok(server.stdout.includes(join(directory.path, 'data')));
      assert.match(server.stdout, /relaxed durability/);
      assert.doesNotMatch(server.stdout, /Workers/);
      assert.equal(await statusWith(server, 'filed', keyA), 200);
      const { headers } = await fetch(`${endpointOf(server, 'Queues').origin}/healthz`);
      assert.equal(headers.get('keep-alive'), 'timeout=7');
      assert.equal(await stopCli(server), 0);
      assert.match(server.stderr, /"operation":"QueryTables"/, 'the log level of the file');
    },
  );

  it('applies where a variable of the environment is empty', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.yaml');
    await writeFile(config, 'host: 127.0.0.3\nlocation: data\n');
    const names = ['HOST', 'LOCATION', 'INIT', 'WORKERS', 'TLS', 'THROTTLE', 'LOG_LEVEL'];
    const env = Object.fromEntries(names.map((name) => [`TABULARIUM_${name}`, '']));
    const server = await startCli(['--config', config], { env, cwd: directory.path });
    assert.equal(endpointOf(server).hostname, '127.0.0.3');
    assert.ok(server.stdout.includes(join(directory.path, 'data')));
    assert.equal(await stopCli(server), 0);
  });

  it('does not replace empty options, which are refused: an empty address means every network', async () => {
    for (const option of ['host', 'tableHost', 'location', 'config', 'init', 'debug', 'tls-cert']) {
      const said = await usageErrorOf(`--${option}=`);
      assert.equal(said, `--${option} is empty: give a value, or leave it out.`);
    }
  });

  it('is named by the environment, and says when its accounts are not used', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.json');
    await writeFile(config, accountsText({ filed: [keyA] }));
    const server = await startCli(['--in-memory', '--account', `given:${keyB}`], {
      env: { TABULARIUM_CONFIG: config },
    });
    assert.match(
      server.stderr,
      /Note: The accounts of the configuration file are not served: --acc/,
    );
    assert.equal(await statusWith(server, 'given', keyB), 200);
    assert.equal(await statusWith(server, 'filed', keyA), 404);
    assert.equal(await stopCli(server), 0);
  });

  it('lists every mistake in the file, and does not start', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.yaml');
    await writeFile(config, 'inMemory: yes\nacounts: []\n');
    const result = await runCli(['start', ...freePorts, '--config', config]);
    assert.equal(result.code, 2);
    assert.match(result.stderr, /config\.yaml:1:11: inMemory must be true or false, not "yes"/);
    assert.match(result.stderr, /config\.yaml:2:1: .*Did you mean 'accounts'\?/);
    await writeFile(
      config,
      accountsText({ twice: [keyA] }).replace('[{', '[{"name":"twice","keys":["a"]},{'),
    );
    assert.match(await usageErrorOf('--config', config), /twice/);
  });

  for (const workers of sampled([1, 2], 1)) {
    it(
      `changes keys and accounts while requests run, with ${workers} workers`,
      costly(),
      async () => {
        await using directory = await temporaryDirectory();
        const config = join(directory.path, 'config.json');
        await writeFile(config, accountsText({ first: [keyA] }));
        const args = ['--config', config, '--location', join(directory.path, 'data')];
        const server = await startCli([...args, '--workers', String(workers)]);
        const over = new AbortController();
        const statuses: number[] = [];
        // The first key is replaced by the second, which is valid during the whole test.
        const load = async (): Promise<void> => {
          while (!over.signal.aborted) {
            statuses.push(await statusWith(server, 'first', keyB));
            await pause(10);
          }
        };
        // A single process watches the file; a server with workers gets SIGHUP.
        const change = async (accounts: Readonly<Record<string, readonly string[]>>) => {
          await replaceFile(config, accountsText(accounts));
          if (workers > 1) server.child.kill('SIGHUP');
        };
        await change({ first: [keyA, keyB] });
        await server.printed(reloaded);
        const running = Promise.all([load(), load(), load()]);
        assert.equal(await statusWith(server, 'first', keyA), 200);
        await change({ first: [keyB], second: [keyC] });
        await server.printed(reloaded, 2);
        for (let time = 0; time < 4; time++) {
          assert.equal(await statusWith(server, 'first', keyA), 403);
          assert.equal(await statusWith(server, 'second', keyC), 200);
        }
        await change({ first: [keyB, keyC] });
        await server.printed(reloaded, 3);
        for (let time = 0; time < 4; time++) {
          assert.equal(await statusWith(server, 'second', keyC), 404);
          assert.equal(await statusWith(server, 'first', keyC), 200);
        }
        over.abort();
        await running;
        assert.ok(statuses.length > 0);
        assert.deepEqual([...new Set(statuses)], [200]);
        assert.equal(await stopCli(server), 0);
        for (const key of [keyA, keyB, keyC]) assert.ok(!server.stderr.includes(key));
      },
    );
  }

  it(
    'checks the credentials of a request again whose body is still to come when accounts change',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const config = join(directory.path, 'config.json');
      const { name, keys } = developmentAccount;
      await writeFile(config, accountsText({ [name]: keys, other: [keyA] }));
      const server = await startCli(['--in-memory', '--config', config]);
      const kept = await heldRequest(server);
      await replaceFile(config, accountsText({ [name]: [...keys, keyB], other: [keyA] }));
      await server.printed(reloaded);
      assert.match(await releasedAnswer(kept), /^HTTP\/1\.1 201 /);
      const lost = await heldRequest(server);
      await replaceFile(config, accountsText({ other: [keyA] }));
      await server.printed(reloaded, 2);
      assert.equal(await statusWith(server, name, keys[0] ?? ''), 404);
      const answer = releasedAnswer(lost);
      assert.equal(await stopCli(server), 0);
      assert.match(await answer, /^HTTP\/1\.1 404 /);
    },
  );

  it('holds on to what it has when the file is broken, and says why', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.json');
    await writeFile(config, accountsText({ first: [keyA] }));
    const server = await startCli(['--in-memory', '--config', config]);
    await replaceFile(config, '{"accounts": [{"name": "first", "keys": ["');
    await server.printed(notReloaded);
    assert.match(server.stderr, /config\.json:1:\d+: /);
    assert.equal(await statusWith(server, 'first', keyA), 200);
    await replaceFile(config, accountsText({ first: [keyA], 'Not-Good': [keyB] }));
    await server.printed(notReloaded, 2);
    await replaceFile(config, accountsText({ first: [keyB] }));
    await server.printed(reloaded);
    assert.equal(await statusWith(server, 'first', keyB), 200);
    assert.equal(await stopCli(server), 0);
  });

  /** Each starts three processes and more: the short form of the tests has one of them. */
  const withWorkers: Readonly<Record<string, () => Promise<void>>> = {
    'logs one line for one save that is refused, and not one a worker': async () => {
      await using directory = await temporaryDirectory();
      const [config, keyFile] = ['config.json', 'key'].map((name) => join(directory.path, name));
      assert.ok(config !== undefined && keyFile !== undefined);
      await writeFile(keyFile, keyA);
      const text = '{"accounts": [{"name": "first", "keys": [{"file": "key"}]}]}';
      await writeFile(config, text);
      const args = ['--config', config, '--location', join(directory.path, 'data')];
      const server = await startCli([...args, '--workers', '2']);
      // Only the watch sees this change; the key file is not read.
      await replaceFile(config, '{');
      await server.printed(notReloaded);
      // A deployment sends a signal as well, before the watch sees the change.
      await replaceFile(config, text.replace('first', 'Not-Good'));
      server.child.kill('SIGHUP');
      await server.printed(notReloaded, 2);
      // Longer than the watch takes.
      await pause(2_500);
      await replaceFile(config, text.replace('first', 'other'));
      await server.printed(reloaded);
      assert.equal(server.stderr.split(notReloaded).length - 1, 2);
      assert.equal(await stopCli(server), 0);
    },
    'gives a worker that replaces another one what holds, although the file is broken':
      async () => {
        await using directory = await temporaryDirectory();
        const config = join(directory.path, 'config.json');
        await writeFile(config, accountsText({ first: [keyA] }));
        const args = ['--config', config, '--location', join(directory.path, 'data')];
        const server = await startCli([...args, '--workers', '2']);
        await replaceFile(config, accountsText({ first: [keyB] }));
        await server.printed(reloaded);
        await replaceFile(config, '{');
        await server.printed(notReloaded);
        for (const pid of workerPids(server)) process.kill(pid, 'SIGKILL');
        await server.printed('"msg":"a worker listens"', 4);
        for (let time = 0; time < 4; time++) {
          assert.equal(await statusWith(server, 'first', keyB), 200);
        }
        assert.equal(await stopCli(server), 0);
      },
    'gives a worker that replaces another one no setting that waits for a restart': async () => {
      await using directory = await temporaryDirectory();
      const config = join(directory.path, 'config.json');
      await writeFile(config, JSON.stringify({ location: 'data', tls: 'self-signed' }));
      const server = await startCli(['--config', config, '--workers', '2']);
      await server.printed('"msg":"a worker listens"', 2);
      const env = { NODE_EXTRA_CA_CERTS: join(directory.path, 'data', 'tls', 'certificate.pem') };
      const asClient = async (...args: readonly string[]): Promise<string> => {
        const given = ['-t', 'people', '-c', connectionStringOf(server)];
        const { code, stdout, stderr } = await runCli(['table', ...args, ...given], { env });
        assert.equal(code, 0, stderr);
        return stdout;
      };
      await asClient('insert', '--create', 'PartitionKey=a', 'RowKey=b');
      await replaceFile(config, JSON.stringify({ location: 'other', strictApiVersions: true }));
      await server.printed('need a restart');
      assert.match(server.stderr, /"members":\["location","strictApiVersions","tls"\]/);
      for (const pid of workerPids(server)) process.kill(pid, 'SIGKILL');
      await server.printed('"msg":"a worker listens"', 4);
      for (let time = 0; time < 2; time++) assert.match(await asClient('query'), /^a +b /m);
      assert.equal(await stopCli(server), 0);
    },
  };
  for (const [name, run] of sampled(Object.entries(withWorkers), 1)) it(name, costly(), run);

  it('warns of files that every user of the machine may use', { skip: !isPosix }, async () => {
    await using directory = await temporaryDirectory();
    const [config, keyFile] = ['config.yaml', 'key'].map((name) => join(directory.path, name));
    assert.ok(config !== undefined && keyFile !== undefined);
    await writeFile(keyFile, keyA, { mode: 0o644 });
    await chmod(keyFile, 0o644);
    await writeFile(config, 'accounts: [{ name: first, keys: [{ file: key }] }]\n');
    await chmod(config, 0o644);
    const server = await startCli(['--in-memory', '--config', config]);
    await server.printed(`can read ${keyFile}, which holds keys: chmod o-r`);
    assert.ok(!server.stderr.includes(`can read ${config}`), 'it holds no key itself');
    await chmod(config, 0o666);
    server.child.kill('SIGHUP');
    await server.printed(`can change ${config}: chmod o-w`);
    assert.equal(await stopCli(server), 0);
  });

  it('reads key files again when they change, and everything at SIGHUP', costly(), async () => {
    await using directory = await temporaryDirectory();
    const [config, keyFile] = ['config.yaml', 'key'].map((name) => join(directory.path, name));
    assert.ok(config !== undefined && keyFile !== undefined);
    await writeFile(keyFile, `${keyA}\n`);
    await writeFile(config, 'accounts: [{ name: first, keys: [{ file: key }] }]\n');
    const server = await startCli(['--in-memory', '--config', config]);
    await replaceFile(keyFile, keyB);
    await server.printed(reloaded);
    assert.equal(await statusWith(server, 'first', keyB), 200);
    assert.equal(await statusWith(server, 'first', keyA), 403);
    server.child.kill('SIGHUP');
    await server.printed('"reason":"SIGHUP"');
    // The configuration is written before the key file that it names.
    await replaceFile(
      config,
      'accounts: [{ name: first, keys: [{ file: key }, { file: late }] }]\n',
    );
    await server.printed('There is no file');
    assert.equal(await statusWith(server, 'first', keyB), 200);
    await writeFile(join(directory.path, 'late'), keyC);
    await server.printed(reloaded, 3);
    assert.equal(await statusWith(server, 'first', keyC), 200);
    assert.equal(await stopCli(server), 0);
  });

  it('does not open to the public key when it is emptied', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.yaml');
    const text = accountsText({ first: [keyA] });
    await writeFile(config, text);
    const args = ['--in-memory', '--config', config];
    const server = await startCli(args);
    const { name, keys } = developmentAccount;
    const emptied = ['', '\n', '{}', 'null', '# nothing\n', 'accounts: {}', 'accounts: []', 'acc'];
    for (const [at, next] of emptied.entries()) {
      // Written in place, as some editors do and as a full disk may leave it.
      await writeFile(config, next);
      server.child.kill('SIGHUP');
      await server.printed(notReloaded, at + 1);
      assert.equal(await statusWith(server, 'first', keyA), 200);
      assert.equal(await statusWith(server, name, keys[0] ?? ''), 404);
      await writeFile(config, text);
      server.child.kill('SIGHUP');
      await server.printed(reloaded, at + 1);
    }
    assert.match(server.stderr, /names no account any more/);
    assert.equal(await stopCli(server), 0);
  });

  it('does not start with a file that has nothing in it', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.yaml');
    await writeFile(config, '');
    const said = await usageErrorOf('--in-memory', '--config', config);
    assert.match(said, /config\.yaml is empty\. A file that sets nothing says \{\}/);
  });

  it(
    'is not held up by files that are replaced by pipes',
    costly(!isPosix && 'Windows has no named pipes'),
    async () => {
      await using directory = await temporaryDirectory();
      const [config, keyFile] = ['config.yaml', 'key'].map((name) => join(directory.path, name));
      assert.ok(config !== undefined && keyFile !== undefined);
      const text = 'accounts: [{ name: first, keys: [{ file: key }] }]\n';
      await writeFile(keyFile, keyA);
      await writeFile(config, text);
      const server = await startCli(['--in-memory', '--config', config]);
      for (const [at, file] of [config, keyFile].entries()) {
        await rm(file);
        execFileSync('mkfifo', [file]);
        server.child.kill('SIGHUP');
        await server.printed('is a pipe, not a regular file', at + 1);
        assert.equal(await statusWith(server, 'first', keyA), 200);
        await replaceFile(file, file === config ? text : keyA);
        server.child.kill('SIGHUP');
        await server.printed(reloaded, at + 1);
      }
      await rm(config);
      execFileSync('mkfifo', [config]);
      server.child.kill('SIGHUP');
      assert.equal(await stopCli(server), 0);
    },
  );

  it('says which changes need a restart', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.yaml');
    const accounts = `accounts: [{ name: first, keys: [${keyA}] }]\n`;
    await writeFile(config, `${accounts}tables: { port: 0 }\n`);
    const server = await startCli(['--in-memory', '--config', config]);
    await replaceFile(config, `${accounts}durability: relaxed\ntables: { port: 5 }\n`);
    await server.printed('need a restart');
    assert.match(server.stderr, /"members":\["durability","tables.port"\]/);
    assert.equal(await stopCli(server), 0);
  });

  it('says that https is switched on or off only by a restart', costly(), async () => {
    await using directory = await temporaryDirectory();
    const config = join(directory.path, 'config.json');
    const tls = { tls: 'self-signed' };
    for (const [before, after] of [
      [tls, {}],
      [{}, tls],
    ]) {
      await writeFile(config, JSON.stringify({ ...before, accounts: [first(keyA)] }));
      const server = await startCli(['--in-memory', '--config', config]);
      await replaceFile(config, JSON.stringify({ ...after, accounts: [first(keyB)] }));
      server.child.kill('SIGHUP');
      await server.printed('"msg":"changes of these settings need a restart');
      assert.match(server.stderr, /"members":\["tls"\]/);
      // Other settings apply; the next file is compared with the settings in force.
      await replaceFile(config, JSON.stringify({ ...before, accounts: [first(keyB)] }));
      await server.printed(reloaded, 2);
      assert.equal(server.stderr.split('need a restart').length, 2);
      assert.equal(await stopCli(server), 0);
    }
  });
});
