import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { busySecondsIn, othersShare } from './machine.js';

describe('the share of a machine that other work takes', () => {
  it('counts all processor time but that of waiting', () => {
    const stat = 'cpu  100 20 300 9999 8888 5 15 60 100 0\ncpu0 1 2 3 4 5 6 7 8 9 0\nctxt 5\n';
    assert.equal(busySecondsIn(stat), 5);
  });

  it('counts the processor time of all processes but the server and the load', () => {
    const from = { wallSeconds: 10, machineSeconds: 100, ownSeconds: 40 };
    const to = { wallSeconds: 14, machineSeconds: 107, ownSeconds: 45 };
    assert.equal(othersShare(from, to, 2), 0.25);
    assert.equal(othersShare(from, { ...to, ownSeconds: 48 }, 2), 0);
    assert.equal(othersShare(from, { ...to, ownSeconds: undefined }, 2), undefined);
    assert.equal(othersShare({ ...from, machineSeconds: undefined }, to, 2), undefined);
  });
});
