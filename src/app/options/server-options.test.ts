import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createServer, ServerOptionsError, type ServerOptions } from '../index.js';
import { settingsOf } from '../settings.js';

describe('server options', () => {
  it('must say where to keep data, and the error names both ways', () => {
    assert.throws(
      () => settingsOf({}),
      (error: unknown) =>
        error instanceof ServerOptionsError &&
        error.message.includes('location') &&
        error.message.includes('inMemory'),
    );
  });

  const refused: readonly [what: string, options: ServerOptions, names: string][] = [
    ['both places', { inMemory: true, location: 'x' }, 'location'],
    ['no host', { inMemory: true, host: '' }, 'host'],
    ['no host of a service', { inMemory: true, queueHost: '' }, 'queueHost'],
    ['an impossible port', { inMemory: true, tablePort: 70_000 }, 'tablePort'],
    ['an impossible port of queues', { inMemory: true, queuePort: 1.5 }, 'queuePort'],
    ['one port for both', { inMemory: true, tablePort: 9, queuePort: 9 }, 'queuePort'],
    ['a location that is no path', { location: 'a\0b' }, 'location'],
    ['an empty host, which would be all', { inMemory: true, host: '' }, 'host'],
    ['an empty host of queues', { inMemory: true, queueHost: ' ' }, 'queueHost'],
    ['no account', { inMemory: true, accounts: [] }, 'accounts'],
    ['an endless limit', { inMemory: true, limits: { closeTimeoutMs: 0 } }, 'closeTimeoutMs'],
    ['one of queues', { inMemory: true, queueLimits: { lingerMs: 0 } }, 'lingerMs'],
  ];
  for (const [what, options, names] of refused) {
    it(`refuse ${what} by name`, async () => {
      await assert.rejects(
        createServer(options),
        (error: unknown) => error instanceof ServerOptionsError && error.message.includes(names),
      );
    });
  }

  const alone: readonly [options: ServerOptions, message: RegExp][] = [
    [{ postgresSchema: 'own' }, /^postgresSchema is for engine 'postgres': leave it out, or give/],
    [{ postgresReplicas: 'postgres://host/name' }, /^postgresReplicas is for engine 'postgres'/],
    [{ postgresCommits: 'function' }, /^postgresCommits is for engine 'postgres'/],
    [{ onLostCommits: 'accept' }, /^onLostCommits is for engine 'postgres'/],
    [{ onLostCommits: 'refuse', engine: 'lmdb' }, /^onLostCommits is for engine 'postgres'/],
    [{ balancer: 'on' }, /^balancer is for data in several stores: give stores/],
    [{ balancer: 'advise' }, /^balancer is for data in several stores/],
  ];
  for (const [options, message] of alone) {
    it(`refuse what would have no effect: ${JSON.stringify(options)}`, () => {
      for (const place of [{ inMemory: true }, { location: 'data' }]) {
        if ('engine' in options && 'inMemory' in place) continue;
        const given = { ...place, ...options };
        assert.throws(() => settingsOf(given), { name: 'ServerOptionsError', message });
      }
    });
  }

  it('may say what is so without them', () => {
    assert.equal(settingsOf({ location: 'data', balancer: 'off' }).balancer, 'off');
    assert.equal(settingsOf({ location: 'data', balancer: 'on', stores: {} }).balancer, 'on');
  });

  const unknown: readonly [options: object, message: RegExp][] = [
    [{ tabelPort: 1 }, /has no member 'tabelPort'.*Did you mean 'tablePort'\?/],
    [{ acounts: [] }, /Did you mean 'accounts'\?/],
    [{ accounts: { name: 'a', key: 'a' } }, /accounts must be a list of at least 1, not an object/],
    [{ tls: { cret: 'a', key: 'b' } }, /tls has no member 'cret'.*Did you mean 'cert'\?/],
    [{ tls: ['a'] }, /tls must be self-signed, or an object with cert and key/],
    [{ oauth: { isuer: 'https://a.example/' } }, /oauth has no member 'isuer'.*'issuer'\?/],
    [{ limits: { conectionsMax: 5 } }, /limits has no member.*Did you mean 'connectionsMax'\?/],
    [{ tableLimits: { conectionsMax: 5 } }, /tableLimits has no member/],
    [{ queueLimits: 7 }, /queueLimits must be an object, not 7/],
    [{ pagingTestMode: { sead: 1 } }, /pagingTestMode has no member 'sead'/],
    [{ accounts: [{ name: 'abc', kye: 'a2V5' }] }, /accounts\[0\] has no member 'kye'/],
  ];
  for (const [options, message] of unknown) {
    it(`refuse ${JSON.stringify(options)} instead of leaving it out`, async () => {
      const given = { inMemory: true, ...options };
      await assert.rejects(createServer(given), { name: 'ServerOptionsError', message });
    });
  }

  it('of a running server are refused by name as well', async () => {
    await using server = await createServer({ inMemory: true });
    const changes = { acounts: [] };
    await assert.rejects(server.reload(changes as object), /Did you mean 'accounts'\?/);
  });

  it('refuse a key that is not base64 before anything is opened', async () => {
    const accounts = [{ name: 'acct', key: 'not base64!' }];
    const location = '/nonexistent/never-made';
    await assert.rejects(createServer({ location, accounts }), { name: 'AccountSettingsError' });
  });
});
