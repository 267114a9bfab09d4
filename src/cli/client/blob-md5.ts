import { createHash } from 'node:crypto';

/** The MD5 of bytes, base64, as headers have it. */
export function md5Of(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('base64');
}
