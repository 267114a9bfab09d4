// Loads a group of test files: the only import of a group.
import { inspect } from 'node:util';
import './test-group-hooks.js';

// Not before the hooks are there, as it would be by an import above.
const { test } = await import('node:test');

/**
 * Imports the files one after the other, and holds back the tests of all of them until the last one
 * is loaded. Otherwise the runner ends, and calls the hooks of the end, when the tests of the first
 * files are done and the next one is still loading.
 *
 * A file that cannot be loaded fails the group by its name, and the tests of the others run.
 * Without that the process would wait for ever, and say nothing: servers of the other files keep it
 * alive.
 * @param {readonly string[]} files by their addresses
 * @param {number} limitMs a file that takes longer waits for something that does not come
 */
export function loadGroup(files, limitMs = 120_000) {
  const loading = loadAll(files, limitMs);
  void test('every file of the group is loaded', async () => {
    const failures = await loading;
    if (failures.length > 0) throw new Error(failures.join('\n'));
  });
}

async function loadAll(files, limitMs) {
  const failures = [];
  for (const file of files) {
    try {
      await withinLimit(import(file), limitMs);
    } catch (error) {
      failures.push(`${file} cannot be loaded: ${inspect(error)}`);
    }
  }
  return failures;
}

async function withinLimit(loading, limitMs) {
  let timer;
  const limit = new Promise((_, reject) => {
    const late = () => reject(new Error(`it was not loaded after ${limitMs} milliseconds`));
    timer = setTimeout(late, limitMs);
  });
  try {
    await Promise.race([loading, limit]);
  } finally {
    clearTimeout(timer);
  }
}
