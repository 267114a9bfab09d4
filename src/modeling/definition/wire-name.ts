/** Names of properties on the wire: a letter or `_`, then letters, digits and `_`. */

const allowedFirst = /^[\p{L}_]$/u;
const allowedNext = /^[\p{L}\p{Nd}_]$/u;
/**
 * Text in a name that looks like an escape: its `_` is escaped, so that distinct names stay
 * distinct.
 */
const escapeAt = /^_x[0-9A-F]{4}_/;

/**
 * Escapes a name for the service; distinct names stay distinct. Each UTF-16 code unit that the
 * service forbids becomes `_xHHHH_`, as in XML documents and OData: `Manager Rating` becomes
 * `Manager_x0020_Rating`.
 */
export function wireNameOf(name: string): string {
  let written = '';
  for (let index = 0; index < name.length;) {
    const char = String.fromCodePoint(name.codePointAt(index) ?? 0);
    const allowed = index === 0 ? allowedFirst : allowedNext;
    const isKept = allowed.test(char) && !escapeAt.test(name.slice(index, index + 7));
    written += isKept ? char : escaped(char);
    index += char.length;
  }
  return written;
}

function escaped(char: string): string {
  let written = '';
  for (let index = 0; index < char.length; index++) {
    const unit = char.charCodeAt(index).toString(16).toUpperCase().padStart(4, '0');
    written += `_x${unit}_`;
  }
  return written;
}

/** Undoes `wireNameOf`. */
export function nameOfWire(wireName: string): string {
  return wireName.replace(/_x([0-9A-F]{4})_/g, (_whole, unit: string) =>
    String.fromCharCode(Number.parseInt(unit, 16)),
  );
}
