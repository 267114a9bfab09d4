import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertsPerSecond, Machine, measuredCosts, readsPerSecond } from './simulation.js';

describe('the simulation of several processes', () => {
  it('gives as many threads their turn as there are cores, and a thread one at a time', () => {
    const machine = new Machine(2);
    const [first, second, third] = [machine.thread(), machine.thread(), machine.thread()];
    const done: string[] = [];
    const note = (what: string) => () => done.push(`${what} ${machine.nowMicros}`);
    machine.work(first, 10, note('a'));
    machine.work(first, 10, note('b'));
    machine.work(second, 5, note('c'));
    machine.work(third, 20, note('d'));
    machine.after(1, note('disk'));
    machine.run(100);
    assert.deepEqual(done, ['disk 1', 'c 5', 'a 10', 'b 20', 'd 25']);
  });

  it('leaves one process as fast as its main thread, whatever the cores', () => {
    const plan = { workers: 1, connections: 32, costs: measuredCosts } as const;
    const design = 'one process, journal';
    const [four = 0, eight = 0] = [4, 8].map((cores) =>
      insertsPerSecond({ ...plan, design, cores }),
    );
    assert.ok(Math.abs(four - eight) < 0.01 * four, `${four} ${eight}`);
    const bound = 1e6 / (measuredCosts.request + measuredCosts.journal);
    assert.ok(four <= bound && four > 0.8 * bound, `${four} of ${bound}`);
  });

  it('lets workers read as fast as there are cores, until each asks one writer', () => {
    const plan = { connections: 64, costs: measuredCosts, cores: 8 } as const;
    const read = (design: 'workers, data file' | 'workers, one writer', workers: number) =>
      readsPerSecond('point', { ...plan, design, workers });
    const [one, four] = [read('workers, data file', 1), read('workers, data file', 4)];
    assert.ok(four > 1.4 * one, `${four} and ${one}`);
    const bound = 1e6 / (2 * measuredCosts.message);
    assert.ok(read('workers, one writer', 6) <= bound);
  });
});
