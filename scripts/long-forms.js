// Which tests have a long form: those that draw more, or run more, the longer they may.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * What makes more of a test in the long form: test/support/run-length.ts, and properties
 * (many-runs.js).
 */
const lengthening = /\/run-length\.js'|\bfrom 'fast-check'/;

/** Relative imports, as the compiler writes them. */
const importPattern = /^(?:import|export)\b(?:[^']*\bfrom)? '(\.[^']+\.js)'/gm;

/**
 * Tells of a test file whether it, or what it imports by way of whatever else, makes more of it in
 * the long form. Files named `.long.` have that form alone. Reads each file once.
 * @param {string} root the folder of the compiled files
 * @returns {(file: string) => boolean} takes a path in the root
 */
export function longForms(root) {
  const known = new Map();
  const read = (path) => {
    const found = known.get(path) ?? contentOf(path);
    known.set(path, found);
    return found;
  };
  return (file) => file.includes('.long.') || reaches(join(root, file), read);
}

function reaches(first, read) {
  const met = new Set([first]);
  for (const path of met) {
    const { isLengthening, imports } = read(path);
    if (isLengthening) return true;
    for (const each of imports) met.add(each);
  }
  return false;
}

function contentOf(path) {
  if (!existsSync(path)) return { isLengthening: false, imports: [] };
  const text = readFileSync(path, 'utf8');
  const imports = [...text.matchAll(importPattern)].map(([, name]) => join(dirname(path), name));
  return { isLengthening: lengthening.test(text), imports };
}
