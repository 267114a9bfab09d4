const unicodeName = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}_]*$/u;

/**
 * Whether a text can name a property, its length aside (table-service §2.4): a letter or `_`,
 * then letters, digits, `_` and combining marks, of any script.
 */
export function isPropertyName(name: string): boolean {
  if (name.length === 0) return false;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if (code >= 0x80) return unicodeName.test(name);
    if ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) continue;
    if (code === 0x5f) continue;
    if (code >= 0x30 && code <= 0x39 && index > 0) continue;
    return false;
  }
  return true;
}

const wideName = /^[\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}_.:$ -]+$/u;

/**
 * The wider rule of `--lenient property-names`: also dots, colons, dollar signs, spaces and
 * hyphens, and leading digits. JSON escapes none of them, and none ends a name in `$select`.
 */
export function isWidePropertyName(name: string): boolean {
  return wideName.test(name);
}
