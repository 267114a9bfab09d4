import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  AzureNamedKeyCredential,
  generateAccountSas,
  generateTableSas,
  type AccountSasOptions,
  type TableSasSignatureValues,
} from '@azure/data-tables';
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
import { withoutExtras } from '../../../../test/support/extras.js';
import { loadLegacyClient } from '../../../../test/support/legacy-client.js';
import type { ServiceName } from '../../../model/services/services.js';
import { readSas } from './read-sas.js';
import { signAccountSas, signQueueSas, signTableSas, verifySasSignature } from './sas-signature.js';

// The server accepts what the official clients sign, and the project signs as they do.

const name = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const key = createSecretKey(Buffer.from(secret, 'base64'));
const named = new AzureNamedKeyCredential(name, secret);
const shared = new StorageSharedKeyCredential(name, secret);

const startsOn = new Date('2025-11-21T00:00:00Z');
const expiresOn = new Date('2025-11-28T12:34:56Z');
const ipRange = { start: '10.0.0.1', end: '10.0.0.9' };

/** Parses and verifies a signature and signs its fields again; returns the query string. */
function rewritten(query: string, service: ServiceName, queue?: string): string {
  const sas = readSas(query, service);
  assert.ok(sas !== undefined);
  verifySasSignature(
    sas,
    { name, keys: [key] },
    queue === undefined ? queue : { container: queue },
  );
  switch (sas.kind) {
    case 'table-sas':
      return signTableSas(sas, { name, key });
    case 'queue-sas':
      return signQueueSas(sas, queue ?? '', { name, key });
    case 'account-sas':
      return signAccountSas(sas, { name, key });
    default:
      return assert.fail();
  }
}

const tableOptions: readonly (readonly [string, TableSasSignatureValues])[] = [
  [
    'permissions and expiry',
    { permissions: { query: true, add: true, update: true, delete: true }, expiresOn },
  ],
  ['the defaults', {}],
  ['a policy alone', { identifier: 'readers & writers' }],
  [
    'everything',
    {
      permissions: { query: true, add: true },
      startsOn,
      expiresOn,
      ipRange,
      protocol: 'https,http',
      identifier: 'policy',
      startPartitionKey: 'a/b c',
      startRowKey: "1'2",
      endPartitionKey: 'ü€',
      endRowKey: '9&',
    },
  ],
  ['one address', { permissions: { query: true }, expiresOn, ipRange: { start: '10.0.0.1' } }],
];

const accountOptions: readonly AccountSasOptions[] = [
  {},
  {
    permissions: {
      query: true,
      write: true,
      delete: true,
      list: true,
      add: true,
      update: true,
    },
    services: { table: true, queue: true, blob: true, file: true },
    resourceTypes: 'sco',
    startsOn,
    expiresOn,
    ipRange,
    protocol: 'https',
  },
];

describe('@azure/data-tables', () => {
  for (const [what, options] of tableOptions) {
    it(`signs for a table with ${what}`, () => {
      const query = generateTableSas('People', named, options);
      assert.equal(rewritten(query, 'table'), query);
    });
  }

  it('signs for an account', () => {
    for (const options of accountOptions) {
      const query = generateAccountSas(named, options);
      assert.equal(rewritten(query, 'table'), query);
    }
  });
});

describe('@azure/storage-queue', () => {
  const permissions = QueueSASPermissions.parse('puar');
  const everything = {
    queueName: 'q-1',
    permissions,
    startsOn,
    expiresOn,
    ipRange,
    protocol: SASProtocol.Https,
  };

  it('signs for a queue', () => {
    for (const values of [
      { queueName: 'q-1', permissions, expiresOn },
      { queueName: 'q-1', identifier: 'readers' },
      { ...everything, version: '2018-11-09' },
      everything,
    ]) {
      const query = generateQueueSASQueryParameters(values, shared).toString();
      assert.equal(rewritten(query, 'queue', 'q-1'), query);
    }
  });

  it('signs for an account on both sides of the version that adds a line', () => {
    for (const version of ['2015-04-05', '2019-12-12', '2020-12-06', undefined]) {
      const query = generateAccountSASQueryParameters(
        {
          permissions: AccountSASPermissions.parse('rwdlacup'),
          services: AccountSASServices.parse('qtb').toString(),
          resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
          expiresOn,
          startsOn,
          protocol: SASProtocol.HttpsAndHttp,
          ...(version === undefined ? {} : { version }),
        },
        shared,
      ).toString();
      assert.equal(rewritten(query, 'queue'), query);
      assert.equal(rewritten(query, 'table'), query);
    }
  });

  it('signs for a queue with a user delegation key', () => {
    const value = 'dXNlciBkZWxlZ2F0aW9uIGtleSBvZiAzMiBieXRlcyE=';
    const delegationKey = {
      signedObjectId: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
      signedTenantId: '6ba7b811-9dad-11d1-80b4-00c04fd430c8',
      signedStartsOn: startsOn,
      signedExpiresOn: expiresOn,
      signedService: 'q',
      signedVersion: '2025-07-05',
      value,
    };
    const values = { ...everything, version: '2025-07-05', delegatedUserObjectId: 'someone' };
    const query = generateQueueSASQueryParameters(values, delegationKey, name).toString();
    const sas = readSas(query, 'queue');
    assert.equal(sas?.kind, 'user-delegation-queue-sas');
    const keys = [createSecretKey(Buffer.from(value, 'base64'))];
    verifySasSignature(sas, { name, keys }, { container: 'q-1' });
    assert.throws(() => verifySasSignature(sas, { name, keys }, { container: 'q-2' }));
    assert.throws(() => verifySasSignature(sas, { name, keys: [key] }, { container: 'q-1' }));
    for (const field of ['sduoid', 'skoid', 'sks', 'ske']) {
      const other = readSas(query.replace(new RegExp(`${field}=[^&]*`), `${field}=x`), 'queue');
      assert.ok(other !== undefined);
      assert.throws(() => verifySasSignature(other, { name, keys }, { container: 'q-1' }), field);
    }
  });
});

describe('azure-storage', { skip: withoutExtras }, () => {
  const azureStorage = loadLegacyClient();
  const policy = {
    AccessPolicy: {
      Permissions: 'raud',
      Start: startsOn,
      Expiry: expiresOn,
      IPAddressOrRange: '10.0.0.1-10.0.0.9',
      Protocols: 'https,http',
      StartPk: 'a b',
      StartRk: '1',
      EndPk: 'z',
      EndRk: '9',
    },
  };

  /** Compares the fields in any order: this client has its own. */
  function sameFields(left: string, right: string): void {
    const fields = (query: string) => query.split('&').toSorted();
    assert.deepEqual(fields(left), fields(right));
  }

  it('signs for a table', () => {
    const service = azureStorage.createTableService(name, secret);
    const query = service.generateSharedAccessSignature('People', policy);
    sameFields(rewritten(query, 'table'), query);
  });

  it('signs for a queue, with a policy too', () => {
    const service = azureStorage.createQueueService(name, secret);
    const accesses: readonly object[] = [
      { AccessPolicy: { Permissions: 'raup', Expiry: expiresOn } },
      { Id: 'stored', AccessPolicy: { Permissions: 'r', Expiry: expiresOn } },
    ];
    for (const access of accesses) {
      const query = service.generateSharedAccessSignature('q-1', access);
      sameFields(rewritten(query, 'queue', 'q-1'), query);
    }
  });

  it('signs for an account', () => {
    const query = azureStorage.generateAccountSharedAccessSignature(name, secret, {
      AccessPolicy: {
        Services: 'qt',
        ResourceTypes: 'sco',
        Permissions: 'rwdlacup',
        Expiry: expiresOn,
      },
    });
    sameFields(rewritten(query, 'table'), query);
  });
});
