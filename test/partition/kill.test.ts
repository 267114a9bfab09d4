import { describe, it } from 'node:test';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { byLength, costly, sampled } from '../support/run-length.js';
import { killAt } from './kill/kills.js';
import type { Places } from './kill/places.js';
import { points } from './kill/points.js';
import { killServerAt } from './kill/server-kills.js';

/** Works with stores in two directories. */
async function withDirectories(
  kind: 'lmdb' | 'journaled',
  work: (places: Places) => Promise<void>,
): Promise<void> {
  const locations = [await temporaryLocation(), await temporaryLocation()];
  try {
    await work(locations.map(({ directory }) => ({ kind, at: directory })));
  } finally {
    for (const { remove } of locations) await remove();
  }
}

void describe(
  'processes that are killed while they work on a range',
  { timeout: byLength({ short: 400_000, long: 3_000_000 }) },
  () => {
    void it('lose nothing over two data directories, and others end their work', costly(), () =>
      withDirectories('lmdb', (places) => killAt(places, sampled(points))),
    );

    void it(
      'lose nothing over two directories with journals, and end it when they start again',
      costly(),
      () => withDirectories('journaled', (places) => killServerAt(places, sampled(points))),
    );
  },
);
