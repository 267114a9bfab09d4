import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SweepTurns } from './sweep-turns.js';

/** A sweep with this many entries. */
function sweepOf(entries: number) {
  let left = entries;
  return {
    async step(entriesMax: number) {
      const deleted = Math.min(left, entriesMax);
      left -= deleted;
      return { deleted, more: left > 0 };
    },
    left: () => left,
  };
}

describe('sweeps that take turns', () => {
  it('share the entries of a step', async () => {
    const sweeps = [sweepOf(3), sweepOf(5)];
    const turns = new SweepTurns(sweeps);
    assert.deepEqual(await turns.step(6), { deleted: 6, more: true });
    assert.deepEqual(
      sweeps.map(({ left }) => left()),
      [0, 2],
    );
    assert.deepEqual(await turns.step(6), { deleted: 2, more: false });
  });

  it('are each the first in turn, so that none starves the others', async () => {
    const sweeps = [sweepOf(1_000), sweepOf(1_000)];
    const turns = new SweepTurns(sweeps);
    for (let step = 0; step < 4; step += 1) await turns.step(10);
    assert.deepEqual(
      sweeps.map(({ left }) => left()),
      [980, 980],
    );
  });

  it('say that there is more when one had no turn', async () => {
    const turns = new SweepTurns([sweepOf(10), sweepOf(0)]);
    assert.deepEqual(await turns.step(10), { deleted: 10, more: true });
  });
});
