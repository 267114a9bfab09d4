const guidTextLength = 36;

/** The value of a hexadecimal digit in any letter case; -1 for any other character. */
export function hexDigitValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

const guidShape = /^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$/;

/** A guid in canonical lower case from `8-4-4-4-12` hexadecimal digits in any letter case. */
export function parseGuid(text: string): string | undefined {
  if (text.length !== guidTextLength || !guidShape.test(text)) return undefined;
  return text.toLowerCase();
}

const canonicalShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True when a text is in the canonical form of a guid. */
export function isCanonicalGuid(text: string): boolean {
  return text.length === guidTextLength && canonicalShape.test(text);
}
