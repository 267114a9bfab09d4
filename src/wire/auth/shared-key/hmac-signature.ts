import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';

/** Base64 of HMAC-SHA256. */
export function signature(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64');
}

/** True when one of the keys signed `text`. Takes constant time for a given length. */
export function signatureMatches(
  keys: readonly KeyObject[],
  text: string,
  presented: string,
): boolean {
  let matches = false;
  for (const key of keys) matches = equalText(signature(key, text), presented) || matches;
  return matches;
}

/** Compares the text, not the decoded bytes: two base64 texts can decode alike. */
function equalText(expected: string, presented: string): boolean {
  if (presented.length !== signatureBytes || expected.length !== signatureBytes) return false;
  expectedBytes.write(expected, 'latin1');
  // A non-ASCII character becomes bytes that base64 never contains, so it cannot match.
  if (presentedBytes.write(presented, 'utf8') !== signatureBytes) return false;
  return timingSafeEqual(expectedBytes, presentedBytes);
}

/** Base64 of 32 bytes. */
const signatureBytes = 44;
const expectedBytes = Buffer.alloc(signatureBytes);
const presentedBytes = Buffer.alloc(signatureBytes);
