import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// Packages installed by `npm run extras`. A test file that needs them for every test is named
// `.extras.test.ts` and skipped as a whole; a single test uses `skip`.

const folder = new URL('../../../extras/', import.meta.url);

/** For tests that need an extra: false, or why they are skipped. */
export const withoutExtras = existsSync(new URL('node_modules/.installed-lock.json', folder))
  ? false
  : 'it needs what `npm run extras` installs';

/** Loads a CommonJS package of the extras. */
export const requireExtra = createRequire(new URL('package.json', folder));

/** The path of a file in the extras, such as `azurite/dist/src/table/main.js`. */
export function extraFile(file: string): string {
  return fileURLToPath(new URL(`node_modules/${file}`, folder));
}
