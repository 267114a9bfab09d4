import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { startCli, stopCli } from '../../../test/support/cli-server.js';
import { byServiceOption } from '../../app/options/addresses.js';
import { developmentAccount, type AccountSettings } from '../../services/accounts/directory.js';
import { exposureWarning } from './reach.js';
import { costly } from '../../../test/support/run-length.js';

const own = { name: 'own', keys: [Buffer.from('a key of its own').toString('base64')] };
const both = { name: 'both', keys: [...own.keys, ...developmentAccount.keys] };

function warned(hosts: object, account: AccountSettings = developmentAccount): boolean {
  const options = { inMemory: true, ...byServiceOption('Port', () => 0), ...hosts };
  return exposureWarning({ accounts: [account], options }) !== undefined;
}

describe('the reach of a server with the public key', () => {
  it('is worth a warning as soon as another machine can', () => {
    for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost', 'a.localhost']) {
      assert.equal(warned({ host }), false, host);
    }
    for (const host of ['0.0.0.0', '::', '192.168.1.7', 'storage.example']) {
      assert.equal(warned({ host }), true, host);
      assert.equal(warned({ host: '127.0.0.1', tableHost: host }), true);
      assert.equal(warned({ host: '127.0.0.1', queueHost: host }), true);
      assert.equal(warned({ host: '127.0.0.1', blobHost: host }), true);
      assert.equal(warned({ host }, own), false);
      assert.equal(warned({ host }, both), true);
    }
    const alone = { tableHost: '127.0.0.1', queueHost: '::1', blobHost: 'localhost' };
    assert.equal(warned({ host: '0.0.0.0', ...alone }), false);
  });

  it(
    'is shown in the banner and the log, with the addresses of the machine',
    costly(),
    async () => {
      const server = await startCli(['--in-memory', '--host', '0.0.0.0']);
      const addresses = Object.values(networkInterfaces())
        .flatMap((each) => each ?? [])
        .filter(({ internal, family }) => !internal && family === 'IPv4');
      for (const { address } of addresses.slice(0, 8)) assert.ok(server.stdout.includes(address));
      assert.match(server.stdout, /WARNING .*devstoreaccount1 is public, .* listens on 0\.0\.0\.0/);
      await server.printed('"level":40');
      assert.equal(await stopCli(server), 0);
    },
  );
});
