/**
 * Text that is safe to print: control characters are escaped, so that stored data can neither break
 * a line nor control the terminal.
 */
export function printable(text: string): string {
  if (!hasControl(text)) return text;
  let safe = '';
  for (const character of text) safe += isControl(character) ? escaped(character) : character;
  return safe;
}

/** As `printable`, for a text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/**
 * Equivalent JSON in which strings have JSON escapes for the characters that `printable` escapes.
 */
export function printableJson(json: string): string {
  if (!hasControl(json)) return json;
  let safe = '';
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    safe += isControlCode(code) ? `\\u${code.toString(16).padStart(4, '0')}` : json.charAt(at);
  }
  return safe;
}

/** The JSON of a value in one line, safe to print. */
export function jsonLine(value: unknown): string {
  return printableJson(JSON.stringify(value));
}

function escaped(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\\t';
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isControlCode(code)) return true;
  }
  return false;
}

function isControl(character: string): boolean {
  return isControlCode(character.charCodeAt(0));
}

/**
 * C0, DEL, C1, and the characters that change the direction of text or end a line. Each is one
 * unit.
 */
function isControlCode(code: number): boolean {
  return (
    code < 0x20 ||
    (code >= 0x7f && code <= 0x9f) ||
    code === 0x061c ||
    code === 0x200e ||
    code === 0x200f ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069)
  );
}

/** The terminal columns of a text: 2 for East Asian wide characters and emoji. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character.codePointAt(0) ?? 0);
  return width;
}

function characterWidth(code: number): number {
  if (code < 0x300) return 1;
  if (code <= 0x36f || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) return 0;
  const wide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

/** The text cut to at most `widthMax` columns, with an ellipsis if shortened. */
export function truncated(text: string, widthMax: number): string {
  if (displayWidth(text) <= widthMax) return text;
  let cut = '';
  let width = 0;
  for (const character of text) {
    const next = characterWidth(character.codePointAt(0) ?? 0);
    if (width + next > widthMax - 1) break;
    cut += character;
    width += next;
  }
  return `${cut}…`;
}

/** `1234567` as `1,234,567`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 row`, `1,234 rows`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}
