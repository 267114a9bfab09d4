import { isRecord } from '../../base/record.js';
import { setOwn } from '../../base/own.js';
import type { RowProperties } from '../rows/row.js';
import { stringUnitsMax } from '../rows/row-size.js';
import { EncryptionError } from './encryption-error.js';
import { isKeyWrapAlgorithm, type KeyWrapAlgorithm } from './key-wrapper.js';
import type { ValueAlgorithm } from './property-cipher.js';

/** The property that describes how the others are encrypted. */
export const envelopeProperty = '_Encryption';

/** The content key of a row, wrapped. */
export interface WrappedContentKey {
  /** The id of the key-encryption key. */
  readonly keyId: string;
  readonly algorithm: KeyWrapAlgorithm;
  readonly bytes: Uint8Array;
}

/** How a row is encrypted. The grammar is in docs/reference/modeling-encryption.md. */
export interface Envelope {
  /** Absent when every property is encrypted deterministically. */
  readonly contentKey?: WrappedContentKey;
  /** The id of the key of deterministic properties; absent when there are none. */
  readonly deterministicKeyId?: string;
  /** By stored name. */
  readonly properties: Readonly<Record<string, ValueAlgorithm>>;
}

const version = 1;

/** The stored form. Throws `EncryptionError` when it does not fit into a property. */
export function renderEnvelope({ contentKey, deterministicKeyId, properties }: Envelope): string {
  const text = JSON.stringify({
    v: version,
    ...(contentKey === undefined
      ? {}
      : {
          kek: contentKey.keyId,
          wrap: contentKey.algorithm,
          key: Buffer.from(contentKey.bytes).toString('base64'),
        }),
    ...(deterministicKeyId === undefined ? {} : { det: deterministicKeyId }),
    props: properties,
  });
  if (text.length > stringUnitsMax) {
    throw new EncryptionError(
      `What describes the encryption has ${text.length} characters, ${stringUnitsMax} fit: ` +
        'encrypt fewer properties, or one that holds them as JSON',
    );
  }
  return text;
}

/** The envelope of a stored row; undefined when the row has none. */
export function envelopeOf(properties: RowProperties): Envelope | undefined {
  const stored = properties[envelopeProperty];
  if (stored === undefined) return undefined;
  if (stored.type !== 'String') throw malformed(`it is no text but ${stored.type}`);
  return parseEnvelope(stored.value);
}

export function parseEnvelope(text: string): Envelope {
  const fields = parseObject(text);
  const { v, kek, wrap, key, det, props } = fields;
  if (v !== version) throw malformed(`version ${JSON.stringify(v)} is not known`);
  if (!isRecord(props)) throw malformed('it lists no properties');
  const properties: Record<string, ValueAlgorithm> = {};
  for (const [name, algorithm] of Object.entries(props)) {
    if (algorithm !== 'A256GCM' && algorithm !== 'A256SIV') {
      throw malformed(`'${name}' is encrypted with ${JSON.stringify(algorithm)}`);
    }
    setOwn(properties, name, algorithm);
  }
  if (det !== undefined && typeof det !== 'string') throw malformed("'det' is no text");
  return {
    ...(kek === undefined ? {} : { contentKey: contentKeyOf(kek, wrap, key) }),
    ...(det === undefined ? {} : { deterministicKeyId: det }),
    properties,
  };
}

function contentKeyOf(keyId: unknown, algorithm: unknown, key: unknown): WrappedContentKey {
  if (typeof keyId !== 'string' || typeof key !== 'string') throw malformed('its key is no text');
  if (!isKeyWrapAlgorithm(algorithm)) throw malformed(`'${String(algorithm)}' wraps no keys`);
  return { keyId, algorithm, bytes: Buffer.from(key, 'base64') };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isRecord(parsed)) return parsed;
  } catch (cause) {
    throw malformed('it is no JSON', cause);
  }
  throw malformed('it is no object');
}

function malformed(why: string, cause?: unknown): EncryptionError {
  return new EncryptionError(`The property ${envelopeProperty} cannot be read: ${why}`, { cause });
}
