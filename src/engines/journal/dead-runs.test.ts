import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DeadRuns } from './dead-runs.js';

const key = (place: number) => Buffer.of(place);
const places = 40;

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('put' as const), at: fc.nat(places - 1) }),
    fc.record({
      kind: fc.constant('note' as const),
      at: fc.nat(places - 1),
      length: fc.integer({ min: 0, max: 12 }),
    }),
  ),
  { maxLength: 60, size: 'max' },
);

describe('runs of keys of which nothing is left', () => {
  it('are passed over by ranges, and end where a key is put', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const runs = new DeadRuns();
        // What is known of each place: alive, or nothing.
        const isDead = Array.from({ length: places + 20 }, () => false);
        for (const step of sequence) {
          if (step.kind === 'put') {
            runs.revive(key(step.at));
            isDead[step.at] = false;
            continue;
          }
          runs.note(key(step.at), key(step.at + step.length));
          isDead.fill(true, step.at, step.at + step.length);
        }
        for (let at = 0; at < places; at += 1) {
          const [start = -1] = runs.startOf(key(at));
          assert.ok(start >= at);
          assert.ok(isDead.slice(at, start).every(Boolean), `${at} to ${start} has nothing`);
        }
      }),
    );
  });

  it('join where they touch or overlap', () => {
    const runs = new DeadRuns();
    runs.note(key(10), key(20));
    runs.note(key(30), key(40));
    runs.note(key(18), key(30));
    assert.deepEqual(runs.startOf(key(10)), key(40));
    runs.note(key(5), key(10));
    assert.deepEqual(runs.startOf(key(5)), key(40));
    runs.revive(key(12));
    assert.deepEqual(runs.startOf(key(5)), key(12));
    assert.deepEqual(runs.startOf(key(13)), key(13));
  });

  it('are found by a read up to what is put from its start on while it lasts', async () => {
    const runs = new DeadRuns();
    const found = { deadUpTo: key(20) };
    await runs.during(key(10), async () => {
      for (const put of [25, 17, 18, 9]) runs.revive(key(put));
      return found;
    });
    assert.deepEqual(runs.startOf(key(10)), key(17));
    await runs.during(key(10), () => Promise.resolve(found));
    assert.deepEqual(runs.startOf(key(10)), key(20));
    await runs.during(key(10), async () => {
      runs.clear();
      return found;
    });
    assert.deepEqual(runs.startOf(key(10)), key(10));
  });
});
