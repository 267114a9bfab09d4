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
    let arrivals = 0;
    let arrivalsMax = 5;
    let goes = 0;
    const arrive = (): void => {
      if (arrivals >= arrivalsMax) return;
      arrivals += 1;
      noteArrival();
      setImmediate(arrive);
    };
    setImmediate(arrive);
    await nextTurn();
    assert.equal(arrivals, 5);
    [arrivals, arrivalsMax] = [0, 1000];
    setImmediate(arrive);
    while (arrivals < arrivalsMax) {
      await nextTurn();
      goes += 1;
    }
    assert.ok(goes >= 10 && goes <= 20, `${goes} in ${arrivals} turns`);
  });
});
