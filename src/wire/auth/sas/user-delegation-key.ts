import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyHolder } from '../shared-key/shared-key.js';
import type { UserDelegationKeyFields } from './fields.js';

/** Separates these derived values from every text that account keys sign. */
const purpose = 'user delegation key';

/** The account of a user delegation key, and the token issuer. */
export interface Delegation {
  readonly account: string;
  /** The issuer of the token. */
  readonly issuer: string;
  /** Letters of the permissions that the key stands for: signatures made with it allow no more. */
  readonly grants: string;
}

/**
 * The value of a user delegation key (queue-service §4.5). It is derived from a key of the account,
 * the issuer, what the key stands for and all of its fields, so nothing is stored, all processes
 * derive the same value, and it becomes invalid with the account key and with the trust in the
 * issuer.
 */
export function userDelegationKeyValue(
  accountKey: KeyObject,
  { account, issuer, grants }: Delegation,
  fields: UserDelegationKeyFields,
): Buffer {
  const { objectId, tenantId, start, expiry, service, version } = fields;
  const text = JSON.stringify([
    purpose,
    account,
    issuer,
    grants,
    objectId,
    tenantId,
    start,
    expiry,
    service,
    version,
  ]);
  return createHmac('sha256', accountKey).update(text, 'utf8').digest();
}

/** The account with the user delegation keys of its keys in place of its keys. */
export function delegatedKeys(
  { name: account, keys }: KeyHolder,
  issuer: string,
  fields: UserDelegationKeyFields,
  grants: string,
): KeyHolder {
  const delegation = { account, issuer, grants };
  return {
    name: account,
    keys: keys.map((key) => createSecretKey(userDelegationKeyValue(key, delegation, fields))),
  };
}
