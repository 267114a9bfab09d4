import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from './thrown.js';

/**
 * Creates a directory and its missing parents, all with this mode; an existing directory keeps its
 * mode. Returns those that it created, the outermost first. Throws the error of the system. Node's
 * own `recursive` loops for ever, and blocks the process, in file systems that allow no
 * directories, such as /proc.
 */
export function makeDirectory(path: string, mode = 0o777): readonly string[] {
  const created: string[] = [];
  const missing: string[] = [];
  for (let at = resolve(path); !isMade(at, mode, created); at = dirname(at)) {
    // A missing root would be its own parent.
    if (dirname(at) === at) throw new Error(`There is no ${at}, so ${path} cannot be made.`);
    missing.unshift(at);
  }
  for (const each of missing) makeOne(each, mode, created);
  return created;
}

/** Returns true when the directory exists or was created; false when its parent is missing. */
function isMade(path: string, mode: number, created: string[]): boolean {
  try {
    makeOne(path, mode, created);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined) return false;
    // Another process may have created the parent meanwhile.
    makeOne(path, mode, created);
    return true;
  }
}

function makeOne(path: string, mode: number, created: string[]): void {
  try {
    mkdirSync(path, { mode });
    created.push(path);
  } catch (error) {
    // A read-only file system reports that first, even when the directory exists.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    throw error;
  }
}
