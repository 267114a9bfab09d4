import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { VerifiedRows, verifiedMs } from './verified-rows.js';

/** The number of rows that are remembered at a time. */
const rowsMax = 65_536;

function setUp() {
  const clock = manualClock();
  const rows = new VerifiedRows(clock);
  rows.begin();
  return { clock, rows };
}

describe('rows that were verified', () => {
  it('are known in the order in which they were read and in any other', () => {
    const { rows } = setUp();
    const checksums = Array.from({ length: 1_000 }, (_, at) => Math.imul(at + 1, 0x85ebca6b));
    for (const checksum of checksums) rows.note(checksum);
    for (const each of [checksums, checksums.toReversed(), checksums.filter((_, at) => at % 7 > 0)])
      assert.ok(each.every((checksum) => rows.has(checksum)));
    assert.ok(!rows.has(1));
  });

  it('do not displace each other where checksums are alike and the order is the same', () => {
    const { rows } = setUp();
    const alike = Array.from({ length: 50 }, (_, at) => (at + 1) * rowsMax + 17);
    for (const checksum of [5, ...alike]) rows.note(checksum);
    assert.ok([5, ...alike].every((checksum) => rows.has(checksum)));
  });

  it('are unknown after a second, and when as many others have come', () => {
    const { rows, clock } = setUp();
    rows.note(-1);
    for (let checksum = 1; checksum < rowsMax; checksum += 1) rows.note(checksum);
    assert.ok(rows.has(-1));
    rows.note(rowsMax);
    assert.ok(!rows.has(-1));
    assert.ok(rows.has(rowsMax));
    clock.advanceMicros(verifiedMs * 1_000);
    rows.begin();
    for (let checksum = 1; checksum <= rowsMax; checksum += 1) assert.ok(!rows.has(checksum));
  });
});
