import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { developmentAccount, makeAccountDirectory } from '../../services/accounts/directory.js';
import { resolveAddress } from './address.js';

const { keys } = developmentAccount;
const accounts = makeAccountDirectory([
  { name: 'alpha', keys },
  { name: 'beta', keys },
  { name: 'alphabet', keys },
  { name: 'secondary', keys },
]);

function resolved(path: string, host: string): string {
  const { account, secondary, accountPath, resourcePath } = resolveAddress(path, host, accounts);
  return `${account.name}${secondary ? ' secondary' : ''} ${accountPath || '-'} ${resourcePath}`;
}

describe('the address of a request', () => {
  const cases: readonly [path: string, host: string, expected: string][] = [
    ['/alpha/t', '127.0.0.1:10002', 'alpha /alpha /t'],
    ['/alpha/t', '[::1]:10002', 'alpha /alpha /t'],
    ['/alpha/t', 'localhost', 'alpha /alpha /t'],
    ['/alpha/t', 'tables.internal.example', 'alpha /alpha /t'],
    ['/alpha/t', 'host.docker.internal:10002', 'alpha /alpha /t'],
    ['/alpha', 'localhost', 'alpha /alpha /'],
    ['/alpha/', 'localhost', 'alpha /alpha /'],
    ['/alpha-secondary/t', 'localhost', 'alpha secondary /alpha-secondary /t'],
    ['/t', 'alpha.localhost:10002', 'alpha - /t'],
    ['/', 'alpha.table.example', 'alpha - /'],
    ['/t', 'alpha-secondary.table.example', 'alpha secondary - /t'],
    ['/t', 'alpha', 'alpha - /t'],
    ['/t', 'alpha:10002', 'alpha - /t'],
    ['/beta/t', 'alpha.localhost', 'beta /beta /t'],
    [
      "/alpha(PartitionKey='',RowKey='')",
      'beta.localhost',
      "beta - /alpha(PartitionKey='',RowKey='')",
    ],
    ['/alpha/t', 'tables:10002', 'alpha /alpha /t'],
    ['/alpha/t', 'my_project-tables_1:10002', 'alpha /alpha /t'],
    ['/alpha/t', 'my_project.tables_1.internal:10002', 'alpha /alpha /t'],
    ['/alpha/t', '[2001:db8::1%25eth0]:10002', 'alpha /alpha /t'],
    ['/t', 'alpha.tables_1.my_project:10002', 'alpha - /t'],
    ['/t', 'alpha.', 'alpha - /t'],
    ['/t', 'Alpha.Table.Example', 'alpha - /t'],
    // A table or queue may have the name of an account.
    ['/alpha/alpha', 'beta.localhost', 'alpha /alpha /alpha'],
    ['/alpha/beta', 'localhost', 'alpha /alpha /beta'],
    // Names that are prefixes of one another, in each position.
    ['/alphabet/t', 'localhost', 'alphabet /alphabet /t'],
    ['/alphabet/t', 'alpha.localhost', 'alphabet /alphabet /t'],
    ['/alpha/bet', 'alphabet.localhost', 'alpha /alpha /bet'],
    ['/t', 'alphabet.localhost', 'alphabet - /t'],
    ['/alphabe/t', 'alpha.localhost', 'alpha - /alphabe/t'],
    ['/secondary/t', 'alpha.localhost', 'secondary /secondary /t'],
    ['/secondary-secondary/t', 'localhost', 'secondary secondary /secondary-secondary /t'],
    ['/-secondary/t', 'alpha.localhost', 'alpha - /-secondary/t'],
    ['/alpha-secondary-secondary/t', 'beta.localhost', 'beta - /alpha-secondary-secondary/t'],
    ['/t', 'alpha-secondary', 'alpha secondary - /t'],
    // The account of the path takes precedence over the host, also for the secondary endpoint.
    ['/alpha/t', 'alpha-secondary.localhost', 'alpha /alpha /t'],
    ["/alpha/t(PartitionKey='a%2Fb')", 'localhost', "alpha /alpha /t(PartitionKey='a%2Fb')"],
  ];
  for (const [path, host, expected] of cases) {
    it(`${host}${path} is ${expected}`, () => {
      assert.equal(resolved(path, host), expected);
    });
  }

  it('names what was tried, and not what there is, when no account is known', () => {
    assert.throws(
      () => resolved('/gamma/t', 'delta.localhost'),
      (error: unknown) => {
        assert.ok(error instanceof StorageError);
        assert.equal(error.code, 'ResourceNotFound');
        assert.ok(error.message.endsWith("There is no account 'gamma' or 'delta'."), error.message);
        assert.doesNotMatch(error.message, /alpha|beta/);
        return true;
      },
    );
  });

  it('does not take a part of an address for an account', () => {
    assert.throws(
      () => resolved('/gamma/t', '127.0.0.1:10001'),
      (error: unknown) =>
        error instanceof StorageError && error.message.includes("no account 'gamma'."),
    );
  });

  for (const [path, host] of [
    ['/Alpha/t', 'localhost'],
    ['/alpha%2Ft', 'localhost'],
    ['/%61lpha/t', 'localhost'],
    ['/alpha;x/t', 'localhost'],
    ['/gamma-secondary/t', 'localhost'],
    ['/t', 'tables.alpha'],
    ['/t', '[alpha]'],
    ['/t', 'x-alpha.localhost'],
    ['//alpha/t', 'localhost'],
  ] as const) {
    it(`does not take ${host}${path} for an account`, () => {
      assert.throws(() => resolved(path, host), StorageError);
    });
  }

  it('shows a bounded part of what was tried', () => {
    assert.throws(
      () => resolved(`/${'x'.repeat(60_000)}/t`, 'localhost'),
      (error: unknown) => error instanceof StorageError && error.message.length < 500,
    );
  });
});
