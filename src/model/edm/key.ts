/** `/`, `\`, `#`, `?` and the control characters C0, DEL and C1 (table-service §2.3). */
// oxlint-disable-next-line no-control-regex -- the control characters are what it looks for
const forbidden = /[/\\#?\u0000-\u001f\u007f-\u009f]/;

/** Where a key holds a character that no key may hold; -1 when it holds none. */
export function forbiddenKeyCharacterAt(key: string): number {
  return key.search(forbidden);
}
