import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The files of the repository, for tests that apply to all of them.

export const root = fileURLToPath(new URL('../../../', import.meta.url));

const ignoredFolders = new Set(['node_modules', 'dist', '.git', '.tabularium', 'coverage']);

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (!entry.isDirectory()) return [path];
    return ignoredFolders.has(entry.name) ? [] : filesUnder(path);
  });
}

/** Paths relative to the root, with slashes, without installed and built files. */
export const allFiles: readonly string[] = filesUnder('');

export function readRepositoryFile(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
