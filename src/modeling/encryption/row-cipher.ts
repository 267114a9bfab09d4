import { own } from '../../base/own.js';
import type { Randomness } from '../../base/randomness.js';
import type { Row, RowProperties, StoredRow, WireValue } from '../rows/row.js';
import type { ValueLocation } from './associated-data.js';
import type { DeterministicKeys } from './deterministic-keys.js';
import { EncryptionError } from './encryption-error.js';
import {
  envelopeOf,
  envelopeProperty,
  renderEnvelope,
  type Envelope,
  type WrappedContentKey,
} from './envelope.js';
import { idOf, type KeyEncryptionKey } from './key-wrapper.js';
import {
  contentKeyBytes,
  decryptEqual,
  decryptValue,
  encryptEqual,
  encryptValue,
  type ValueAlgorithm,
} from './property-cipher.js';
import type { UnwrappedKeys } from './unwrapped-keys.js';

/** The keys for the rows of one table. */
export interface RowKeys {
  readonly table: string;
  readonly current: KeyEncryptionKey;
  readonly unwrapped: UnwrappedKeys;
  readonly deterministic: DeterministicKeys;
  readonly randomness: Randomness;
}

/**
 * Encrypts the named properties under a new content key. One `wrapKey`, unless every property is
 * deterministic.
 */
export async function sealRow(
  keys: RowKeys,
  row: Row,
  algorithms: Readonly<Record<string, ValueAlgorithm>>,
): Promise<Row> {
  const { partitionKey, rowKey } = row;
  if (Object.keys(algorithms).length === 0) {
    return { partitionKey, rowKey, properties: row.properties };
  }
  const used = new Set(Object.values(algorithms));
  const contentKey = used.has('A256GCM') ? keys.randomness.bytes(contentKeyBytes) : undefined;
  const detId = used.has('A256SIV') ? keys.deterministic.currentId : undefined;
  const [wrapped, detKey] = await Promise.all([
    contentKey === undefined ? undefined : wrapContentKey(keys.current, contentKey),
    detId === undefined ? undefined : keys.deterministic.keyOf(detId),
  ]);
  const properties: Record<string, WireValue> = { ...row.properties };
  for (const [property, algorithm] of Object.entries(algorithms)) {
    const value = own(row.properties, property);
    if (value === undefined) continue;
    const location = { table: keys.table, partitionKey, rowKey, property };
    const bytes =
      algorithm === 'A256GCM'
        ? encryptValue(known(contentKey), location, value, keys.randomness)
        : encryptEqual(known(detKey), location, value);
    properties[property] = { type: 'Binary', value: bytes };
  }
  const envelope = {
    ...(wrapped === undefined ? {} : { contentKey: wrapped }),
    ...(detId === undefined ? {} : { deterministicKeyId: detId }),
    properties: algorithms,
  };
  properties[envelopeProperty] = { type: 'String', value: renderEnvelope(envelope) };
  return { partitionKey, rowKey, properties };
}

/** One `wrapKey`. */
export async function wrapContentKey(
  { wrapper, algorithm }: KeyEncryptionKey,
  contentKey: Uint8Array,
): Promise<WrappedContentKey> {
  const ownId = idOf(wrapper);
  const { result, keyID } = await wrapper.wrapKey(algorithm, contentKey);
  return { keyId: keyID ?? ownId, algorithm, bytes: result };
}

/**
 * Decrypts every encrypted property, lists them in `encrypt` and removes the envelope. At most one
 * `unwrapKey`, and one for each deterministic key, ever. A row without an envelope is returned
 * unchanged.
 */
export async function openRow(keys: RowKeys, row: StoredRow): Promise<StoredRow> {
  const envelope = envelopeOf(row.properties);
  if (envelope === undefined) return row;
  const present = Object.keys(envelope.properties).filter((name) =>
    Object.hasOwn(row.properties, name),
  );
  const keyOf = await keysOf(keys, envelope, present);
  const { [envelopeProperty]: _, ...stored } = row.properties;
  const properties: Record<string, WireValue> = { ...stored };
  for (const property of present) {
    const algorithm = envelope.properties[property];
    const { partitionKey, rowKey } = row;
    const location = { table: keys.table, partitionKey, rowKey, property };
    const bytes = binaryOf(location, stored);
    properties[property] =
      algorithm === 'A256SIV'
        ? decryptEqual(keyOf('A256SIV'), location, bytes)
        : decryptValue(keyOf('A256GCM'), location, bytes);
  }
  return { ...row, properties, encrypt: present };
}

/** Unwraps only the keys of properties that are present. */
async function keysOf(
  keys: RowKeys,
  { contentKey, deterministicKeyId, properties }: Envelope,
  present: readonly string[],
): Promise<(algorithm: ValueAlgorithm) => Uint8Array> {
  const used = new Set(present.map((name) => properties[name]));
  const [random, deterministic] = await Promise.all([
    used.has('A256GCM') && contentKey !== undefined ? keys.unwrapped.unwrap(contentKey) : undefined,
    used.has('A256SIV') && deterministicKeyId !== undefined
      ? keys.deterministic.keyOf(deterministicKeyId)
      : undefined,
  ]);
  return (algorithm) => known(algorithm === 'A256GCM' ? random : deterministic);
}

function known(key: Uint8Array | undefined): Uint8Array {
  if (key !== undefined) return key;
  throw new EncryptionError(`The property ${envelopeProperty} names properties without their key`);
}

function binaryOf({ property }: ValueLocation, properties: RowProperties): Uint8Array {
  const stored = properties[property];
  if (stored?.type === 'Binary') return stored.value;
  throw new EncryptionError(
    `'${property}' was encrypted and is now ${stored?.type}: something overwrote it in plain`,
  );
}
