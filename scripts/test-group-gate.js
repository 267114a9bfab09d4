// The first import of a group of test files: a test that lasts until all of them are loaded.
import { test } from 'node:test';

let open = () => undefined;
const allLoaded = new Promise((resolve) => (open = resolve));

/** Lets the tests of the group begin. */
export function loaded() {
  open();
}

void test('every file of the group is loaded', () => allLoaded);
