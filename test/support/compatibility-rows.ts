import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plain, rowsUnder } from './compatibility-page.js';
import type { AnyService } from './compatibility-world.js';

export type State = 'supported' | 'differs' | 'absent';

/**
 * A row of the page: its first cells joined by ` | `, its state, and a probe that shows whether the
 * row is true.
 */
export type HeldRow = readonly [cells: string, state: State, probe: () => Promise<void>];

type RowOf<Probe> = (cells: string, probe: Probe) => HeldRow;

const row =
  (state: State): RowOf<() => Promise<void>> =>
  (cells, probe) => [cells, state, probe];

export const supported = row('supported');
export const differs = row('differs');
export const absent = row('absent');

/** Rows whose probes are run on each of the services. */
export function rowsOn(services: readonly AnyService[]) {
  const run = async (probe: (service: AnyService) => Promise<void>): Promise<void> => {
    for (const service of services) await probe(service);
  };
  const each =
    (state: State): RowOf<Parameters<typeof run>[0]> =>
    (cells, probe) => [cells, state, () => run(probe)];
  return {
    run,
    supported: each('supported'),
    differs: each('differs'),
    absent: each('absent'),
  };
}

/**
 * Checks the tables under a heading of docs/reference/compatibility.md against a server: they must
 * have exactly these rows in this order, each with this state, and each probe must pass.
 */
export function holdRows(heading: string, rows: readonly HeldRow[]): void {
  describe(heading, () => {
    it('has the rows that are probed here, and no others', () => {
      const width = (rows[0]?.[0].split(' | ').length ?? 0) + 1;
      const written = rowsUnder(heading).map((cells) =>
        cells.slice(0, width).map(plain).join(' | '),
      );
      assert.deepEqual(
        written,
        rows.map(([cells, state]) => `${cells} | ${state}`),
      );
    });

    for (const [cells, state, probe] of rows) it(`${cells}: ${state}`, probe);
  });
}
