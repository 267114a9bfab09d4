import type { SignedIdentifier, TableClient } from '@azure/data-tables';
import { ValueError } from '../../rows/model-error.js';
import type { SasPermission } from './user-sas.js';

/** The permissions and times of tokens that name the policy. */
export interface AccessPolicy {
  /** At most 64 characters. */
  readonly id: string;
  readonly permissions: readonly SasPermission[];
  readonly startsOn?: Date;
  readonly expiresOn: Date;
}

/** The service's limit per table. */
export const accessPoliciesMax = 5;

const letters: Readonly<Record<SasPermission, string>> = {
  read: 'r',
  add: 'a',
  update: 'u',
  delete: 'd',
};

/**
 * Creates or changes a policy, and with it every token that names it, within 30 seconds. Sends one
 * read of the table's policies and one write of all of them, so only one program at a time may
 * change them. Throws `ValueError` for a sixth policy.
 */
export async function setAccessPolicy(client: TableClient, policy: AccessPolicy): Promise<void> {
  if (policy.id === '' || policy.id.length > 64) {
    throw new ValueError(`the id of a policy has 1 to 64 characters, not ${policy.id.length}`);
  }
  const others = await othersThan(client, policy.id);
  if (others.length >= accessPoliciesMax) {
    const ids = others.map(({ id }) => id).join(', ');
    throw new ValueError(`a table has at most ${accessPoliciesMax} policies; there are ${ids}`);
  }
  await client.setAccessPolicy([...others, identifierOf(policy)]);
}

/**
 * Removes a policy, which revokes every token that names it. One read and, if it exists, one write.
 * False when there was none.
 */
export async function removeAccessPolicy(client: TableClient, id: string): Promise<boolean> {
  const policies = await client.getAccessPolicy();
  const others = policies.filter((policy) => policy.id !== id);
  if (others.length === policies.length) return false;
  await client.setAccessPolicy(others);
  return true;
}

async function othersThan(client: TableClient, id: string): Promise<readonly SignedIdentifier[]> {
  const policies = await client.getAccessPolicy();
  return policies.filter((policy) => policy.id !== id);
}

function identifierOf({ id, permissions, startsOn, expiresOn }: AccessPolicy): SignedIdentifier {
  const order = Object.keys(letters) as SasPermission[];
  const permission = order
    .filter((each) => permissions.includes(each))
    .map((each) => letters[each]);
  return {
    id,
    accessPolicy: {
      permission: permission.join(''),
      expiry: expiresOn,
      ...(startsOn === undefined ? {} : { start: startsOn }),
    },
  };
}
