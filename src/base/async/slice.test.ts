import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inOnePiece, inSlices, type Pieces } from './slice.js';

/** Each piece takes 2 ms of this clock. */
function* pieces(name: string, count: number, events: string[]): Pieces<string> {
  for (let piece = 0; piece < count; piece += 1) {
    events.push(name);
    nowMs += 2;
    yield;
  }
  return name;
}

let nowMs = 0;
const clock = { monotonicMs: () => nowMs };

describe('work in slices', () => {
  it('gives way after five milliseconds, and begins in a turn of its own', async () => {
    const events: string[] = [];
    const all = Promise.all(['a', 'b'].map((name) => inSlices(pieces(name, 6, events), clock)));
    assert.deepEqual(events, []);
    assert.deepEqual(await all, ['a', 'b']);
    assert.equal(events.join(''), 'aaabbbaaabbb');
  });

  it('rejects with what the work throws', async () => {
    function* failing(): Pieces<string> {
      yield;
      throw new Error('broken');
    }
    await assert.rejects(inSlices(failing(), clock), /broken/);
    assert.throws(() => inOnePiece(failing()), /broken/);
  });

  it('is the same in one piece', () => {
    const events: string[] = [];
    assert.equal(inOnePiece(pieces('a', 3, events)), 'a');
    assert.equal(events.join(''), 'aaa');
  });
});
