import { lstat } from 'node:fs/promises';
import { kindOf } from './regular-file.js';
import { codeOf } from './thrown.js';

const names = { file: 'a regular file', directory: 'a directory' } as const;

/**
 * Why what is at a path must not be used as what it should be: `is a pipe, not a regular file`. A
 * link is neither. Undefined when it is what it should be, or is not there.
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
