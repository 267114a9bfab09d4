import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runCli, type CliProcess, type CliResult } from '../../../test/support/cli-process.js';
import {
  connectionStringOf,
  endpointOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../test/support/cli-server.js';
import { usageErrorOf } from '../../../test/support/start-settings.js';
import { makePair, TlsFolder, withoutOpenssl } from '../../../test/support/tls-files.js';
import { costly } from '../../../test/support/run-length.js';

const insert = ['table', 'insert', '-t', 'people', '--create', 'PartitionKey=a', 'RowKey=b'];

/** A command that trusts the certificate of a file, and no other. */
function asClient(server: CliProcess, args: readonly string[], file?: string): Promise<CliResult> {
  const env = file === undefined ? {} : { NODE_EXTRA_CA_CERTS: file };
  return runCli([...args, '-c', connectionStringOf(server)], { env });
}

function printedCertificate({ stdout }: CliProcess): string {
  return /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/.exec(stdout)?.[0] ?? '';
}

void describe('tabularium start --tls self-signed', () => {
  void it(
    'prints a certificate that clients can trust, the same at the next start',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const args = ['--location', directory.path, '--tls', 'self-signed'];
      const file = join(directory.path, 'tls', 'certificate.pem');
      const first = await startCli(args);
      for (const label of ['Tables', 'Queues'] as const) {
        assert.equal(endpointOf(first, label).protocol, 'https:');
      }
      assert.equal(printedCertificate(first), await readFile(file, 'utf8'));
      assert.ok(first.stdout.includes(`NODE_EXTRA_CA_CERTS=${file}`));
      assert.match(first.stdout, /TLS +SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}\n/);
      const written = await asClient(first, insert, file);
      assert.equal(written.code, 0, written.stderr);
      const refused = await asClient(first, insert);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /self-signed certificate\. .*NODE_EXTRA_CA_CERTS/);
      assert.equal(await stopCli(first), 0);
      const second = await startCli([...args, '--workers', '2']);
      assert.equal(printedCertificate(second), printedCertificate(first));
      const again = await asClient(second, ['table', 'query', '-t', 'people'], file);
      assert.equal(again.code, 0, again.stderr);
      assert.equal(await stopCli(second), 0);
      assert.doesNotMatch(first.stdout + first.stderr + second.stderr, /PRIVATE KEY/);
    },
  );
});

void describe('certificates on the command line', () => {
  void it(
    'may be named as Azurite does, and load again at SIGHUP without a stop',
    costly(),
    async () => {
      await using folder = await TlsFolder.make();
      const [first, second] = [await makePair(), await makePair()];
      const { cert, key } = await folder.putPair(first);
      const server = await startCli(['--in-memory', '--cert', cert, '--key', key]);
      assert.equal((await asClient(server, insert, cert)).code, 0);
      await folder.putPair(second);
      server.child.kill('SIGHUP');
      await server.printed('"the certificate was replaced"');
      const query = ['table', 'query', '-t', 'people'];
      const result = await asClient(server, query, cert);
      assert.equal(result.code, 0, result.stderr);
      assert.equal(await stopCli(server), 0);
    },
  );

  void it('may be a PFX whose passphrase is in a variable', costly(withoutOpenssl), async () => {
    await using folder = await TlsFolder.make();
    const pair = await makePair();
    const pfx = await folder.putPfx(pair, 'a secret');
    const env = { TABULARIUM_TLS_PFX: pfx, TABULARIUM_TLS_PASSPHRASE: 'a secret' };
    const server = await startCli(['--in-memory'], { env });
    assert.equal(endpointOf(server).protocol, 'https:');
    assert.equal(await stopCli(server), 0);
    assert.doesNotMatch(server.stdout + server.stderr, /a secret/);
    const azurite = await startCli(['--in-memory', '--cert', pfx, '--pwd', 'a secret']);
    assert.equal(endpointOf(azurite).protocol, 'https:');
    assert.equal(await stopCli(azurite), 0);
  });

  for (const [args, message] of [
    [['--tls-cert', 'a'], /--tls-cert needs --tls-key/],
    [['--tls-key', 'a'], /--tls-key needs --tls-cert/],
    [['--tls', 'self-signed', '--tls-pfx', 'a'], /exclude each other/],
    [['--tls-passphrase-file', 'a'], /A passphrase opens a key/],
    [['--tls', 'yes'], /--tls must be self-signed, not "yes"/],
  ] as const) {
    void it(`are refused with advice when they are ${args.join(' ')}`, async () => {
      assert.match(await usageErrorOf('--in-memory', ...args), message);
    });
  }

  void it('are refused with the name of a file that does not exist', costly(), async () => {
    const args = ['--tls-cert', '/none', '--tls-key', '/none'];
    const result = await runCli(['start', '--in-memory', ...freePorts, ...args]);
    assert.equal(result.code, 2);
    assert.match(result.stderr, /The \w+ file \/none does not exist/);
  });
});
