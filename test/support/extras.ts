import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// What `npm run extras` installs. A test file of which nothing runs without it is named
// `.extras.test.ts` and left out as a whole; a single test says so with `skip`.

const folder = new URL('../../../extras/', import.meta.url);

/** For tests that need an extra: false, or why they are left out. */
export const withoutExtras = existsSync(new URL('node_modules/.installed-lock.json', folder))
  ? false
  : 'it needs what `npm run extras` installs';

/** Loads a CommonJS package from there. */
export const requireExtra = createRequire(new URL('package.json', folder));

/** The path of a file there, such as `azurite/dist/src/table/main.js`. */
export function extraFile(file: string): string {
  return fileURLToPath(new URL(`node_modules/${file}`, folder));
}
