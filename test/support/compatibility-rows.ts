import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plain, rowsUnder } from './compatibility-page.js';

export type State = 'supported' | 'differs' | 'absent';

/** A row of the page: its first cells, its state, and what shows that the row is true. */
export type HeldRow = readonly [cells: readonly string[], state: State, probe: () => Promise<void>];

/**
 * Holds the tables under a heading of docs/reference/compatibility.md to a server: they have these
 * rows in this order and no others, each with this state, and each probe passes.
 */
export function holdRows(heading: string, rows: readonly HeldRow[]): void {
  describe(heading, () => {
    it('has the rows that are probed here, and no others', () => {
      const width = (rows[0]?.[0].length ?? 0) + 1;
      const written = rowsUnder(heading).map((cells) =>
        cells.slice(0, width).map(plain).join(' | '),
      );
      assert.deepEqual(
        written,
        rows.map(([cells, state]) => [...cells, state].join(' | ')),
      );
    });

    for (const [cells, state, probe] of rows) it(`${cells.join(', ')}: ${state}`, probe);
  });
}
