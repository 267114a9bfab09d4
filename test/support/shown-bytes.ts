import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Bytes } from '../../src/base/bytes.js';
import { encodeTuple, type TupleElement } from '../../src/kv/tuple.js';

const pages = new URL('../../../docs/internals/', import.meta.url);

/** A page of docs/internals. */
export function internalsPage(name: string): string {
  return readFileSync(new URL(name, pages), 'utf8');
}

export function hex(bytes: Bytes): string {
  return Buffer.from(bytes).toString('hex');
}

/**
 * Checks that the table rows with a tuple and its bytes are exactly these, in this order, and
 * correct.
 */
export function assertShowsTuples(page: string, written: Readonly<Record<string, Bytes>>): void {
  const row = /^\| ([a-z ]+?) +\| `(\[.*\])` +\| `([0-9a-f ]+)` +\|$/gm;
  const shown = [...internalsPage(page).matchAll(row)];
  assert.deepEqual(
    shown.map(([, what]) => what),
    Object.keys(written),
  );
  for (const [, what = '', tuple = '', bytes = ''] of shown) {
    const expected = bytes.replaceAll(' ', '');
    assert.equal(hex(written[what] ?? Buffer.alloc(0)), expected, what);
    assert.equal(hex(encodeTuple(JSON.parse(tuple) as TupleElement[])), expected, what);
  }
}
