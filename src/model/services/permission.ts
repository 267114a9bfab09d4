import { invariant } from '../../base/invariant.js';

/**
 * The permissions of a credential, by the letters of `sp`, in the order in which clients write them
 * (table-service §8.4, queue-service §4.4, blob-service §4.3). Other letters are ignored.
 */
export const permissionLetters = {
  r: 'read',
  w: 'write',
  d: 'delete',
  x: 'delete-version',
  f: 'find',
  t: 'tag',
  l: 'list',
  a: 'add',
  c: 'create',
  u: 'update',
  p: 'process',
  m: 'move',
  e: 'execute',
  i: 'protect',
  y: 'permanent-delete',
} as const;
export type Permission = (typeof permissionLetters)[keyof typeof permissionLetters];

/**
 * The scope of an operation, by the letters of `srt`: a container is a table, a queue or a
 * container of blobs, an object an entity, a message or a blob.
 */
export const scopeLetters = { s: 'service', c: 'container', o: 'object' } as const;
export type Scope = (typeof scopeLetters)[keyof typeof scopeLetters];

/** The letter of a permission. */
export function letterOf(permission: Permission): string {
  const found = Object.entries(permissionLetters).find(([, each]) => each === permission);
  invariant(found !== undefined, 'a permission has a letter');
  return found[0];
}

const permissions: ReadonlyMap<string, Permission> = new Map(Object.entries(permissionLetters));
const scopes: ReadonlyMap<string, Scope> = new Map(Object.entries(scopeLetters));

/** The permissions of the letters of `sp`. Unknown letters grant nothing. */
export function permissionsOfLetters(letters: string): ReadonlySet<Permission> {
  return meaningsOf(letters, permissions);
}

/** The scopes of the letters of `srt`. */
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
