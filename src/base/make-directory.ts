import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from './thrown.js';

/**
 * Makes a directory and those above it that are missing, all with this mode; one that is there
 * stays as it is. Throws what the system says where that cannot be done. Node's own `recursive`
 * tries for ever in file systems that make no directories, such as /proc, and blocks the process.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isMade(at, mode); at = dirname(at)) {
    // A root that is missing would be its own parent.
    if (dirname(at) === at) throw new Error(`There is no ${at}, so ${path} cannot be made.`);
    missing.unshift(at);
  }
  for (const each of missing) makeOne(each, mode);
}

/** Whether it is there or could be made; false when one above it is missing. */
function isMade(path: string, mode: number): boolean {
  try {
    makeOne(path, mode);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined) return false;
    // Somebody else may have made the parent since.
    makeOne(path, mode);
    return true;
  }
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // File systems that may not be written say so first, also where there is nothing to be made.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    throw error;
  }
}
