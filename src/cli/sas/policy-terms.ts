/** The least, which is all that a token for one table or queue allows when nobody says more. */
const defaultPermissions = 'r';

/** The letters of a token; one with a stored policy leaves them to it, unless they are given. */
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
