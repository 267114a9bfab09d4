/**
 * What a credential may allow, by the letters of `sp`, in the order in which clients write them
 * (table-service §8.4, queue-service §4.4). Other letters mean nothing to the services here.
 */
export const permissionLetters = {
  r: 'read',
  w: 'write',
  d: 'delete',
  l: 'list',
  a: 'add',
  c: 'create',
  u: 'update',
  p: 'process',
} as const;
export type Permission = (typeof permissionLetters)[keyof typeof permissionLetters];

/**
 * What an operation touches, by the letters of `srt`: a container is a table or a queue, an object
 * an entity or message.
 */
export const scopeLetters = { s: 'service', c: 'container', o: 'object' } as const;
export type Scope = (typeof scopeLetters)[keyof typeof scopeLetters];

const permissions: ReadonlyMap<string, Permission> = new Map(Object.entries(permissionLetters));
const scopes: ReadonlyMap<string, Scope> = new Map(Object.entries(scopeLetters));

/** What letters of `sp` permit. Letters without a meaning permit nothing. */
export function permissionsOfLetters(letters: string): ReadonlySet<Permission> {
  return meaningsOf(letters, permissions);
}

/** What letters of `srt` name. */
export function scopesOfLetters(letters: string): ReadonlySet<Scope> {
  return meaningsOf(letters, scopes);
}

function meaningsOf<T>(letters: string, meanings: ReadonlyMap<string, T>): ReadonlySet<T> {
  const found = new Set<T>();
  for (const letter of letters) {
    const meaning = meanings.get(letter);
    if (meaning !== undefined) found.add(meaning);
  }
  return found;
}
