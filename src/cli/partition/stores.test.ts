import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PartitionsInfo } from '../../http/control/partitions.js';
import { emptied } from './stores.js';
import { costly } from '../../../test/support/run-length.js';

const problem = 'Range 4 could not be moved: A record is damaged.';

/** The answer of a server while the store b has this number of ranges. */
function answer(ranges: number, found: { readonly problem?: string } = {}): PartitionsInfo {
  const b = { store: 'b', state: 'draining', location: '/mnt/b', ranges, isHome: false } as const;
  return { ranges: [], stores: [{ ...b, ...found }], operations: [] };
}

void describe('the command that empties a store', () => {
  void it('says once why a range does not leave, and waits on', costly(), async (t) => {
    const answers = [answer(2), answer(2, { problem }), answer(1, { problem })];
    let asked = 0;
    const list = () => Promise.resolve(answers[asked++] ?? answer(0));
    const written = t.mock.method(process.stderr, 'write', () => true);
    await emptied({ list }, 'b');
    const texts = written.mock.calls.map(({ arguments: [text] }) => String(text));
    written.mock.restore();
    assert.equal(asked, 4);
    assert.deepEqual(
      texts.filter((text) => text.includes('Range 4')),
      [`${problem}\n`],
    );
  });
});
