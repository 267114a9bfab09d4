import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyHolder } from '../shared-key.js';
import type { UserDelegationKeyFields } from './fields.js';

/** The letter of `sks` for queues. */
export const delegationServiceOfQueues = 'q';

/** Keeps what is derived here apart from every text that account keys sign. */
const purpose = 'user delegation key';

/**
 * The value of a user delegation key (spec queue-service §4.5). It is derived from a key of the
 * account and from everything that the key says, so nothing is stored, every process derives the
 * same, and it ends with the key of the account.
 */
export function userDelegationKeyValue(
  accountKey: KeyObject,
  account: string,
  fields: UserDelegationKeyFields,
): Buffer {
  const { objectId, tenantId, start, expiry, service, version } = fields;
  const text = JSON.stringify([
    purpose,
    account,
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
  { name, keys }: KeyHolder,
  fields: UserDelegationKeyFields,
): KeyHolder {
  return {
    name,
    keys: keys.map((key) => createSecretKey(userDelegationKeyValue(key, name, fields))),
  };
}
