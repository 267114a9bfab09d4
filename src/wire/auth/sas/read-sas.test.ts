import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../../model/errors/storage-error.js';
import type { ServiceName } from '../../../model/services/services.js';
import { readSas } from './read-sas.js';

function refuses(query: string, service: ServiceName, detail: RegExp): void {
  assert.throws(
    () => readSas(query, service),
    (error) => {
      assert.ok(error instanceof StorageError, query);
      assert.equal(error.code, 'AuthenticationFailed');
      assert.match(error.details[0]?.[1] ?? '', detail);
      return true;
    },
    query,
  );
}

const service = 'sv=2019-02-02&se=2030-01-01&sp=r&sig=x';
const table = `${service}&tn=t`;
const account = `${service}&ss=t&srt=o`;
const delegated =
  'sv=2025-07-05&se=2030-01-01&sp=r&sig=x&sr=q&skoid=o&sktid=t&skt=2029-12-31&ske=2030-01-02&sks=q&skv=2025-07-05';

function without(query: string, name: string): string {
  return query
    .split('&')
    .filter((part) => !part.startsWith(`${name}=`))
    .join('&');
}

describe('a signature in the query', () => {
  it('is there when sig is, whatever else is', () => {
    for (const query of ['', 'comp=acl', 'assign=sig=1', 'sv=2019-02-02&se=x&se=y', 'msig=x']) {
      assert.equal(readSas(query, 'table'), undefined);
      assert.equal(readSas(query, 'queue'), undefined);
    }
    assert.equal(readSas(table.replace('sig=', '%73ig='), 'table')?.signature, 'x');
  });

  it('is for an account, a table or a queue, by its fields', () => {
    assert.equal(readSas(table, 'table')?.kind, 'table-sas');
    assert.equal(readSas(service, 'queue')?.kind, 'queue-sas');
    assert.equal(readSas(account, 'table')?.kind, 'account-sas');
    assert.equal(readSas(account, 'queue')?.kind, 'account-sas');
    assert.equal(readSas(delegated, 'queue')?.kind, 'user-delegation-queue-sas');
  });

  it('gives its fields decoded, and none for what is empty', () => {
    const sas = readSas(
      'sv=2019-02-02&st=&se=2030-01-01T00%3A00Z&sp=r&si=a+b%2B&sip=1.2.3.4&spr=https&tn=T&spk=a%26&epk=&sig=a+b/%2B%3D',
      'table',
    );
    assert.deepEqual(sas, {
      kind: 'table-sas',
      version: '2019-02-02',
      permissions: 'r',
      start: undefined,
      expiry: '2030-01-01T00:00Z',
      ip: '1.2.3.4',
      protocol: 'https',
      identifier: 'a b+',
      table: 'T',
      startPartitionKey: 'a&',
      startRowKey: undefined,
      endPartitionKey: undefined,
      endRowKey: undefined,
      signature: 'a+b/+=',
    });
  });

  it('has names in any case for queues, in lower case for tables', () => {
    const mixed = 'SV=2019-02-02&Se=2030-01-01&sP=r&SIG=x';
    assert.equal(readSas(mixed, 'queue')?.permissions, 'r');
    assert.equal(readSas(`${mixed}&tn=t`, 'table'), undefined);
    refuses(
      'sv=2019-02-02&se=2030-01-01&sp=r&sig=x&SIG=y',
      'queue',
      /^The query string has sig twice/,
    );
  });

  it('is refused when a field is there twice, even alike or empty', () => {
    for (const name of ['sig', 'se', 'sv', 'sp', 'st', 'sip', 'spr', 'tn', 'spk', 'si']) {
      for (const value of ['x', '']) {
        const query = `${without(table, name)}&${name}=${value}&${name}=x`;
        refuses(query, 'table', new RegExp(`^The query string has ${name} twice`));
      }
    }
    assert.equal(readSas(`${table}&$filter=a&$filter=b`, 'table')?.kind, 'table-sas');
  });

  it('is refused with the name of a field that is missing', () => {
    const cases: readonly (readonly [string, ServiceName, readonly string[]])[] = [
      [table, 'table', ['sv', 'se', 'sp', 'tn']],
      [service, 'queue', ['sv', 'se', 'sp']],
      [account, 'table', ['sv', 'se', 'sp', 'ss', 'srt']],
      [account, 'queue', ['sv', 'se', 'sp', 'ss', 'srt']],
      [delegated, 'queue', ['se', 'sp', 'skoid', 'sktid', 'skt', 'ske', 'sks', 'skv']],
    ];
    for (const [query, where, names] of cases) {
      for (const name of names) {
        const detail = new RegExp(`^The signature lacks ${name}: `);
        refuses(without(query, name), where, detail);
        refuses(`${without(query, name)}&${name}=`, where, detail);
      }
    }
    refuses(table.replace('sig=x', 'sig='), 'table', /^The signature lacks sig: it is empty/);
  });

  it('by a user delegation key is for a queue, whether sr says so or not', () => {
    for (const query of [delegated, without(delegated, 'sr'), `${without(delegated, 'sr')}&sr=`]) {
      assert.equal(readSas(query, 'queue')?.kind, 'user-delegation-queue-sas');
    }
    refuses(delegated.replace('sr=q', 'sr=b'), 'queue', /^sr must be q, for a queue/);
  });

  it('takes permissions and expiry from a stored policy', () => {
    const stored = readSas('sv=2019-02-02&si=policy&tn=t&sig=x', 'table');
    assert.ok(stored?.kind === 'table-sas');
    assert.equal(stored.identifier, 'policy');
    const name = 'p'.repeat(64);
    assert.equal(readSas(`sv=2019-02-02&si=${name}&sig=x`, 'queue')?.kind, 'queue-sas');
    refuses(`sv=2019-02-02&si=${name}p&sig=x`, 'queue', /^si has more than 64 characters/);
  });

  it('has the versions that its kind has', () => {
    const at = (query: string, version: string) => query.replace(/sv=[0-9-]*/, `sv=${version}`);
    for (const [query, where, oldest, older] of [
      [table, 'table', '2012-02-12', '2011-08-18'],
      [service, 'queue', '2012-02-12', '2012-02-11'],
      [account, 'table', '2015-04-05', '2015-04-04'],
      [account, 'queue', '2015-04-05', '2015-02-21'],
      [delegated, 'queue', '2025-07-05', '2025-05-05'],
    ] as const) {
      assert.equal(readSas(at(query, oldest), where)?.version, oldest);
      refuses(at(query, older), where, new RegExp(`^sv is ${older}; .*begin with ${oldest}`));
      for (const malformed of ['2019-2-2', '20190202', '2019-02-02x', '9', '2019-02-02%0A']) {
        refuses(at(query, malformed), where, /^sv /);
      }
    }
  });

  it('is refused when it means a limit that its layout does not sign', () => {
    for (const limit of ['sip=1.2.3.4', 'spr=https']) {
      const query = `${table}&${limit}`;
      assert.equal(readSas(query.replace('2019-02-02', '2015-04-05'), 'table')?.kind, 'table-sas');
      refuses(query.replace('2019-02-02', '2015-04-04'), 'table', /needs sv 2015-04-05 or later/);
    }
    for (const name of ['si', 'tn', 'spk', 'srk', 'epk', 'erk']) {
      refuses(`${account}&${name}=x`, 'table', new RegExp(`^${name} has no meaning`));
    }
    refuses(`${delegated}&si=x`, 'queue', /^si has no meaning/);
  });

  it('has a RowKey only with its PartitionKey', () => {
    refuses(`${table}&srk=1`, 'table', /^srk needs spk/);
    refuses(`${table}&epk=a&srk=1`, 'table', /^srk needs spk/);
    refuses(`${table}&spk=&srk=1`, 'table', /^srk needs spk/);
    refuses(`${table}&erk=1`, 'table', /^erk needs epk/);
    assert.equal(readSas(`${table}&spk=a&srk=1&epk=b&erk=2`, 'table')?.kind, 'table-sas');
  });

  it('has letters of services and resource types that exist', () => {
    refuses(`${service}&ss=tx&srt=o`, 'table', /^ss is 'tx'; its letters must be among bqtf/);
    refuses(`${service}&ss=t&srt=/t`, 'table', /^srt is '\/t'; its letters must be among sco/);
  });

  it('cannot stand for other fields: a line break is refused', () => {
    for (const name of ['sp', 'si', 'spk', 'tn', 'sip']) {
      refuses(`${without(table, name)}&${name}=a%0Ab`, 'table', new RegExp(`^${name} has a line`));
    }
  });

  it('is refused when time, address or protocol cannot be read', () => {
    for (const [field, detail] of [
      ['st=today', /^st is 'today'/],
      ['sip=::1', /^sip is '::1'/],
      ['spr=http', /^spr is 'http'/],
    ] as const) {
      refuses(`${table}&${field}`, 'table', detail);
    }
    refuses(table.replace('2030-01-01', '2030-02-30'), 'table', /^se is '2030-02-30'/);
  });

  it('is refused as a query string when it cannot be decoded', () => {
    assert.throws(
      () => readSas(table.replace('sp=r', 'sp=%zz'), 'table'),
      (error) => error instanceof StorageError && error.code === 'InvalidInput',
    );
  });
});
