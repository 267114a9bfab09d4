import { readText, textBytes } from '../edm/text.js';
import { StorageError } from '../errors/storage-error.js';

/**
 * The token that names a key in a continuation header: `1!{length}!{payload}`, the payload being
 * base64 of the key's UTF-8 with `+`, `/` and `=` written as `*`, `_` and `-` (spec §6). A
 * surrogate without its partner takes three bytes, so that every key comes back as it was.
 */
export function encodeToken(text: string): string {
  const payload = textBytes(text)
    .toString('base64')
    .replaceAll('+', '*')
    .replaceAll('/', '_')
    .replaceAll('=', '-');
  return `1!${payload.length}!${payload}`;
}

const tokenShape = /^1!([0-9]{1,6})!([A-Za-z0-9*_]*-{0,2})$/;

/** The text of a token. Throws `InvalidInput` for anything that `encodeToken` cannot have made. */
export function decodeToken(token: string): string {
  const match = tokenShape.exec(token);
  if (match === null) throw new StorageError('InvalidInput');
  const [, length = '', payload = ''] = match;
  const base64 = payload.replaceAll('*', '+').replaceAll('_', '/').replaceAll('-', '=');
  const bytes = Buffer.from(base64, 'base64');
  const text = readText(bytes, 0, bytes.length);
  const whole = Number(length) === payload.length && textBytes(text).equals(bytes);
  if (!whole || payload.length !== Math.ceil(bytes.length / 3) * 4) {
    throw new StorageError('InvalidInput');
  }
  return text;
}
