import assert from 'node:assert/strict';
import { createCipheriv, createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import type { RowProperties, StoredRow } from '../rows/row.js';
import { EncryptionError } from './encryption-error.js';
import { keyRing } from './key-wrapper.js';
import { legacyProperties, openLegacyRow } from './legacy-row.js';
import { aesKeyWrapper } from './local-keys.js';
import { UnwrappedKeys } from './unwrapped-keys.js';

const wrapper = aesKeyWrapper('local:old', Buffer.from(Array.from({ length: 32 }, (_, i) => i)));
const ring = keyRing({ wrapper, algorithm: 'A256KW' });
const newKeys = () => new UnwrappedKeys(ring, manualClock(), { entriesMax: 0, maxAgeMs: 0 });

const text = (value: string) => ({ type: 'String', value }) as const;
const binary = (base64: string) =>
  ({ type: 'Binary', value: new Uint8Array(Buffer.from(base64, 'base64')) }) as const;

/** Made by azure-cosmosdb-table 1.0.6 of Python with the key 00…1f. */
const pythonRow: StoredRow = {
  partitionKey: 'Sales',
  rowKey: 'empid_000123',
  etag: 'e',
  timestamp: 0n,
  properties: {
    Name: binary('kH6GuEx6+6lv7k9qK9EVAUoHzvlFVNXpap6kEEjx2f8='),
    Note: binary(
      'EMv9gHjyw0S/dNS7ZB5NPQqjJe33rxRzD93qIw9nM0CwvFXLHXgvpYI03H1NF7E8oiItNGWaUW/PG1xVAdo6Is2X64eHbxe9er1pqpQgIZXjpbIbIabKPho9ue9Mpo72HNus9BEMltUdYgmD7Q4Sbw==',
    ),
    Empty: binary('P5083bDWST6lBJzRx97xxQ=='),
    Plain: text('seen'),
    _ClientEncryptionMetadata2: binary('V30FfR0nE6wxVogrGSYCeOvp103Y6wAwNdO0+k4clVA='),
    _ClientEncryptionMetadata1: text(
      '{"WrappedContentKey": {"KeyId": "local:old", "EncryptedKey": "krSe064u3ABI07dF2EXJIv8VLFPC4ca8fH+L7nDDPrqSGAz9f/VVrQ==", "Algorithm": "A256KW"}, "EncryptionAgent": {"Protocol": "1.0", "EncryptionAlgorithm": "AES_CBC_256"}, "ContentEncryptionIV": "oK/DrMeERjqfKe30f20zZg==", "KeyWrappingMetadata": {"EncryptionLibrary": "Python 1.4.2"}}',
    ),
  },
};

/**
 * A row as the Java library wrote them: the IV from the keys in the other order, names in brackets.
 */
async function javaRow(metadata: unknown): Promise<StoredRow> {
  const [contentKey, iv] = [Buffer.alloc(32, 5), Buffer.alloc(16, 6)];
  const { result } = await wrapper.wrapKey('A256KW', contentKey);
  const encrypt = (name: string, plain: string) => {
    const digest = createHash('sha256').update(iv).update(`pr${name}`).digest();
    const cipher = createCipheriv('aes-256-cbc', contentKey, digest.subarray(0, 16));
    return binary(Buffer.concat([cipher.update(plain), cipher.final()]).toString('base64'));
  };
  const how = {
    WrappedContentKey: {
      KeyId: 'local:old',
      EncryptedKey: Buffer.from(result).toString('base64'),
      Algorithm: 'A256KW',
    },
    EncryptionAgent: { Protocol: '1.0', EncryptionAlgorithm: 'AES_CBC_256' },
    ContentEncryptionIV: iv.toString('base64'),
    ...(metadata === undefined ? {} : { KeyWrappingMetadata: metadata }),
  };
  const properties: RowProperties = {
    A: encrypt('A', 'alpha'),
    B: encrypt('B', 'beta'),
    _ClientEncryptionMetadata1: text(JSON.stringify(how)),
    _ClientEncryptionMetadata2: encrypt('_ClientEncryptionMetadata2', '[A, B]'),
  };
  return { partitionKey: 'p', rowKey: 'r', etag: 'e', timestamp: 0n, properties };
}

describe('a row of a retired client library', () => {
  it('is read as the Python library wrote it', async () => {
    const opened = await openLegacyRow(newKeys(), pythonRow);
    assert.deepEqual(opened.properties, {
      Name: text('Jonés, “J” 漢字'),
      Note: text('x'.repeat(100)),
      Empty: text(''),
      Plain: text('seen'),
    });
    assert.deepEqual(opened.encrypt?.toSorted(), ['Empty', 'Name', 'Note']);
  });

  it('is read as the Java library wrote it, which names itself or nobody', async () => {
    for (const metadata of [{ EncryptionLibrary: 'Java 4.0.0' }, undefined, null]) {
      const opened = await openLegacyRow(newKeys(), await javaRow(metadata));
      assert.deepEqual(opened.properties, { A: text('alpha'), B: text('beta') });
    }
  });

  it('is read in part when only some properties were selected', async () => {
    const { Name, Plain } = pythonRow.properties;
    const [how, what] = legacyProperties.map((name) => pythonRow.properties[name]);
    assert.ok(Name !== undefined && Plain !== undefined && how !== undefined && what !== undefined);
    const selected = {
      Name,
      Plain,
      _ClientEncryptionMetadata1: how,
      _ClientEncryptionMetadata2: what,
    };
    const opened = await openLegacyRow(newKeys(), { ...pythonRow, properties: selected });
    assert.deepEqual(opened.properties, { Name: text('Jonés, “J” 漢字'), Plain: text('seen') });
  });

  it('is refused when its description or key is not right', async () => {
    const how = pythonRow.properties['_ClientEncryptionMetadata1'];
    assert.ok(how?.type === 'String');
    for (const [from, to] of [
      ['"1.0"', '"2.0"'],
      ['AES_CBC_256', 'AES_GCM_256'],
      ['A256KW', 'none'],
      ['"local:old"', '"local:older"'],
      ['krSe', 'krSf'],
      ['"ContentEncryptionIV"', '"iv"'],
      ['{', ''],
    ] as const) {
      const corrupted = text(how.value.replace(from, to));
      const properties = { ...pythonRow.properties, _ClientEncryptionMetadata1: corrupted };
      await assert.rejects(openLegacyRow(newKeys(), { ...pythonRow, properties }), EncryptionError);
    }
  });
});
