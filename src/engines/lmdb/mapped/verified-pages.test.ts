import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../../base/clock.js';
import { VerifiedPages, verifiedPagesMs } from './verified-pages.js';

/** The number of pages that have places of their own at most. */
const pagesMax = 1 << 21;
const span = { from: 3, to: 355 };
const noRows = { from: 0, to: 0 };

function setUp() {
  const clock = manualClock();
  const pages = new VerifiedPages(clock);
  pages.begin();
  const wait = (ms: number): void => {
    clock.advanceMicros(ms * 1_000);
    pages.begin();
  };
  return { pages, wait };
}

describe('pages with verified rows', () => {
  it('are known by their number and the transaction that wrote them', () => {
    const { pages } = setUp();
    const numbers = [2, 4_095, 4_096, 100_000, pagesMax - 1, pagesMax + 7];
    for (const number of numbers) pages.keep(number, number + 1, span);
    for (const number of numbers) {
      assert.deepEqual(pages.spanOf(number, number + 1), span);
      assert.deepEqual(pages.spanOf(number, number + 2), noRows);
      assert.deepEqual(pages.spanOf(number + 1, number + 1), noRows);
    }
  });

  it('displace each other in a large file, and are not taken for each other', () => {
    const { pages } = setUp();
    const [near, far] = [5, 5 + pagesMax];
    pages.keep(near, 9, span);
    assert.deepEqual(pages.spanOf(far, 9), noRows);
    pages.keep(far, 9, span);
    assert.deepEqual(pages.spanOf(far, 9), span);
    assert.deepEqual(pages.spanOf(near, 9), noRows);
  });

  it('are unknown after a minute', () => {
    const { pages, wait } = setUp();
    const numbers = Array.from({ length: 1_000 }, (_, index) => index + 2);
    for (const number of numbers) pages.keep(number, 1, span);
    wait(verifiedPagesMs);
    for (const number of numbers) assert.deepEqual(pages.spanOf(number, 1), noRows);
  });

  it('become unknown one after the other, so that no moment has all of the work', () => {
    const { pages, wait } = setUp();
    const numbers = Array.from({ length: 640 }, (_, index) => index + 2);
    for (const number of numbers) pages.keep(number, 1, span);
    const known = (): number => numbers.filter((each) => pages.spanOf(each, 1).to > 0).length;
    for (let left = 630; left >= 0; left -= 10) {
      wait(verifiedPagesMs / 64);
      assert.equal(known(), left);
    }
  });
});
