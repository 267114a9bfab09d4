import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../wire/errors/storage-error.js';
import { developmentAccount, makeAccountDirectory } from '../../services/accounts/directory.js';
import { resolveAddress } from './address.js';

const { keys } = developmentAccount;
const accounts = makeAccountDirectory([
  { name: 'alpha', keys },
  { name: 'beta', keys },
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
    ["/alpha/t(PartitionKey='a%2Fb')", 'localhost', "alpha /alpha /t(PartitionKey='a%2Fb')"],
  ];
  for (const [path, host, expected] of cases) {
    it(`${host}${path} is ${expected}`, () => {
      assert.equal(resolved(path, host), expected);
    });
  }

  it('names what was tried and what there is when no account is known', () => {
    assert.throws(
      () => resolved('/gamma/t', 'delta.localhost'),
      (error: unknown) => {
        assert.ok(error instanceof StorageError);
        assert.equal(error.code, 'ResourceNotFound');
        for (const name of ['gamma', 'delta', 'alpha', 'beta']) {
          assert.ok(error.message.includes(name), name);
        }
        return true;
      },
    );
  });

  it('does not take a part of an address for an account', () => {
    assert.throws(
      () => resolved('/gamma/t', '127.0.0.1:10001'),
      (error: unknown) =>
        error instanceof StorageError && error.message.includes("No account 'gamma'; this server"),
    );
  });

  it('shows a bounded part of what was tried', () => {
    assert.throws(
      () => resolved(`/${'x'.repeat(60_000)}/t`, 'localhost'),
      (error: unknown) => error instanceof StorageError && error.message.length < 500,
    );
  });
});
