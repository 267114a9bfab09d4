import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../../test/support/engine-lmdb.js';
import { systemClock } from '../../../base/clock.js';
import { it } from '../../../base/conformance/limited-test.js';
import { openLmdbStore } from '../store.js';
import { storedEntries } from './stored-entries.js';

/** Entries that fill no page, one page, and pages on two levels. */
const counts = [0, 1, 5, 1000];

void describe('the entries of a data file that no server uses', () => {
  for (const count of counts) {
    it(`are all there when they are ${count}`, async (t) => {
      const { directory, remove } = await temporaryLocation();
      t.after(remove);
      const keys = Array.from({ length: count }, (_, index) =>
        Buffer.from(`key ${String(index).padStart(4, '0')}`),
      );
      const store = await openLmdbStore({ directory, clock: systemClock });
      await store.commit({
        checks: [],
        puts: keys.map((key) => ({ key, value: Buffer.from(`value of ${String(key)}`) })),
        deletes: [],
      });
      await store.close();
      const wanted = Buffer.from('key ');
      const pages = [
        ...storedEntries(directory, (key) => Buffer.from(key).subarray(0, 4).equals(wanted)),
      ];
      const found = pages.flat().map(({ key, value }) => [String(key), String(value)]);
      assert.deepEqual(
        found,
        keys.map((key) => [String(key), `value of ${String(key)}`]),
      );
    });
  }
});
