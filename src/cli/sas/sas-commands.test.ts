import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { AzureNamedKeyCredential, generateTableSas } from '@azure/data-tables';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  QueueSASPermissions,
  SASProtocol,
  StorageSharedKeyCredential,
  generateAccountSASQueryParameters,
  generateQueueSASQueryParameters,
} from '@azure/storage-queue';
import {
  BlobSASPermissions,
  ContainerSASPermissions,
  StorageSharedKeyCredential as BlobKeyCredential,
  generateBlobSASQueryParameters,
} from '@azure/storage-blob';
import { Command, CommanderError } from 'commander';
import { runCli } from '../../../test/support/cli-process.js';
import { developmentAccount } from '../../services/accounts/directory.js';
import type { ServiceName } from '../../model/services/services.js';
import { readSas } from '../../wire/auth/sas/read-sas.js';
import { verifySasSignature } from '../../wire/auth/sas/sas-signature.js';
import { UsageError } from '../terminal/failure.js';
import { accountSasCommand } from './account-sas.js';
import { blobSasCommand } from './blob-sas.js';
import { queueSasCommand } from './queue-sas.js';
import { tableSasCommand } from './table-sas.js';
import { costly } from '../../../test/support/run-length.js';

const { name, keys } = developmentAccount;
const secret = keys[0] ?? '';
const named = new AzureNamedKeyCredential(name, secret);
const shared = new StorageSharedKeyCredential(name, secret);

const startsOn = new Date('2026-01-31T00:00:00Z');
const expiresOn = new Date('2030-01-31T12:00:00Z');
const times = ['--start', '2026-01-31', '--expiry', '2030-01-31T14:00+02:00'];

/** The output of commands that run in this process, by default for the development account. */
async function printed(...args: readonly string[]): Promise<string> {
  let text = '';
  const print = (more: string): void => void (text += more);
  const sas = new Command('sas').exitOverride();
  for (const command of [
    tableSasCommand(print),
    queueSasCommand(print),
    blobSasCommand(print),
    accountSasCommand(print),
  ]) {
    sas.addCommand(command.exitOverride().configureOutput({ writeErr: () => undefined }));
  }
  const connection = args.includes('-c') ? [] : ['-c', 'UseDevelopmentStorage=true'];
  await sas.parseAsync([...args, ...connection], { from: 'user' });
  assert.ok(!text.includes(secret));
  return text;
}

async function token(...args: readonly string[]): Promise<string> {
  return (await printed(...args, '--format', 'token')).trimEnd();
}

/** The fields of a token that a key of the account has made. */
function fieldsOf(query: string, service: ServiceName, queue?: string) {
  const sas = readSas(query, service);
  assert.ok(sas !== undefined);
  const key = createSecretKey(Buffer.from(secret, 'base64'));
  verifySasSignature(
    sas,
    { name, keys: [key] },
    queue === undefined ? queue : { container: queue },
  );
  return sas;
}

describe('tokens of the command line', () => {
  it('are those of the official client for a table', async () => {
    const range = ['--start-pk', 'a b', '--start-rk', '1', '--end-pk', 'ü', '--end-rk', '9'];
    const options = [...times, ...range, '--ip', '10.0.0.1-10.0.0.9', '--https-only'];
    assert.equal(
      await token('table', '-t', 'People', '-p', 'duar', '--sv', '2019-02-02', ...options),
      generateTableSas('People', named, {
        permissions: { query: true, add: true, update: true, delete: true },
        startsOn,
        expiresOn,
        ipRange: { start: '10.0.0.1', end: '10.0.0.9' },
        protocol: 'https',
        startPartitionKey: 'a b',
        startRowKey: '1',
        endPartitionKey: 'ü',
        endRowKey: '9',
      }),
    );
  });

  it('are those of the official client for a queue', async () => {
    const version = '2018-11-09';
    const values = { queueName: 'work', startsOn, expiresOn, version };
    const permissions = QueueSASPermissions.parse('raup');
    assert.equal(
      await token('queue', '-q', 'work', '-p', 'puar', ...times, '--sv', version, '--https-only'),
      generateQueueSASQueryParameters(
        { ...values, permissions, protocol: SASProtocol.Https },
        shared,
      ).toString(),
    );
  });

  it('are those of the official client for a blob and a container', async () => {
    const credential = new BlobKeyCredential(name, secret);
    for (const version of ['2018-11-09', '2020-12-06']) {
      const values = { containerName: 'photos', startsOn, expiresOn, version };
      const terms = [...times, '--sv', version];
      assert.equal(
        await token('blob', 'photos/a b/ü.jpg', '-p', 'dwr', ...terms),
        generateBlobSASQueryParameters(
          { ...values, blobName: 'a b/ü.jpg', permissions: BlobSASPermissions.parse('rwd') },
          credential,
        ).toString(),
      );
      assert.equal(
        await token('blob', 'photos', '-p', 'lr', ...terms),
        generateBlobSASQueryParameters(
          { ...values, permissions: ContainerSASPermissions.parse('rl') },
          credential,
        ).toString(),
      );
    }
  });

  it('name a blob in a URL that leads to it', async () => {
    const url = await printed('blob', 'photos/a b/ü?.jpg', ...times, '--format', 'url');
    assert.match(
      url,
      /^http:\/\/127\.0\.0\.1:10000\/devstoreaccount1\/photos\/a%20b\/%C3%BC%3F\.jpg\?sv=/,
    );
    assert.match(
      await printed('blob', 'photos/a', '-p', 'wr', ...times),
      /^Allows +read, write the blob photos\/a, from /m,
    );
  });

  it('are those of the official client for an account, on both sides of its change', async () => {
    for (const version of ['2019-12-12', '2020-12-06']) {
      const letters = ['--services', 'qt', '--resource-types', 'osc', '-p', 'pucaldwr'];
      assert.equal(
        await token('account', ...letters, ...times, '--sv', version),
        generateAccountSASQueryParameters(
          {
            permissions: AccountSASPermissions.parse('rwdlacup'),
            services: AccountSASServices.parse('tq').toString(),
            resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
            startsOn,
            expiresOn,
            version,
          },
          shared,
        ).toString(),
      );
    }
  });

  it('allow little and end after an hour when nobody says more', async () => {
    const before = Date.now();
    const results = await Promise.all([
      token('table', '-t', 'people'),
      token('queue', '-q', 'work'),
      token('account'),
    ]);
    const after = Date.now();
    const [table, queue, account] = [
      fieldsOf(results[0], 'table'),
      fieldsOf(results[1], 'queue', 'work'),
      fieldsOf(results[2], 'queue'),
    ];
    assert.deepEqual(
      [table, queue, account].map((sas) => sas.permissions),
      ['r', 'r', 'rl'],
    );
    for (const { expiry = '', start, ip, protocol } of [table, queue, account]) {
      const millis = Date.parse(expiry);
      assert.ok(millis > before + 3_598_000 && millis <= after + 3_600_000, expiry);
      assert.deepEqual([start, ip, protocol], [undefined, undefined, undefined]);
    }
  });

  it('leave to a stored policy what they do not say', async () => {
    const sas = fieldsOf(await token('table', '-t', 'people', '--policy', 'a policy'), 'table');
    assert.ok(sas.kind === 'table-sas');
    assert.equal(sas.identifier, 'a policy');
    assert.deepEqual([sas.permissions, sas.expiry], [undefined, undefined]);
    const own = fieldsOf(
      await token('queue', '-q', 'work', '--policy', 'p', '-p', 'a', '--expiry', '2030-01-31'),
      'queue',
      'work',
    );
    assert.deepEqual([own.permissions, own.expiry], ['a', '2030-01-31T00:00:00Z']);
  });

  it('come with a URL and a line that says what they allow', async () => {
    const range = ['--start-pk', 'Sales', '--end-pk', 'Sales'];
    const [text, url] = await Promise.all([
      printed('table', '-t', 'people', '-p', 'ar', ...times, ...range, '--https-only'),
      printed('queue', '-q', 'work', ...times, '--format', 'url'),
    ]);
    const [urlLine = '', tokenLine = '', allows, ...rest] = text.split('\n');
    const query = tokenLine.replace(/^Token +/, '');
    assert.match(urlLine, /^URL +http:\/\/127\.0\.0\.1:10002\/devstoreaccount1\/people\?/);
    assert.ok(urlLine.endsWith(`?${query}`));
    fieldsOf(query, 'table');
    assert.equal(
      allows,
      "Allows      read, add rows of the table people from PartitionKey 'Sales' to PartitionKey " +
        "'Sales', from 2026-01-31T00:00:00Z, until 2030-01-31T12:00:00Z, over https only",
    );
    assert.deepEqual(rest, ['']);
    assert.match(url, /^http:\/\/127\.0\.0\.1:10001\/devstoreaccount1\/work\?sv=[^\n]*\n$/);
  });

  it('come as JSON, for an account with a connection string of its services', async () => {
    const [table, account] = await Promise.all([
      printed('table', '-t', 'people', '--format', 'json'),
      printed('account', '--services', 'q', '--format', 'json'),
    ]);
    assert.deepEqual(Object.keys(JSON.parse(table)), ['token', 'url', 'allows']);
    const made: Readonly<Record<string, string>> = JSON.parse(account);
    assert.deepEqual(Object.keys(made), ['token', 'queueUrl', 'connectionString', 'allows']);
    assert.equal(
      made['connectionString'],
      `QueueEndpoint=http://127.0.0.1:10001/${name};SharedAccessSignature=${made['token']}`,
    );
  });

  it('are made with the account of the connection string', async () => {
    const key = Buffer.from('a key of my own').toString('base64');
    const connection = ['-c', `AccountName=mine;AccountKey=${key};EndpointSuffix=example.net`];
    const url = await printed('queue', '-q', 'work', '--format', 'url', ...connection);
    assert.ok(url.startsWith('https://mine.queue.example.net/work?'));
    const sas = readSas(url.slice(url.indexOf('?') + 1).trimEnd(), 'queue');
    assert.ok(sas !== undefined);
    const own = createSecretKey(Buffer.from(key, 'base64'));
    verifySasSignature(sas, { name: 'mine', keys: [own] }, { container: 'work' });
  });

  it('say when they are over already', async () => {
    assert.match(
      await printed('table', '-t', 'people', '--expiry', '2020-01-01'),
      /until 2020-01-01T00:00:00Z \(in the past\)\n$/,
    );
  });
});

describe('a command line that makes no sense', () => {
  const table = ['table', '-t', 'people'];
  const queue = ['queue', '-q', 'work'];
  const cases: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [
      [...table, '-p', 'rp'],
      /'p' is no letter\. The letters are r \(read\), a \(add\), u \(update\)/,
    ],
    [[...queue, '-p', 'd'], /'d' is no letter.* p \(get, delete\)/],
    [[...queue, '-p', ''], /There is no letter/],
    [['blob', 'photos/a', '-p', 'rl'], /The letter l is for a container/],
    [['blob', 'Photos'], /A container name has 3 to 63/],
    [['blob', 'photos/a\\b'], /write a slash/],
    [['blob', `photos/${'n'.repeat(1025)}`], /at most 1024 characters/],
    [['blob'], /missing required argument 'place'/],
    [['account', '--services', 'f'], /'f' is no letter\. The letters are t \(tables\), q/],
    [['account', '--resource-types', 'x'], /'x' is no letter/],
    [[...table, '--expiry', 'tomorrow'], /It must be a UTC time .* or a duration such as 90m/],
    [[...table, '--expiry', '0'], /It must be 1 to /],
    [[...table, '--expiry', '2030-01-31T12:00'], /It must be a UTC time/],
    [[...table, '--start', '1h'], /It must be a UTC time/],
    [[...table, ...times, '--start', '2030-02-01'], /is not after the start 2030-02-01/],
    [[...queue, '--ip', '10.0.0.9-10.0.0.1'], /range, lower end first/],
    [[...queue, '--sv', '2015-02-21', '--https-only'], /need --sv 2015-04-05 or later/],
    [[...queue, '--sv', '2011-08-18'], /not before 2012-02-12/],
    [['account', '--sv', '2015-02-21'], /not before 2015-04-05/],
    [[...table, '--start-rk', '1'], /--start-rk needs --start-pk/],
    [[...table, '--end-rk', '1'], /--end-rk needs --end-pk/],
    [[...table, '--start-pk', 'b', '--end-pk', 'a'], /ends before it starts/],
    [[...table, '--end-pk', ''], /cannot tell an empty key from none/],
    [[...table, '--policy', 'p'.repeat(65)], /1 to 64 characters/],
    [['table'], /required option '-t, --table <name>'/],
    [
      [
        ...queue,
        '-c',
        'QueueEndpoint=http://127.0.0.1:10001/acct;SharedAccessSignature=sv=x&sig=y',
      ],
      /making a token takes an AccountKey/,
    ],
  ];

  it('is refused with what to write instead, and makes nothing', async () => {
    for (const [args, message] of cases) {
      await assert.rejects(printed(...args), (error) => {
        assert.ok(error instanceof CommanderError || error instanceof UsageError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
  });

  it('ends with 2, one that makes sense with 0', costly(), async () => {
    const [made, refused] = await Promise.all([
      runCli(['sas', 'table', '-t', 'people', '--format', 'token']),
      runCli(['sas', 'table', '-t', 'people', '--start-rk', '1']),
    ]);
    assert.equal(made.code, 0, made.stderr);
    assert.equal(fieldsOf(made.stdout.trimEnd(), 'table').kind, 'table-sas');
    assert.deepEqual([refused.code, refused.stdout], [2, '']);
    assert.match(refused.stderr, /^error: --start-rk needs --start-pk/);
  });
});
