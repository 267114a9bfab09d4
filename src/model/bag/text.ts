import { asBuffer, type Bytes } from '../../base/bytes.js';

/**
 * Lossless text encoding: UTF-8, with a lone surrogate as three bytes (WTF-8). Plain UTF-8
 * conversion replaces lone surrogates by U+FFFD.
 */

/** Bytes that one UTF-16 code unit takes, at most. */
export const textBytesPerUnitMax = 3;

const surrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

/** True when a text has a lone surrogate. */
export function hasLoneSurrogate(text: string): boolean {
  return surrogate.test(text) && loneSurrogate.test(text);
}

/** Characters that JSON must escape, and surrogates, which may be lone. */
// oxlint-disable-next-line no-control-regex -- JSON forbids exactly these characters
const special = /["\\\u0000-\u001f\ud800-\udfff]/;
// oxlint-disable-next-line no-control-regex -- JSON forbids exactly these characters
const escaped = /["\\\u0000-\u001f]/;

/** True when a text needs no escapes in a JSON string. */
export function isPlainText(text: string): boolean {
  return !special.test(text) || !(escaped.test(text) || loneSurrogate.test(text));
}

/** Writes a text and returns the end. There must be room for three bytes a code unit. */
export function writeText(target: Buffer, at: number, text: string): number {
  if (!hasLoneSurrogate(text)) return at + target.write(text, at, 'utf8');
  let end = at;
  for (const character of text) {
    const code = character.charCodeAt(0);
    if (character.length === 1 && code >= 0xd800 && code <= 0xdfff) {
      target[end++] = 0xed;
      target[end++] = 0x80 | ((code >> 6) & 0x3f);
      target[end++] = 0x80 | (code & 0x3f);
    } else {
      end += target.write(character, end, 'utf8');
    }
  }
  return end;
}

/** The bytes of a text, in memory of their own. */
export function textBytes(text: string): Buffer {
  if (!hasLoneSurrogate(text)) return Buffer.from(text, 'utf8');
  const target = Buffer.allocUnsafe(text.length * textBytesPerUnitMax);
  return target.subarray(0, writeText(target, 0, text));
}

/** Reads what `writeText` wrote. Bytes that it cannot have written become U+FFFD. */
export function readText(bytes: Bytes, start: number, end: number): string {
  const buffer = asBuffer(bytes);
  const text = buffer.toString('utf8', start, end);
  return text.includes('\ufffd') ? readTextWithSurrogates(buffer, start, end) : text;
}

function readTextWithSurrogates(buffer: Buffer, start: number, end: number): string {
  let text = '';
  let from = start;
  for (let at = buffer.indexOf(0xed, start); at >= 0 && at + 2 < end;) {
    const second = buffer[at + 1] ?? 0;
    const third = buffer[at + 2] ?? 0;
    if (second >= 0xa0 && second <= 0xbf && third >= 0x80 && third <= 0xbf) {
      text += buffer.toString('utf8', from, at);
      text += String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
      from = at + 3;
    }
    at = buffer.indexOf(0xed, at + 1);
  }
  return text + buffer.toString('utf8', from, end);
}
