import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { decodeCounter, encodeCounter } from './counter.js';
import type { TupleElement } from './tuple.js';
import { decodeTuple, encodeTuple } from './tuple.js';

const page = readFileSync(
  new URL('../../../docs/internals/key-layout.md', import.meta.url),
  'utf8',
);

type Written = string | number | { readonly hex: string };

/** Rows of the page whose cells are a tuple in JSON and its encoding. */
function examples(): { readonly tuple: TupleElement[]; readonly hex: string }[] {
  const row = /^\| `(\[.*\])` +\| `((?:[0-9a-f]{2} ?)+)` +\|$/gm;
  return [...page.matchAll(row)].map(([, json = '', bytes = '']) => ({
    tuple: (JSON.parse(json) as Written[]).map((element) =>
      typeof element === 'object' ? Buffer.from(element.hex, 'hex') : element,
    ),
    hex: bytes.replaceAll(' ', ''),
  }));
}

describe('the page on the key layout', () => {
  it('shows the bytes that are really written', () => {
    const shown = examples();
    assert.ok(shown.length >= 17, `only ${shown.length} examples were found`);
    for (const { tuple, hex } of shown) {
      assert.equal(Buffer.from(encodeTuple(tuple)).toString('hex'), hex, JSON.stringify(tuple));
      assert.deepEqual(decodeTuple(Buffer.from(hex, 'hex')), tuple);
    }
  });

  it('shows the values that counters really have', () => {
    const rows = [...page.matchAll(/^\| `(-?\d+)` +\| `((?:[0-9a-f]{2} ?){8})` \|$/gm)];
    assert.equal(rows.length, 3);
    for (const [, counter = '', hex = ''] of rows) {
      const value = Buffer.from(hex.replaceAll(' ', ''), 'hex');
      assert.deepEqual(encodeCounter(Number(counter)), value);
      assert.equal(decodeCounter(value), Number(counter));
    }
  });
});
