/** `/`, `\`, `#`, `?` and the control characters C0, DEL and C1 (table-service §2.3). */
// oxlint-disable-next-line no-control-regex -- the control characters are what it looks for
const forbidden = /[/\\#?\u0000-\u001f\u007f-\u009f]/;

/** The offset of the first character that keys must not contain; -1 when there is none. */
export function forbiddenKeyCharacterAt(key: string): number {
  return key.search(forbidden);
}
