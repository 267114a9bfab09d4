import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose';
import { openDevIssuer, signDevToken, type DevClaims } from './issuer/dev-issuer.js';
import { UsageError } from './terminal/failure.js';
import { optionsOf, usageErrorOf } from '../../test/support/start-settings.js';
import {
  cliProgram,
  runCli,
  type CliProcess,
  type CliResult,
} from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import {
  endpointOf,
  freePorts,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../test/support/cli-server.js';
import { costly } from '../../test/support/run-length.js';

const devIssuer = 'https://dev-issuer.tabularium.invalid/7ab01a12-0000-4000-8000-000000000000/';

function devToken(cwd: string, ...args: readonly string[]): Promise<CliResult> {
  return runCommand(['dev-token', ...args], { cwd });
}

async function tokenFrom(cwd: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await devToken(cwd, ...args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/, 'a token and nothing else');
  return stdout.trim();
}

/** A token as `tabularium dev-token` makes it, without starting a process. */
async function signed(cwd: string, claims: Partial<DevClaims> = {}): Promise<string> {
  const issuedAt = Math.floor(Date.now() / 1000);
  return signDevToken(await openDevIssuer(join(cwd, '.tabularium-dev-issuer')), {
    issuer: devIssuer,
    audience: 'https://storage.azure.com',
    subject: 'me',
    roles: ['Storage Table Data Contributor'],
    scopes: [],
    issuedAt,
    expires: issuedAt + 600,
    ...claims,
  });
}

/** The status of a request for the list of tables with this token. */
async function statusWith(server: CliProcess, token: string): Promise<number> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'x-ms-version': '2020-12-06',
    Accept: 'application/json',
  };
  return (await fetch(`${endpointOf(server).href}/Tables`, { headers })).status;
}

describe('tabularium dev-token', () => {
  it('makes a key that its user alone can read, and keeps to it', costly(), async () => {
    await using directory = await temporaryDirectory();
    const first = await tokenFrom(directory.path);
    const folder = join(directory.path, '.tabularium-dev-issuer');
    assert.deepEqual((await readdir(folder)).sort(), ['jwks.json', 'private-key.json']);
    const mode = async (path: string) => (await stat(path)).mode & 0o777;
    assert.equal(await mode(join(folder, 'private-key.json')), 0o600);
    assert.equal(await mode(folder), 0o700);
    const { stdout } = await devToken(directory.path, '--jwks');
    assert.equal(stdout, await readFile(join(folder, 'jwks.json'), 'utf8'));
    const jwks = JSON.parse(stdout) as JSONWebKeySet;
    assert.deepEqual(Object.keys(jwks.keys[0] ?? {}).sort(), [
      'alg',
      'e',
      'kid',
      'kty',
      'n',
      'use',
    ]);
    const keys = createLocalJWKSet(jwks);
    for (const token of [first, await tokenFrom(directory.path)]) {
      await jwtVerify(token, keys, { issuer: devIssuer, audience: 'https://storage.azure.com' });
    }
  });

  it('gives one key to all who ask for the first time at once', costly(), async () => {
    await using directory = await temporaryDirectory();
    const sets = await Promise.all(
      Array.from({ length: 4 }, () => runCli(['dev-token', '--jwks'], { cwd: directory.path })),
    );
    assert.equal(new Set(sets.map(({ stdout }) => stdout)).size, 1);
    assert.match(sets[0]?.stdout ?? '', /"kid"/);
    const folder = join(directory.path, '.tabularium-dev-issuer');
    assert.equal((await readdir(folder)).length, 2, 'nothing is left over');
  });

  it('says in the token what it is told to', costly(), async () => {
    await using directory = await temporaryDirectory();
    const said = ['--issuer', 'https://i.example/', '--audience', 'api://x', '--lifetime', '10m'];
    const names = ['--role', 'A b', '--role', 'C', '--scope', 'read', '--scope', 'write'];
    const token = await tokenFrom(directory.path, ...said, ...names, '--subject', 'me');
    const { iss, aud, roles, scp, sub, oid, iat = 0, nbf = 0, exp = 0 } = decodeJwt(token);
    assert.deepEqual(
      { iss, aud, roles, scp, sub, oid },
      {
        iss: 'https://i.example/',
        aud: 'api://x',
        roles: ['A b', 'C'],
        scp: 'read write',
        sub: 'me',
        oid: 'me',
      },
    );
    assert.deepEqual([exp - iat, iat - nbf], [600, 60]);
    const scoped = decodeJwt(await tokenFrom(directory.path, '--scope', 'read'));
    assert.equal(scoped['roles'], undefined, 'a scope alone comes without roles');
    const { roles: ofAll } = decodeJwt(await tokenFrom(directory.path));
    const services = ['Table', 'Queue', 'Blob'];
    assert.deepEqual(
      ofAll,
      services.map((service) => `Storage ${service} Data Contributor`),
    );
  });

  it('prints what getToken returns', async () => {
    await using directory = await temporaryDirectory();
    const { stdout } = await devToken(directory.path, '--json');
    const answer = JSON.parse(stdout) as { token: string; expiresOnTimestamp: number };
    assert.deepEqual(Object.keys(answer), ['token', 'expiresOnTimestamp']);
    assert.equal(answer.expiresOnTimestamp, (decodeJwt(answer.token).exp ?? 0) * 1000);
  });

  it('says which file is no key, and does not touch it', async () => {
    await using directory = await temporaryDirectory();
    const folder = join(directory.path, 'keys');
    await tokenFrom(directory.path, '--keys', folder);
    const file = join(folder, 'private-key.json');
    for (const text of ['', '{"kty":"oct","k":"eA","d":"eA"}']) {
      await writeFile(file, text);
      const { code, stderr } = await devToken(directory.path, '--keys', folder);
      assert.equal(code, 1);
      assert.ok(
        stderr.startsWith(`error: ${file} holds no private key of a local issuer.`),
        stderr,
      );
      assert.equal(await readFile(file, 'utf8'), text);
    }
  });
});

describe('a local issuer whose disk is full', () => {
  const skip = process.platform === 'win32' ? 'there is no limit on the size of files' : false;

  it('leaves no part of a private key', costly(skip), async () => {
    await using directory = await temporaryDirectory();
    const folder = join(directory.path, 'keys');
    const args = [process.execPath, cliProgram, 'dev-token', '--keys', folder];
    const child = spawn('sh', ['-c', 'ulimit -f 0; exec "$0" "$@"', ...args], { stdio: 'ignore' });
    assert.deepEqual(await once(child, 'close'), [1, null]);
    assert.deepEqual(await readdir(folder), []);
  });
});

describe('tabularium start --oauth', () => {
  it(
    'takes tokens of dev-token over TLS, from official clients, with two commands',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const cwd = directory.path;
      const args = ['--tls', 'self-signed', '--oauth', 'dev', '--location', 'data'];
      const server = await startCli(args, { cwd });
      try {
        const { stdout } = await runCli(['dev-token', '--json'], { cwd });
        const credential = {
          getToken: () =>
            Promise.resolve(JSON.parse(stdout) as { token: string; expiresOnTimestamp: number }),
        };
        const ca = await readFile(join(cwd, 'data/tls/certificate.pem'), 'utf8');
        const table = new TableClient(endpointOf(server).href, 'people', credential, {
          tlsOptions: { ca },
        });
        await table.createTable();
        await table.createEntity({ partitionKey: 'p', rowKey: 'r', name: 'Ada' });
        assert.equal((await table.getEntity('p', 'r'))['name'], 'Ada');
        assert.equal(await stopCli(server), 0);
        assert.ok(!server.stderr.includes('eyJ'), 'no token is logged');
        assert.ok(server.stdout.includes(`\n  Tokens      of ${devIssuer}\n`), server.stdout);
        assert.ok(!server.stderr.includes('Note:'), server.stderr);
      } finally {
        server.child.kill('SIGKILL');
      }
    },
  );

  it('says that no token will be accepted over http', costly(), async () => {
    await using directory = await temporaryDirectory();
    const server = await startCli(['--in-memory', '--oauth', 'dev'], { cwd: directory.path });
    assert.equal(await stopCli(server), 0);
    assert.match(server.stderr, /Note: Bearer tokens are accepted over HTTPS alone.+--tls/);
  });

  it(
    'makes the key before the first token, and follows it when it is made anew',
    costly(),
    async () => {
      await using directory = await temporaryDirectory();
      const cwd = directory.path;
      const args = ['--in-memory', '--oauth', 'dev', '--oauth-allow-http'];
      const server = await startCli(args, { cwd });
      try {
        const first = await signed(cwd);
        assert.equal(await statusWith(server, first), 200);
        await rm(join(cwd, '.tabularium-dev-issuer/private-key.json'));
        assert.equal(await statusWith(server, await signed(cwd)), 200);
        assert.equal(await statusWith(server, first), 401);
      } finally {
        await stopCli(server);
      }
    },
  );

  it('trusts an issuer by name with workers, and maps its roles', costly(), async () => {
    await using directory = await temporaryDirectory();
    const cwd = directory.path;
    const { stdout } = await devToken(cwd, '--jwks');
    await writeFile(join(cwd, 'keys.json'), stdout);
    const issuer = 'https://issuer.example/';
    const given = ['--oauth', issuer, '--oauth-audience', 'api://shop'];
    const roles = ['--oauth-role', 'Shop.Clerk=read', '--workers', '2', '--location', 'data'];
    const env = { TABULARIUM_OAUTH_JWKS: 'keys.json', TABULARIUM_OAUTH_ALLOW_HTTP: 'true' };
    const server = await startCli([...given, ...roles], { cwd, env });
    try {
      const told = { issuer, audience: 'api://shop' };
      const clerk = await signed(cwd, { ...told, roles: ['Shop.Clerk'] });
      assert.equal(await statusWith(server, clerk), 200);
      const owner = await signed(cwd, { ...told, roles: ['Shop.Owner'] });
      assert.equal(await statusWith(server, owner), 403);
      assert.equal(await statusWith(server, await signed(cwd)), 401);
    } finally {
      await stopCli(server);
    }
  });

  it('is in the configuration file, with keys relative to it', costly(), async () => {
    await using directory = await temporaryDirectory();
    const cwd = directory.path;
    const { stdout } = await devToken(cwd, '--jwks');
    await writeFile(join(cwd, 'keys.json'), stdout);
    const config = join(cwd, 'config.json');
    const oauth = {
      issuer: 'dev',
      jwks: 'keys.json',
      audience: ['api://shop'],
      roles: { Clerk: ['read', 'delete'], Nobody: [] },
      allowHttp: true,
    };
    await writeFile(config, JSON.stringify({ inMemory: true, oauth }));
    const server = await startCli(['--config', config]);
    try {
      const audience = 'api://shop';
      const clerk = await signed(cwd, { audience, roles: ['Clerk'] });
      assert.equal(await statusWith(server, clerk), 200);
      const nobody = await signed(cwd, { audience, roles: ['Nobody'] });
      assert.equal(await statusWith(server, nobody), 403);
    } finally {
      await stopCli(server);
    }
  });

  it('refuses what it cannot check, and says what to do instead', costly(), async () => {
    await using directory = await temporaryDirectory();
    const cwd = directory.path;
    await writeFile(join(cwd, 'bad.json'), '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}');
    const basic = /^--oauth basic is refused: Azurite takes any token.*--oauth dev.*dev-token/;
    const issuer = ['--oauth', 'https://issuer.example/', '--oauth-jwks'];
    const cases: readonly (readonly [args: readonly string[], said: RegExp])[] = [
      [
        [...issuer, 'absent.json'],
        /--oauth-jwks '.*absent\.json' cannot be used: it does not exist/,
      ],
      [[...issuer, 'bad.json'], /bad\.json' cannot be used: it has a symmetric key/],
    ];
    for (const [args, said] of cases) {
      const result = await runCli(['start', ...freePorts, '--in-memory', ...args], { cwd });
      assert.equal(result.code, 2, result.stderr);
      assert.match(result.stderr, said);
      assert.doesNotMatch(result.stderr, /c2VjcmV0|^\s+at |"level"/m);
      assert.equal(result.stdout, '');
    }
    assert.match(await usageErrorOf('--oauth', 'basic'), basic);
  });

  it('refuses options that make no sense together', () => {
    const cases: readonly (readonly [args: readonly string[], said: RegExp])[] = [
      [['--oauth', 'https://issuer.example/'], /needs --oauth-jwks, the public keys of the issuer/],
      [['--oauth-jwks', 'keys.json'], /need --oauth <issuer>/],
      [['--oauth-audience', 'x'], /need --oauth <issuer>/],
      [['--oauth-role', 'x=read'], /need --oauth <issuer>/],
      [['--oauth-allow-http'], /need --oauth <issuer>/],
      [['--oauth', 'dev', '--oauth-role', 'Clerk'], /--oauth-role Clerk is no name and rights/],
      [['--oauth', 'dev', '--oauth-role', 'Clerk=own'], /rights are read, write, delete/],
      [['--oauth', 'dev', '--oauth-role', '=read'], /is no name and rights/],
    ];
    for (const [args, said] of cases) {
      assert.throws(
        () => optionsOf(args),
        (error) => error instanceof UsageError && said.test(error.message),
      );
    }
    assert.equal(optionsOf([]).oauth, undefined);
    const roles = ['--oauth-role', 'a=b=read,delete', '--oauth-role', 'c='];
    const { oauth } = optionsOf(['--oauth', 'dev', ...roles]);
    assert.deepEqual(oauth?.roles, { 'a=b': ['read', 'delete'], c: [] });
    assert.equal(oauth?.allowHttp, undefined);
  });
});
