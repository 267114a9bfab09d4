import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';

/** A text that differs whenever the content of a file can have changed. */
export function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** As `stampOf`. When the file cannot be read, the stamp is the error as text. */
export async function fileStamp(path: string): Promise<string> {
  try {
    return stampOf(await stat(path, { bigint: true }));
  } catch (error) {
    return String(error);
  }
}
