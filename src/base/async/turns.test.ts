import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEndOfTurn, nextTurn, noteArrival } from './turns.js';

describe('turns', () => {
  it('go to one caller in each turn of the event loop, in the order of asking', async () => {
    const events: string[] = [];
    const work = async (name: string): Promise<void> => {
      for (let step = 0; step < 3; step += 1) {
        await nextTurn();
        events.push(name);
      }
    };
    let isDone = false;
    const count = (): void => {
      events.push('.');
      if (!isDone) setImmediate(count);
    };
    const all = Promise.all(['a', 'b', 'c'].map(work));
    setImmediate(count);
    await all;
    isDone = true;
    assert.equal(events.join(''), 'a.b.c.a.b.c.a.b.c');
  });

  it('end before a caller goes on, also one that asked first', async () => {
    const events: string[] = [];
    const gone = nextTurn().then(() => events.push('goes on'));
    atEndOfTurn(() => events.push('end'));
    atEndOfTurn(() => events.push('end'));
    await gone;
    assert.deepEqual(events, ['end', 'end', 'goes on']);
    await nextTurn();
    assert.equal(events.length, 3);
  });

  it('are left to those that arrive, and come in the end however many do', async () => {
    const seen = { arrivals: 0, max: 5 };
    const arrive = (): void => {
      if (seen.arrivals >= seen.max) return;
      seen.arrivals += 1;
      noteArrival();
      setImmediate(arrive);
    };
    setImmediate(arrive);
    await nextTurn();
    assert.equal(seen.arrivals, 5);
    [seen.arrivals, seen.max] = [0, 1000];
    setImmediate(arrive);
    let goes = 0;
    for (; seen.arrivals < seen.max; goes += 1) await nextTurn();
    assert.ok(goes >= 10 && goes <= 20, `${goes} in ${seen.arrivals} turns`);
  });
});
