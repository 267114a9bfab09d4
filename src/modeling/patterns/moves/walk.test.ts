import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { walk, walkBeginning, type Segment, type WalkPosition } from './walk.js';

/**
 * Two items a page; `seen` collects the items that were worked on. Items that begin with `-` are
 * left out.
 */
function segment(items: readonly string[], seen: string[]): Segment<string> {
  return {
    page: (at) => {
      const from = at === undefined ? 0 : Number(at);
      const next = from + 2 < items.length ? String(from + 2) : undefined;
      return Promise.resolve({ items: items.slice(from, from + 2), next });
    },
    work: (item) => {
      if (item.startsWith('-')) return Promise.resolve(undefined);
      seen.push(item);
      return Promise.resolve(item.length);
    },
  };
}

const pace = { concurrency: 1 };
const same = (place: WalkPosition) => Promise.resolve(place);

describe('a walk', () => {
  it('works on every item of every segment, in order, and counts what is its own', async () => {
    const seen: string[] = [];
    const segments = [['a', '-', 'ccc'], [], ['dd']].map((items) => segment(items, seen));
    const end = await walk(segments, walkBeginning, same, pace);
    assert.deepEqual(seen, ['a', 'ccc', 'dd']);
    assert.deepEqual(end, { segment: 3, at: undefined, items: 3, changes: 6, refused: 0 });
  });

  it('counts what could not be worked on by itself', async () => {
    const refusing: Segment<string> = {
      ...segment(['a', 'b', 'c'], []),
      work: (item) => Promise.resolve(item === 'b' ? 'refused' : 1),
    };
    const { items, changes, refused } = await walk([refusing], walkBeginning, same, pace);
    assert.deepEqual({ items, changes, refused }, { items: 3, changes: 2, refused: 1 });
  });

  it('goes on behind the place that an ended run has stored', async () => {
    const items = ['a', 'b', 'c', 'd', 'e'];
    for (const pages of [1, 2, 3, 4]) {
      const [seen, again]: [string[], string[]] = [[], []];
      let stored = walkBeginning;
      let left = pages;
      const until = (place: WalkPosition) => {
        stored = place;
        left -= 1;
        return Promise.resolve(left === 0 ? undefined : place);
      };
      await walk([segment(items, seen), segment(['f'], seen)], walkBeginning, until, pace);
      const rest = [segment(items, again), segment(['f'], again)];
      const end = await walk(rest, stored, same, pace);
      assert.deepEqual([...seen, ...again], [...items, 'f']);
      assert.equal(end.items, 6);
    }
  });

  it('goes on where another run is further', async () => {
    const seen: string[] = [];
    const further: WalkPosition = { ...walkBeginning, at: '4', items: 4, changes: 4 };
    let told = 0;
    const reached = (place: WalkPosition) => {
      told += 1;
      assert.ok(told < 5, 'the walk does not come to an end');
      return Promise.resolve(place.items < 4 ? further : place);
    };
    const items = ['a', 'b', 'c', 'd', 'e'];
    const end = await walk([segment(items, seen)], walkBeginning, reached, pace);
    assert.deepEqual(seen, ['a', 'b', 'e']);
    assert.equal(end.items, 5);
  });

  it('stores no place of a page in which something failed', async () => {
    const places: WalkPosition[] = [];
    const failing: Segment<string> = {
      ...segment(['a', 'b', 'c'], []),
      work: (item) => (item === 'c' ? Promise.reject(new Error('no')) : Promise.resolve(1)),
    };
    const reached = (place: WalkPosition) => {
      places.push(place);
      return Promise.resolve(place);
    };
    await assert.rejects(walk([failing], walkBeginning, reached, pace), /no/);
    assert.deepEqual(places, [{ ...walkBeginning, at: '2', items: 2, changes: 2 }]);
  });

  it('begins no page after its signal', async () => {
    const seen: string[] = [];
    const abort = new AbortController();
    const reached = (place: WalkPosition) => {
      abort.abort();
      return Promise.resolve(place);
    };
    const { signal } = abort;
    const ended = walk([segment(['a', 'b', 'c'], seen)], walkBeginning, reached, {
      ...pace,
      signal,
    });
    await assert.rejects(ended, { name: 'AbortError' });
    assert.deepEqual(seen, ['a', 'b']);
  });
});
