import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inOnePiece, inSlices, yieldIfBusy, type Pieces } from './slice.js';

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

describe('the beginning of work that may be long', () => {
  it('waits for a turn once others have worked for a slice in this one', async () => {
    const events: string[] = [];
    const begin = async (name: string): Promise<void> => {
      await yieldIfBusy(clock);
      events.push(name);
      nowMs += 2;
    };
    let isDone = false;
    const count = (): void => {
      events.push('.');
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const all: Promise<void>[] = [];
    // Each begins in a microtask of its own, as requests do.
    for (const name of names) {
      all.push(begin(name));
      await Promise.resolve();
    }
    await Promise.all(all);
    isDone = true;
    assert.match(events.join(''), /^abc\.+def\.*$/);
  });

  it('comes in order: what comes later does not begin before what waits', async () => {
    const events: string[] = [];
    const begin = async (name: string): Promise<void> => {
      await yieldIfBusy(clock);
      await Promise.resolve();
      events.push(name);
      nowMs += 2;
    };
    const all: Promise<void>[] = [];
    for (const name of 'abcdefgh') {
      all.push(begin(name));
      for (let turn = 0; turn < 4; turn += 1) await Promise.resolve();
    }
    // Like clients that send the next request after each answer, in each of the next turns.
    for (const name of 'ABCD') {
      await new Promise((resolve) => setImmediate(resolve));
      all.push(begin(name));
    }
    await Promise.all(all);
    assert.equal(events.join(''), 'abcdefghABCD');
  });

  it('waits for nothing in a turn in which little was done', async () => {
    await new Promise((resolve) => setImmediate(resolve));
    let begun = 0;
    for (let place = 0; place < 100; place += 1) void yieldIfBusy(clock).then(() => (begun += 1));
    await Promise.resolve();
    assert.equal(begun, 100);
  });
});
