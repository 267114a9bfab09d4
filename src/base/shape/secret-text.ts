/** A shorter text is more likely a name than a key. */
const keyLike = /[A-Za-z0-9+/]{40}/;

/**
 * True when a text looks like a key in the wrong place. Messages do not repeat it, because they are
 * logged.
 */
export function looksLikeKey(text: string): boolean {
  return keyLike.test(text);
}
