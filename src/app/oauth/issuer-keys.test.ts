import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { manualClock, type ManualClock } from '../../base/clock.js';
import { collectGarbage } from '../../base/collect-garbage.js';
import { systemRandomness } from '../../base/randomness.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import type { IssuerKeys, KeySet } from '../../http/oauth/issuer-keys.js';
import { silentLogger, type Logger } from '../../http/exchange/logger.js';
import { testIssuer, type TestIssuer } from '../../../test/support/oauth-issuer.js';
import { openIssuerKeys, type OpenIssuerKeys } from './issuer-keys.js';
import { ServerOptionsError } from '../options/server-options-error.js';
import { costly } from '../../../test/support/run-length.js';
import { deferred } from '../../base/async/deferred.js';

const first = await testIssuer({ keyId: 'first', algorithm: 'ES256' });
const second = await testIssuer({ keyId: 'second', algorithm: 'ES256' });
const folder = await mkdtemp(join(tmpdir(), 'tabularium-oauth-'));
after(() => rm(folder, { recursive: true, force: true }));

const jwksOf = (...issuers: readonly TestIssuer[]): string =>
  JSON.stringify({ keys: issuers.map(({ publicJwk }) => publicJwk) });

interface Log {
  readonly errors: string[];
  readonly logger: Logger;
}

function log(): Log {
  const errors: string[] = [];
  return { errors, logger: { ...silentLogger, error: (message) => errors.push(message) } };
}

/** True when the key of this issuer is among the known keys. */
async function has(keys: IssuerKeys, { keyId }: TestIssuer): Promise<boolean> {
  const found = async ({ find }: KeySet): Promise<boolean> => {
    try {
      await find({ alg: 'ES256', kid: keyId }, { payload: '', signature: '' });
      return true;
    } catch {
      return false;
    }
  };
  const current = await keys.current();
  return (await found(current)) || found(await keys.renewed(current));
}

async function withoutKeys(keys: IssuerKeys): Promise<void> {
  await assert.rejects(keys.current(), { name: 'KeysUnavailableError' });
}

let files = 0;
async function keyFile(text: string): Promise<string> {
  files += 1;
  const path = join(folder, `jwks-${files}.json`);
  await writeFile(path, text);
  return path;
}

function openFile(path: string, clock: ManualClock, logger = silentLogger): Promise<IssuerKeys> {
  const context = { clock, randomness: systemRandomness, timers: systemTimers, logger };
  return openIssuerKeys({ kind: 'file', path }, context);
}

describe('keys of a file', () => {
  it('must be there at the start, and be what they should be', async () => {
    const { keys } = first.jwks;
    const bad: readonly (readonly [text: string, why: RegExp])[] = [
      ['not json', /it is no JSON/],
      ['[]', /no JSON Web Key Set/],
      ['{"keys":{}}', /no JSON Web Key Set/],
      ['{"keys":[1]}', /no JSON Web Key Set/],
      ['{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /symmetric key/],
      [JSON.stringify({ keys: [{ ...keys[0], d: 'c2VjcmV0' }] }), /private key/],
      [JSON.stringify({ keys: Array.from({ length: 101 }, () => keys[0]) }), /more than 100 keys/],
      [' '.repeat(256 * 1024 + 1), /larger than 262144 bytes/],
    ];
    for (const [text, why] of bad) {
      const path = await keyFile(text);
      const opened = openFile(path, manualClock());
      await assert.rejects(opened, (error) => {
        assert.ok(error instanceof ServerOptionsError);
        assert.match(error.message, why);
        assert.ok(error.message.includes(path));
        assert.doesNotMatch(error.message, /c2VjcmV0/);
        return true;
      });
    }
    const absent = openFile(join(folder, 'absent.json'), manualClock());
    await assert.rejects(absent, /oauth\.jwks '.*absent\.json' cannot be used: it does not exist/);
  });

  it('that cannot verify are left out, unless there are no others', async () => {
    const broken = { kty: 'EC', kid: 'broken', alg: 'ES256', crv: 'P-256', x: 'a', y: 'b' };
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
    const weak = { ...short.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' };
    const one = await keyFile(JSON.stringify({ keys: [broken, weak, first.publicJwk] }));
    const keys = await openFile(one, manualClock());
    assert.equal(await has(keys, first), true);
    const { find } = await keys.current();
    const noToken = { payload: '', signature: '' };
    for (const { alg, kid } of [broken, weak])
      await assert.rejects(async () => find({ alg, kid }, noToken), /no applicable key/);
    const none = await keyFile(JSON.stringify({ keys: [broken, weak] }));
    await assert.rejects(openFile(none, manualClock()), /none of its keys can verify/);
  });

  it('are read again when the file has changed', async () => {
    const clock = manualClock();
    const path = await keyFile(jwksOf(first));
    const keys = await openFile(path, clock);
    const before = await keys.current();
    clock.advanceMicros(2e6);
    assert.equal(await keys.current(), before, 'the same keys are the same object');
    assert.equal(await has(keys, second), false);
    await writeFile(`${path}.new`, jwksOf(second));
    await rename(`${path}.new`, path);
    assert.equal(await has(keys, second), true, 'an unknown key makes it look at once');
    assert.equal(await has(keys, first), false);
  });

  it('that are withdrawn are gone within a second', async () => {
    const clock = manualClock();
    const path = await keyFile(jwksOf(first, second));
    const keys = await openFile(path, clock);
    assert.equal(await has(keys, first), true);
    await writeFile(path, jwksOf(second));
    clock.advanceMicros(1e6);
    assert.equal(await has(keys, first), false);
  });

  it('stay in use for an hour when they cannot be read again, and the log says so', async () => {
    const clock = manualClock();
    const { errors, logger } = log();
    const path = await keyFile(jwksOf(first));
    const keys = await openFile(path, clock, logger);
    await writeFile(path, '{"keys":');
    clock.advanceMicros(10e6);
    assert.equal(await has(keys, first), true);
    assert.equal(await has(keys, first), true);
    assert.deepEqual(errors, ['the keys that verify tokens cannot be read']);
    clock.advanceMicros(3600e6);
    await withoutKeys(keys);
    await writeFile(path, jwksOf(first));
    await withoutKeys(keys);
    clock.advanceMicros(1e6);
    assert.equal(await has(keys, first), true, 'and are back when they can be read');
  });
});

type KeyAnswer = { readonly status?: number; readonly text: string } | 'nothing' | 'half';

interface KeyServer extends AsyncDisposable {
  readonly url: URL;
  answers: (number: number) => KeyAnswer;
  asked: number;
  /** The `Authorization` header of the last request. */
  authorization: string | undefined;
  /** Resolves when the connection of the first request without a complete response has closed. */
  readonly leftAlone: Promise<void>;
}

/** A server of issuer keys that responds as `answers` says. */
async function keyServer(text: string): Promise<KeyServer> {
  const { promise: leftAlone, resolve: leave } = deferred();
  const server: Server = createServer((request, response) => {
    started.asked += 1;
    started.authorization = request.headers.authorization;
    const answer = started.answers(started.asked);
    if (typeof answer === 'string') {
      request.socket.once('close', leave);
      if (answer === 'half') response.writeHead(200).write('{"keys":');
      return;
    }
    response.writeHead(answer.status ?? 200, { Location: '/elsewhere' });
    response.end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const started: KeyServer = {
    url: new URL(`http://127.0.0.1:${port}/keys?secret=1`),
    answers: () => ({ text }),
    asked: 0,
    authorization: undefined,
    leftAlone,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return started;
}

function openUrl(
  { url }: KeyServer,
  clock: ManualClock,
  { logger = silentLogger, timers = systemTimers }: { logger?: Logger; timers?: Timers } = {},
): Promise<OpenIssuerKeys> {
  const context = { clock, randomness: systemRandomness, timers, logger };
  return openIssuerKeys({ kind: 'url', url }, context);
}

/** Timers that never fire. */
const stoppedTimers: Timers = { start: () => ({ close: () => undefined }) };

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

describe('keys of a URL', () => {
  it('are asked for when they are needed, then every ten minutes', async () => {
    await using server = await keyServer(jwksOf(first));
    const clock = manualClock();
    const keys = await openUrl(server, clock);
    assert.equal(server.asked, 0, 'the issuer may start after the server');
    await Promise.all([keys.current(), keys.current(), keys.current()]);
    assert.equal(server.asked, 1, 'once for all who wait');
    clock.advanceMicros(599e6);
    await keys.current();
    assert.equal(server.asked, 1);
    clock.advanceMicros(1e6);
    await keys.current();
    await until(() => server.asked === 2);
  });

  it('that are held answer while one question for others is under way, which ends at the stop', async () => {
    await using server = await keyServer(jwksOf(first));
    const clock = manualClock();
    const { errors, logger } = log();
    const keys = await openUrl(server, clock, { logger, timers: stoppedTimers });
    const held = await keys.current();
    server.answers = () => 'half';
    clock.advanceMicros(600e6);
    for (let times = 0; times < 20; times++) assert.equal(await keys.current(), held);
    await until(() => server.asked === 2);
    assert.equal(await keys.current(), held);
    clock.advanceMicros(3000e6);
    const waiting = withoutKeys(keys);
    keys.close();
    await Promise.all([waiting, server.leftAlone]);
    await withoutKeys(keys);
    assert.equal(server.asked, 2);
    assert.deepEqual(errors, [], 'stopping is no failure');
  });

  it('are asked for again because of an unknown key, but for a cool-down', async () => {
    await using server = await keyServer(jwksOf(first));
    const clock = manualClock();
    const keys = await openUrl(server, clock);
    assert.equal(await has(keys, first), true);
    server.answers = () => ({ text: jwksOf(first, second) });
    for (let times = 0; times < 20; times++) assert.equal(await has(keys, second), false);
    assert.equal(server.asked, 1, 'unknown keys do not make it ask without end');
    clock.advanceMicros(30e6);
    assert.equal(await has(keys, second), true);
    assert.equal(server.asked, 2);
  });

  it('are none while the issuer is down, with a pause between attempts', async () => {
    const server = await keyServer('');
    await server[Symbol.asyncDispose]();
    const clock = manualClock();
    const { errors, logger } = log();
    const keys = await openUrl(server, clock, { logger });
    for (let times = 0; times < 20; times++) await withoutKeys(keys);
    assert.equal(errors.length, 1);
    clock.advanceMicros(5e6);
    await withoutKeys(keys);
    assert.equal(errors.length, 2);
  });

  it('are those of the last answer while the issuer is down, for an hour', async () => {
    await using server = await keyServer(jwksOf(first));
    const clock = manualClock();
    const keys = await openUrl(server, clock);
    assert.equal(await has(keys, first), true);
    server.answers = () => ({ status: 500, text: jwksOf(first) });
    clock.advanceMicros(1800e6);
    assert.equal(await has(keys, first), true);
    clock.advanceMicros(1800e6);
    await withoutKeys(keys);
    server.answers = () => ({ text: jwksOf(second) });
    clock.advanceMicros(10e6);
    assert.equal(await has(keys, second), true, 'the pause grows with failures');
  });

  it('are not taken from an answer that is no set, is huge, or leads elsewhere', async () => {
    await using server = await keyServer('');
    const huge = `{"keys":[],"padding":"${'x'.repeat(300 * 1024)}"}`;
    const answers = [
      { text: '<html>' },
      { text: huge },
      { status: 404, text: jwksOf(first) },
      { status: 302, text: jwksOf(first) },
      { text: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}' },
    ];
    for (const answer of answers) {
      server.answers = () => answer;
      await withoutKeys(await openUrl(server, manualClock()));
    }
    assert.equal(server.asked, answers.length, 'a redirect is not followed');
  });

  it('are not waited for without end', async () => {
    await using server = await keyServer(jwksOf(first));
    let timeIsUp = (): void => undefined;
    const timers: Timers = {
      start(delayMs, callback, argument) {
        assert.equal(delayMs, 5_000);
        timeIsUp = () => callback(argument);
        return { close: () => undefined };
      },
    };
    server.answers = () => {
      timeIsUp();
      return 'nothing';
    };
    await withoutKeys(await openUrl(server, manualClock(), { timers }));
    assert.equal(server.asked, 1);
  });

  it(
    'are not waited for when half an answer has come and memory was collected',
    costly(),
    async () => {
      await using server = await keyServer('');
      const timeIsUp: (() => void)[] = [];
      const timers: Timers = {
        start(_delayMs, callback, argument) {
          timeIsUp.push(() => callback(argument));
          return { close: () => undefined };
        },
      };
      server.answers = () => 'half';
      const keys = await openUrl(server, manualClock(), { timers });
      const waiting = withoutKeys(keys);
      await until(() => server.asked === 1);
      for (let times = 0; times < 20; times++) {
        await new Promise((resolve) => setImmediate(resolve));
        collectGarbage();
      }
      for (const end of timeIsUp) end();
      await Promise.all([waiting, server.leftAlone]);
    },
  );

  it('may need a password, which no log and no message has', async () => {
    await using server = await keyServer(jwksOf(first));
    const said: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (...words) => said.push(words) };
    server.url.username = 'reader';
    server.url.password = 'swordfish';
    const clock = manualClock();
    const keys = await openUrl(server, clock, { logger });
    assert.equal(await has(keys, first), true);
    assert.equal(server.authorization, `Basic ${btoa('reader:swordfish')}`);
    await server[Symbol.asyncDispose]();
    clock.advanceMicros(3600e6);
    await withoutKeys(keys);
    assert.equal(said.length, 1);
    assert.doesNotMatch(inspect(said, { depth: 9 }), /swordfish/);
  });

  it('show no query string in the log', async () => {
    const places: unknown[] = [];
    const server = await keyServer('');
    await server[Symbol.asyncDispose]();
    const logger: Logger = {
      ...silentLogger,
      error: (_m, fields) => places.push(fields?.['place']),
    };
    await withoutKeys(await openUrl(server, manualClock(), { logger }));
    assert.deepEqual(places, [server.url.origin + server.url.pathname]);
  });
});

describe('a set of keys', () => {
  it('is used as it is, and checked like a file', async () => {
    const context = {
      clock: manualClock(),
      randomness: systemRandomness,
      timers: systemTimers,
      logger: silentLogger,
    };
    const keys = await openIssuerKeys({ kind: 'set', keySet: first.jwks }, context);
    assert.equal(await has(keys, first), true);
    assert.equal(await has(keys, second), false);
    const bad = openIssuerKeys({ kind: 'set', keySet: { keys: 1 } }, context);
    await assert.rejects(bad, /the keys in oauth\.jwks cannot be used: it is no JSON Web Key Set/);
  });
});
