import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyHolder } from '../shared-key/shared-key.js';
import type { UserDelegationKeyFields } from './fields.js';

/** Keeps what is derived here apart from every text that account keys sign. */
const purpose = 'user delegation key';

/** For whose data a user delegation key is, and whose token it was given for. */
export interface Delegation {
  readonly account: string;
  /** The issuer of the token. */
  readonly issuer: string;
}

/**
 * The value of a user delegation key (queue-service §4.5). It is derived from a key of the
 * account, the issuer and everything that the key says, so nothing is stored, every process derives
 * the same, and it ends with the key of the account and with the trust in the issuer.
 */
export function userDelegationKeyValue(
  accountKey: KeyObject,
  { account, issuer }: Delegation,
  fields: UserDelegationKeyFields,
): Buffer {
  const { objectId, tenantId, start, expiry, service, version } = fields;
  const text = JSON.stringify([
    purpose,
    account,
    issuer,
    objectId,
    tenantId,
    start,
    expiry,
    service,
    version,
  ]);
  return createHmac('sha256', accountKey).update(text, 'utf8').digest();
}

/** The account with the user delegation keys that its keys give instead of these. */
export function delegatedKeys(
  { name: account, keys }: KeyHolder,
  issuer: string,
  fields: UserDelegationKeyFields,
): KeyHolder {
  const delegation = { account, issuer };
  return {
    name: account,
    keys: keys.map((key) => createSecretKey(userDelegationKeyValue(key, delegation, fields))),
  };
}
