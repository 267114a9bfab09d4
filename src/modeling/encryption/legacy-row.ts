import { createDecipheriv, createHash } from 'node:crypto';
import type { RowProperties, StoredRow, WireValue } from '../rows/row.js';
import { EncryptionError } from './encryption-error.js';
import { isKeyWrapAlgorithm } from './key-wrapper.js';
import type { UnwrappedKeys } from './unwrapped-keys.js';

// Reads rows that the retired client libraries encrypted (their protocol 1.0): AES-256-CBC under a
// content key of the entity, with an IV for each property that depends on keys and name. Strings
// only.

/**
 * The properties that they add: the metadata, and, encrypted, the names of encrypted properties.
 */
export const legacyProperties = [
  '_ClientEncryptionMetadata1',
  '_ClientEncryptionMetadata2',
] as const;
const [howProperty, whatProperty] = legacyProperties;

interface LegacyEnvelope {
  readonly contentKey: Parameters<UnwrappedKeys['unwrap']>[0];
  readonly contentIv: Uint8Array;
  /** The Java library joined the keys in another order, and wrote the names without JSON. */
  readonly isJava: boolean;
}

/**
 * Decrypts the properties of a row, lists them in `encrypt`, and removes the two of the old format.
 * Writing the row back encrypts it in the current format. At most one `unwrapKey`.
 */
export async function openLegacyRow(keys: UnwrappedKeys, row: StoredRow): Promise<StoredRow> {
  const { [howProperty]: how, [whatProperty]: what, ...properties } = row.properties;
  const envelope = parseHow(how);
  const key = await keys.unwrap(envelope.contentKey);
  const decrypt = (property: string, stored: WireValue | undefined): string => {
    if (stored?.type !== 'Binary') throw malformed(`${property} is not Binary`);
    return decryptLegacy(key, ivOf(envelope, row, property), stored.value, property);
  };
  const names = namesOf(envelope, decrypt(whatProperty, what));
  const present = names.filter((name) => Object.hasOwn(properties, name));
  const decrypted = present.map((name): [string, WireValue] => [
    name,
    { type: 'String', value: decrypt(name, properties[name]) },
  ]);
  const opened: RowProperties = { ...properties, ...Object.fromEntries(decrypted) };
  return { ...row, properties: opened, encrypt: present };
}

function parseHow(stored: WireValue | undefined): LegacyEnvelope {
  if (stored?.type !== 'String') throw malformed(`${howProperty} is no text`);
  const how = fieldsOf(parse(stored.value));
  const wrapped = fieldsOf(how['WrappedContentKey']);
  const agent = fieldsOf(how['EncryptionAgent']);
  const { KeyId: keyId, EncryptedKey: key, Algorithm: algorithm } = wrapped;
  if (agent['Protocol'] !== '1.0' || agent['EncryptionAlgorithm'] !== 'AES_CBC_256') {
    throw malformed(
      `it is ${String(agent['EncryptionAlgorithm'])} of ${String(agent['Protocol'])}`,
    );
  }
  if (!isKeyWrapAlgorithm(algorithm)) throw malformed(`'${String(algorithm)}' wraps no keys`);
  const iv = how['ContentEncryptionIV'];
  if (typeof keyId !== 'string' || typeof key !== 'string' || typeof iv !== 'string') {
    throw malformed('its key or IV is missing');
  }
  const metadata = how['KeyWrappingMetadata'];
  return {
    contentKey: { keyId, algorithm, bytes: Buffer.from(key, 'base64') },
    contentIv: Buffer.from(iv, 'base64'),
    isJava:
      metadata === undefined ||
      metadata === null ||
      isJavaLibrary(fieldsOf(metadata)['EncryptionLibrary']),
  };
}

function isJavaLibrary(name: unknown): boolean {
  return typeof name === 'string' && name.includes('Java');
}

/** A JSON list, or `[a, b]` from the Java library. */
function namesOf({ isJava }: LegacyEnvelope, text: string): readonly string[] {
  if (isJava)
    return text
      .slice(1, -1)
      .split(/[, ]+/)
      .filter((name) => name !== '');
  const names = parse(text);
  if (!Array.isArray(names)) throw malformed('its list of properties is no list');
  return names.map(String);
}

function ivOf(
  { contentIv, isJava }: LegacyEnvelope,
  { partitionKey, rowKey }: StoredRow,
  property: string,
): Uint8Array {
  const place = isJava ? partitionKey + rowKey + property : rowKey + partitionKey + property;
  return createHash('sha256').update(contentIv).update(place, 'utf8').digest().subarray(0, 16);
}

function decryptLegacy(
  key: Uint8Array,
  iv: Uint8Array,
  bytes: Uint8Array,
  property: string,
): string {
  try {
    const decipher = createDecipheriv('aes-256-cbc', key, iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw malformed(`${property} does not decrypt`, cause);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformed('it is no JSON', cause);
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw malformed('a part of it is missing');
  return Object.fromEntries(Object.entries(value));
}

function malformed(why: string, cause?: unknown): EncryptionError {
  return new EncryptionError(`The row of a retired client library cannot be read: ${why}`, {
    cause,
  });
}
