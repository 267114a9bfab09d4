/** The default permission of a token for one table or queue: the least. */
const defaultPermissions = 'r';

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
