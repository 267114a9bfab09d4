/** Shorter texts are names more often than keys. */
const keyLike = /[A-Za-z0-9+/]{40}/;

/**
 * Whether a text may be a key that stands where something else belongs. Messages do not repeat it:
 * they end up in logs.
 */
export function looksLikeKey(text: string): boolean {
  return keyLike.test(text);
}
