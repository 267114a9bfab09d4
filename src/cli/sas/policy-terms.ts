import { letterOf } from '../../model/services/permission.js';

/** The default permission of a token for one container: the least. */
export const defaultPermissions = letterOf('read');

/** The letters of a token; with a stored policy the default is none. */
export function permissionsOrPolicy({
  permissions,
  policy,
}: {
  readonly permissions?: string;
  readonly policy?: string;
}): string | undefined {
  return permissions ?? (policy === undefined ? defaultPermissions : undefined);
}

export function policyInWords(identifier: string | undefined): string {
  return identifier === undefined ? '' : `, as the stored policy '${identifier}' says`;
}
