import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../../base/clock.js';
import type { RequestReport } from '../../table/observed-request.js';
import { reviewPlacement } from './review-placement.js';
import { shardLoadOf } from './shard-load.js';

const report: RequestReport = {
  table: 'orders',
  kind: 'insert',
  entities: 1,
  durationMs: 1,
  status: 204,
};

describe('the load of shards', () => {
  it('is counted by shard, in the order of names, from the beginning or a restart', () => {
    const clock = manualClock();
    const load = shardLoadOf({ clock });
    const [south, north] = [load.observerOf('south'), load.observerOf('north')];
    for (let count = 0; count < 30; count++) south(report);
    for (let count = 0; count < 5; count++) north({ ...report, status: 503 });
    clock.advanceMicros(10_000_000);
    const rates = () => load.shards().map((each) => [each.name, each.requestsPerSecond]);
    assert.deepEqual(rates(), [
      ['north', 0.5],
      ['south', 3],
    ]);
    load.restart();
    clock.advanceMicros(2_000_000);
    load.observerOf('north')(report);
    assert.deepEqual(rates(), [
      ['north', 0.5],
      ['south', 0],
    ]);
  });

  it('tells no rate beyond what was counted, however short the time', () => {
    const load = shardLoadOf({ clock: manualClock() });
    load.observerOf('one')(report);
    assert.equal(load.shards()[0]?.requestsPerSecond, 1);
  });

  it('is what a review takes', () => {
    const clock = manualClock();
    const load = shardLoadOf({ clock });
    const observers = ['a', 'b', 'c'].map((shard) => load.observerOf(shard));
    for (let count = 0; count < 900; count++) observers[count < 700 ? 0 : 1]?.(report);
    clock.advanceMicros(1_000_000);
    const ids = reviewPlacement({ shards: load.shards() }).map(({ id }) => id);
    assert.deepEqual(ids, ['shard-key-skew', 'hot-and-cold-shard']);
  });
});
