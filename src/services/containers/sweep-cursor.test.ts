import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SweepCursor } from './sweep-cursor.js';

/** Targets with these numbers of entries, and the order in which they were visited. */
function roundOver(entries: number[]) {
  const visited: number[] = [];
  let failing: number | undefined;
  async function* targets() {
    for (const target of entries.keys()) yield target;
  }
  const round = new SweepCursor({
    all: targets,
    nameOf: String,
    async clear(target: number, entriesMax) {
      visited.push(target);
      if (target === failing) throw new Error(`target ${target}`);
      const before = entries[target] ?? 0;
      const deleted = Math.min(before, entriesMax);
      entries[target] = before - deleted;
      return { deleted, more: before > deleted };
    },
  });
  return { round, visited, failAt: (target: number | undefined) => (failing = target) };
}

describe('a round of reclaiming', () => {
  it('gives one half of a step to a target with much garbage, the other to the others', async () => {
    const entries = [9, 1, 0, 6];
    const { round, visited } = roundOver(entries);
    assert.deepEqual(await round.step(4), { deleted: 4, more: true });
    assert.deepEqual(await round.step(4), { deleted: 4, more: true });
    assert.deepEqual(visited, [0, 0, 1, 2, 3]);
    assert.deepEqual(entries, [3, 0, 0, 5]);
    assert.deepEqual(await round.step(4), { deleted: 4, more: true });
    assert.deepEqual(entries, [1, 0, 0, 3], 'targets with garbage take turns');
    assert.deepEqual(await round.step(4), { deleted: 4, more: false });
  });

  it('goes on with garbage in each step, however many targets have none', async () => {
    const entries = Array.from({ length: 5_000 }, () => 0);
    entries[0] = 100;
    const { round } = roundOver(entries);
    for (let step = 0; step < 10; step += 1) {
      assert.deepEqual(await round.step(10), { deleted: 10, more: true });
    }
    assert.equal(entries[0], 0);
  });

  it('finds garbage again of which there was too much to remember', async () => {
    const entries = Array.from({ length: 300 }, () => 3);
    const { round } = roundOver(entries);
    for (let steps = 0; (await round.step(2)).more; steps += 1) assert.ok(steps < 1_000);
    assert.ok(entries.every((left) => left === 0));
  });

  it('looks at a bounded number of targets a step, and at all of them in the end', async () => {
    const entries = Array.from({ length: 1201 }, () => 0);
    entries[1200] = 1;
    const { round, visited } = roundOver(entries);
    const seen: number[] = [];
    for (let more = true; more;) {
      ({ more } = await round.step(10));
      seen.push(visited.length);
    }
    assert.deepEqual(seen, [500, 1000, 1201]);
    assert.equal(entries[1200], 0);
  });

  it('begins anew after a step that failed', async () => {
    const entries = [1, 1, 1];
    const { round, failAt } = roundOver(entries);
    failAt(1);
    await assert.rejects(round.step(10), /target 1/);
    failAt(undefined);
    assert.deepEqual(await round.step(10), { deleted: 2, more: false });
    assert.deepEqual(entries, [0, 0, 0]);
  });

  it('looks at each target once when steps run side by side', async () => {
    const entries = Array.from({ length: 100 }, () => 1);
    const { round, visited } = roundOver(entries);
    const steps = await Promise.all(Array.from({ length: 4 }, () => round.step(25)));
    assert.deepEqual(
      steps.map(({ deleted }) => deleted),
      [25, 25, 25, 25],
    );
    assert.equal(new Set(visited).size, 100);
  });
});
