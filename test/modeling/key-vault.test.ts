import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CryptographyClient, type KeyWrapAlgorithm } from '@azure/keyvault-keys';
import type { KeyRing, KeyWrapper } from '../../src/modeling/encryption/key-wrapper.js';
import { aesKeyWrapper } from '../../src/modeling/encryption/local-keys.js';
import { withEncryption } from '../../src/modeling/encryption/encrypted-table.js';
import type { Row, StoredRow } from '../../src/modeling/rows/row.js';
import type { TableGateway } from '../../src/modeling/table/gateway.js';

// The real client of Azure Key Vault as key-encryption key. The vault is its protocol over a key in
// this process.

const keyId = 'https://vault.example.net/keys/staff/0123456789abcdef0123456789abcdef';
const credential = { getToken: () => Promise.resolve({ token: 't', expiresOnTimestamp: 9e15 }) };

interface VaultRequest {
  readonly alg: KeyWrapAlgorithm;
  readonly value: string;
}

const key = aesKeyWrapper(keyId, Buffer.alloc(32, 3));

/** The vault's description of the key, which never leaves it. */
const keyBundle = { key: { kid: keyId, kty: 'oct-HSM', key_ops: ['wrapKey', 'unwrapKey'] } };

async function wrapping(operation: string, body: unknown) {
  const { alg, value }: VaultRequest = JSON.parse(String(body));
  assert.equal(alg, 'A256KW');
  const given = Buffer.from(value, 'base64url');
  const { result } =
    operation === 'wrapkey'
      ? await key.wrapKey('A256KW', given)
      : await key.unwrapKey('A256KW', given);
  return { kid: keyId, value: Buffer.from(result).toString('base64url') };
}

/** `POST …/wrapkey` and `…/unwrapkey`, after the challenge that names the authority. */
function vaultClient(requests: string[]): CryptographyClient {
  const headers = (entries: Readonly<Record<string, string>> = {}) => {
    const all = new Map(Object.entries(entries));
    return {
      get: (name: string) => all.get(name.toLowerCase()),
      has: (name: string) => all.has(name.toLowerCase()),
      set: (name: string, value: string) => void all.set(name.toLowerCase(), value),
      delete: (name: string) => void all.delete(name.toLowerCase()),
      toJSON: () => Object.fromEntries(all),
      [Symbol.iterator]: () => all[Symbol.iterator](),
    };
  };
  const challenge =
    'Bearer authorization="https://login.example.net/tenant", resource="https://vault.example.net"';
  return new CryptographyClient(keyId, credential, {
    disableChallengeResourceVerification: true,
    httpClient: {
      async sendRequest(request) {
        if (request.headers.get('authorization') === undefined) {
          return { request, status: 401, headers: headers({ 'www-authenticate': challenge }) };
        }
        const operation = new URL(request.url).pathname.split('/').at(4) ?? 'getkey';
        requests.push(operation);
        const answer = operation === 'getkey' ? keyBundle : await wrapping(operation, request.body);
        return {
          request,
          status: 200,
          headers: headers({ 'content-type': 'application/json' }),
          bodyAsText: JSON.stringify(answer),
        };
      },
    },
  });
}

/** One row in memory. */
class OneRow implements TableGateway {
  readonly table = 'Staff';
  stored: Row | undefined;

  get(): Promise<StoredRow | undefined> {
    const row = this.stored;
    return Promise.resolve(row === undefined ? undefined : { ...row, etag: 'e', timestamp: 0n });
  }

  write(write: Parameters<TableGateway['write']>[0]) {
    if (write.kind !== 'delete') this.stored = write.row;
    return Promise.resolve({ etag: 'e' });
  }

  transact(): Promise<never> {
    return Promise.reject(new Error('not here'));
  }

  page(): Promise<never> {
    return Promise.reject(new Error('not here'));
  }
}

describe('a CryptographyClient of @azure/keyvault-keys', () => {
  it('is a KeyWrapper by its type', () => {
    const wrapper: KeyWrapper = vaultClient([]);
    assert.equal(wrapper.keyID, keyId);
  });

  it('wraps and unwraps the content keys of rows, one request each', async () => {
    const requests: string[] = [];
    const keys: KeyRing = {
      current: { wrapper: vaultClient(requests), algorithm: 'A256KW' },
      find: () => undefined,
    };
    const inner = new OneRow();
    const table = withEncryption(inner, { keys, cache: { entriesMax: 0 } });
    const row: Row = {
      partitionKey: 'Sales',
      rowKey: '1',
      properties: { Note: { type: 'String', value: 'secret' } },
      encrypt: ['Note'],
    };
    await table.write({ kind: 'insert', row });
    assert.equal(inner.stored?.properties['Note']?.type, 'Binary');
    const envelope = inner.stored.properties['_Encryption'];
    assert.ok(envelope?.type === 'String' && envelope.value.includes(`"kek":"${keyId}"`));
    const read = await table.get(row);
    assert.deepEqual(read?.properties, row.properties);
    assert.deepEqual(requests, ['getkey', 'wrapkey', 'unwrapkey'], 'the client reads its key once');
  });
});
