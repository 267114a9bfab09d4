import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { describe, it } from 'node:test';
import type { ServerOptions } from '../../../src/app/index.js';
import { plainRequest } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { makePair, TlsFolder, withoutOpenssl } from '../../support/tls-files.js';
import { failureOf, secured, tableOf, textOf } from '../../support/tls-clients.js';
import { costly } from '../../support/run-length.js';

/** The certificate that a new connection receives. */
async function shownBy(started: StartedServer): Promise<string> {
  const socket = await secured(started.server.tablePort, undefined, { rejectUnauthorized: false });
  const pem = socket.getPeerX509Certificate()?.toString() ?? '';
  socket.destroy();
  return pem;
}

async function untilShown(started: StartedServer, cert: string): Promise<void> {
  while ((await shownBy(started)).trim() !== cert.trim()) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const unique = (options: ServerOptions['tls'] & object) => startServer({ tls: options });

describe('a certificate of its owner', () => {
  it('may be given as texts, and its chain with it', costly(), async () => {
    const [pair, other] = [await makePair(), await makePair()];
    await using started = await unique({ cert: pair.cert + other.cert, key: pair.key });
    await tableOf(started, 'texts', pair.cert).createTable();
    assert.equal(started.server.certificate, pair.cert + other.cert);
  });

  it('may be a PFX with a passphrase', { skip: withoutOpenssl }, async () => {
    await using folder = await TlsFolder.make();
    const pair = await makePair();
    const pfx = await folder.putPfx(pair, 'a secret');
    const passphraseFile = await folder.put('passphrase', 'a secret\n');
    for (const passphrase of [{ passphrase: 'a secret' }, { passphraseFile }]) {
      await using started = await unique({ pfx, ...passphrase });
      await tableOf(started, 'exported', pair.cert).createTable();
      assert.equal(started.server.certificate?.trim(), pair.cert.trim());
    }
    await assert.rejects(unique({ pfx, passphrase: 'another' }), {
      name: 'ServerOptionsError',
      message:
        `The PFX file ${pfx} is not opened by the passphrase. Give the one that it was ` +
        'exported with.',
    });
  });

  it('may have an encrypted key', { skip: withoutOpenssl }, async () => {
    await using folder = await TlsFolder.make();
    const pair = await makePair();
    const key = await folder.encryptedKey(pair, 'a secret');
    await using started = await unique({ cert: pair.cert, key, passphrase: 'a secret' });
    await tableOf(started, 'encrypted', pair.cert).createTable();
    await assert.rejects(unique({ cert: pair.cert, key }), /The key is encrypted\. Give its/);
    await assert.rejects(
      unique({ cert: pair.cert, key, passphrase: 'another' }),
      /The key is not opened by the passphrase/,
    );
  });

  it('is refused with the file that is wrong and what would do', async () => {
    await using folder = await TlsFolder.make();
    const [pair, other] = [await makePair(), await makePair()];
    const { cert, key } = await folder.putPair(pair);
    const stranger = await folder.put('other.pem', other.key);
    const noise = await folder.put('noise.pem', 'noise');
    const torn = await folder.put('torn.pem', pair.cert.slice(0, 200));
    for (const [tls, message] of [
      [{ cert: `${cert}x`, key }, `The certificate file ${cert}x does not exist.`],
      [{ cert: folder.path, key }, 'is a directory, not a file. Give the file in it.'],
      [{ cert, key: '/dev/zero' }, 'The key file /dev/zero is a device, not a regular file.'],
      [{ pfx: '/dev/zero' }, 'The PFX file /dev/zero is a device, not a regular file.'],
      [{ cert: noise, key }, 'holds no certificate in PEM'],
      [{ cert: torn, key }, `The certificate file ${torn} is damaged`],
      [{ cert, key: noise }, `The key file ${noise} holds no key in PEM`],
      [{ cert: key, key: cert }, 'It holds a key: are the two swapped?'],
      [
        { cert, key: stranger },
        `The key file ${stranger} does not belong to the first certificate`,
      ],
      [{ pfx: noise }, `The PFX file ${noise} is no PFX`],
    ] as const) {
      await assert.rejects(unique(tls), (error: Error) => {
        assert.equal(error.name, 'ServerOptionsError');
        assert.ok(error.message.includes(message), error.message);
        return true;
      });
    }
  });

  it('that has expired is served, with a warning', async () => {
    const warnings: string[] = [];
    const logger = {
      info: () => undefined,
      warn: (message: string) => warnings.push(message),
      error: () => undefined,
    };
    const [past, future] = [await makePair(2000), await makePair(-30)];
    for (const tls of [past, future]) {
      await using started = await startServer({ tls, logger });
      assert.equal((await shownBy(started)).trim(), tls.cert.trim());
    }
    assert.deepEqual(warnings, [
      'the certificate has expired: clients will refuse it',
      'the certificate is not valid yet: clients will refuse it',
    ]);
  });
});

describe('a client whose TLS is too old', () => {
  it('is told of in the log by its reason alone', async () => {
    const warnings = new EventEmitter();
    const warned = once(warnings, 'warn');
    const logger = {
      info: () => undefined,
      warn: (...warning: unknown[]) => warnings.emit('warn', ...warning),
      error: () => undefined,
    };
    await using started = await startServer({ tls: 'self-signed', logger });
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' } as const;
    await failureOf({ port: started.server.tablePort, host: '127.0.0.1', ...old });
    assert.deepEqual(await warned, [
      'a client and the server did not agree on TLS',
      { reason: 'unsupported protocol', count: 1 },
    ]);
  });
});

describe('a certificate whose files change', () => {
  it('is replaced without a failed request, and open connections go on', costly(), async () => {
    await using folder = await TlsFolder.make();
    const pairs = [await makePair(), await makePair(), await makePair()];
    const [first, second, third] = pairs;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const files = await folder.putPair(first);
    await using started = await unique(files);
    const ca = pairs.map(({ cert }) => cert);
    const kept = await secured(started.server.tablePort, first.cert);
    const stopping = new AbortController();
    const { tablePort: port } = started.server;
    const load = Array.from({ length: 4 }, () => keepAsking(port, ca, stopping.signal));
    for (const pair of [second, third]) {
      await folder.putPair(pair);
      await untilShown(started, pair.cert);
    }
    assert.equal(started.server.certificate, third.cert);
    stopping.abort();
    const counts = await Promise.all(load);
    assert.ok(counts.every((count) => count > 0));
    const headers = { Host: 'localhost', Connection: 'close' };
    kept.write(plainRequest({ target: '/healthz', headers }));
    assert.match(await textOf(kept), /^HTTP\/1\.1 200 /);
    assert.deepEqual(started.errors, []);
  });

  it('stays while the pair does not belong together, which is said once', costly(), async () => {
    await using folder = await TlsFolder.make();
    const [first, second] = [await makePair(), await makePair()];
    const files = await folder.putPair(first);
    await using started = await unique(files);
    await folder.put('cert.pem', second.cert);
    while (started.errors.length === 0) {
      assert.equal((await shownBy(started)).trim(), first.cert.trim());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await folder.put('key.pem', second.key);
    await untilShown(started, second.cert);
    assert.equal(started.errors.length, 1);
  });

  it('is loaded at once by reload, or not at all', async () => {
    const [first, second, third] = [await makePair(), await makePair(), await makePair()];
    await using started = await unique(first);
    await started.server.reload({ tls: second });
    assert.equal((await shownBy(started)).trim(), second.cert.trim());
    await assert.rejects(
      started.server.reload({ tls: { cert: third.cert, key: first.key } }),
      /does not belong/,
    );
    assert.equal((await shownBy(started)).trim(), second.cert.trim());
    await using plain = await startServer();
    await assert.rejects(plain.server.reload({ tls: first }), /runs with http: start it again/);
  });
});

/** Sends requests, each on a new connection, until aborted; resolves with their number. */
async function keepAsking(port: number, ca: string[], signal: AbortSignal): Promise<number> {
  const agent = new Agent({ ca, keepAlive: false, maxCachedSessions: 0 });
  let count = 0;
  for (; !signal.aborted; count++) {
    const sent = request({ host: '127.0.0.1', port, path: '/healthz', agent });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    response.resume();
    await once(response, 'end');
  }
  return count;
}
