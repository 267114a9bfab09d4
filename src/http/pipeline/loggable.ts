/** More layers of encoding than are ever decoded. */
const layersMax = 8;

/**
 * A part of a URL for records. A client may have put the query string into the path, encoded any
 * number of times; the text is cut before it, so that no signature is logged.
 */
export function loggable(text: string): string {
  if (!text.includes('%') && !hasSignature(text)) return text;
  let plain = text;
  for (let layer = 0; layer < layersMax; layer++) {
    const next = plain.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (next === plain) break;
    plain = next;
  }
  return hasSignature(plain) ? `${text.slice(0, text.search(/[?%]|sig/i))}…` : text;
}

function hasSignature(text: string): boolean {
  return /sig\s*=/i.test(text);
}
