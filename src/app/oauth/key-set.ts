import { createPublicKey } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet, type JWK } from 'jose';
import type { KeySet } from '../../http/oauth/issuer-keys.js';

const keysMax = 100;
/** The minimum length of RSA keys; shorter ones can be broken. */
const modulusBitsMin = 2048;

/** An unusable set of public keys; the message says why, without any key. */
export class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** Throws `KeySetError`. */
export function parseKeySet(text: string): KeySet {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new KeySetError('it is no JSON');
  }
  return keySetOf(value);
}

/**
 * The keys of a JSON Web Key Set (RFC 7517). Throws `KeySetError`, also for a set with a secret:
 * with a symmetric key every verifier could sign, and a storage server must not have a private key.
 * Keys that cannot verify are skipped.
 */
export function keySetOf(value: unknown): KeySet {
  if (!isKeySet(value)) {
    throw new KeySetError('it is no JSON Web Key Set, an object with a list of keys: {"keys":[…]}');
  }
  const { keys } = value;
  if (keys.length > keysMax) throw new KeySetError(`it has more than ${keysMax} keys`);
  for (const key of keys) {
    if (key.kty === 'oct') throw new KeySetError('it has a symmetric key; only public keys verify');
    if (key['d'] !== undefined) {
      throw new KeySetError('it has a private key; only the public ones belong here');
    }
  }
  const usable = keys.filter(isUsable);
  if (usable.length === 0 && keys.length > 0) {
    throw new KeySetError(
      `none of its keys can verify: a key is RSA of ${modulusBitsMin} bits and more, or EC`,
    );
  }
  return { find: createLocalJWKSet({ keys: usable }) };
}

/** Skips unusable keys: otherwise any token that names one would cause an unexpected error. */
function isUsable(key: JWK): boolean {
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' });
    return (asymmetricKeyDetails?.modulusLength ?? modulusBitsMin) >= modulusBitsMin;
  } catch {
    return false;
  }
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  if (typeof value !== 'object' || value === null || !('keys' in value)) return false;
  return Array.isArray(value.keys) && value.keys.every(isKey);
}

function isKey(value: unknown): value is JWK {
  return (
    typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string'
  );
}
