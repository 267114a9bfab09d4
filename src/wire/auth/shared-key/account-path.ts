/**
 * The paths that the signature of a request may be over: as sent, and, at a path-style secondary
 * (`/account-secondary/…`), also as the primary's (queue-service §4.1).
 */
export function signedPaths(account: string, rawPath: string): readonly [string, ...string[]] {
  const path = rawPath === '' ? '/' : rawPath;
  const secondary = `/${account}-secondary`;
  if (!path.startsWith(secondary)) return [path];
  const rest = path.slice(secondary.length);
  return rest === '' || rest.startsWith('/') ? [path, `/${account}${rest}`] : [path];
}
