import { readText, textBytes } from '../../model/bag/text.js';
import { StorageError } from '../../model/errors/storage-error.js';

/**
 * The continuation token for a key: `1!{length}!{payload}`, the payload being base64 of the key's
 * UTF-8 with `+`, `/` and `=` written as `*`, `_` and `-` (table-service §6). A lone surrogate
 * takes three bytes, so that every key is restored exactly.
 */
export function encodeToken(text: string): string {
  const payload = textBytes(text)
    .toString('base64')
    .replaceAll('+', '*')
    .replaceAll('/', '_')
    .replaceAll('=', '-');
  return `1!${payload.length}!${payload}`;
}

/** The text of a token. Throws `InvalidInput` for anything that `encodeToken` does not make. */
export function decodeToken(token: string): string {
  const payload = token.slice(token.indexOf('!', 2) + 1);
  const base64 = payload.replaceAll('*', '+').replaceAll('_', '/').replaceAll('-', '=');
  const bytes = Buffer.from(base64, 'base64');
  const text = readText(bytes, 0, bytes.length);
  if (encodeToken(text) !== token) throw new StorageError('InvalidInput');
  return text;
}
