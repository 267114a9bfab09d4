import { lstat } from 'node:fs/promises';
import { kindOf } from './regular-file.js';
import { codeOf } from './thrown.js';

const names = { file: 'a regular file', directory: 'a directory' } as const;

/**
 * Why a path must not be used as the expected kind of file: `is a pipe, not a regular file`. A link
 * is never of the expected kind. Undefined when the kind is right or the path does not exist.
 */
export async function foreignKind(
  path: string,
  expected: keyof typeof names,
): Promise<string | undefined> {
  try {
    const stats = await lstat(path);
    if (expected === 'file' ? stats.isFile() : stats.isDirectory()) return undefined;
    const found = stats.isFile() ? names.file : kindOf(stats);
    return `is ${found}, not ${names[expected]}`;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
