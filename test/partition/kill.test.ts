import { describe, it } from 'node:test';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { costly, sampled } from '../support/run-length.js';
import { killAt, points } from './kill/kills.js';

void describe('processes that are killed while they work on a range', { timeout: 240_000 }, () => {
  void it(
    'lose nothing over two data directories, and others end their work',
    costly(),
    async () => {
      const places = [await temporaryLocation(), await temporaryLocation()];
      try {
        const at = places.map(({ directory }) => directory);
        await killAt({ kind: 'lmdb', at }, sampled(points));
      } finally {
        for (const { remove } of places) await remove();
      }
    },
  );
});
