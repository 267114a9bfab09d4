import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KnownLimit } from '../limits/known-limit.js';
import { type SearchLoad, searchCapacity, searchPairs } from './search.js';

describe('Azure Search', () => {
  it('allows twelve partitions with three replicas, and 36 units at most', () => {
    const pairs = searchPairs();
    assert.ok(pairs.every(({ units }) => units <= 36));
    const most = (partitions: number) =>
      Math.max(
        ...pairs.filter((pair) => pair.partitions === partitions).map((pair) => pair.replicas),
      );
    assert.deepEqual([1, 2, 3, 4, 6, 12].map(most), [12, 12, 12, 9, 6, 3]);
    const basic = searchPairs({ tier: 'basic' });
    assert.equal(basic.length, 9);
    assert.ok(basic.every(({ partitions, replicas }) => partitions <= 3 && replicas <= 3));
  });

  it('takes the cheapest pair of all that carry the load', () => {
    for (let partitions = 1; partitions <= 12; partitions++) {
      for (let replicas = 1; replicas <= 12; replicas++) {
        const load: SearchLoad = {
          documents: partitions * 15_000_000,
          bytes: 1,
          queryRate: replicas * 15,
        };
        const able = searchPairs().filter(
          (pair) => pair.partitions >= partitions && pair.replicas >= replicas,
        );
        const found = searchCapacity(load);
        if (able.length === 0) assert.equal(found.kind, 'refused');
        else {
          assert.ok(found.kind === 'capacity');
          assert.ok(found.partitions >= partitions && found.replicas >= replicas);
          assert.equal(found.units, Math.min(...able.map(({ units }) => units)));
        }
      }
    }
  });

  it('counts bytes as well, and two replicas for the agreement on reads', () => {
    const gib = 2 ** 30;
    const load = { documents: 1, bytes: 301 * gib, queryRate: 0, hasReadSla: true };
    assert.deepEqual(searchCapacity(load), {
      kind: 'capacity',
      partitions: 2,
      replicas: 2,
      units: 4,
    });
  });

  it('has no pair in a tier of which nothing is published, and says so of a load', () => {
    assert.deepEqual(searchPairs({ tier: 'free' }), []);
    const found = searchCapacity({ documents: 1, bytes: 1, queryRate: 1 }, { tier: 'free' });
    assert.ok(found.kind === 'refused');
    assert.equal(found.reason, 'not-published');
  });

  it('sizes Basic by its own partitions, not by those of Standard', () => {
    const load = { documents: 1, bytes: 16 * 2 ** 30, queryRate: 1 };
    const found = searchCapacity(load, { tier: 'basic' });
    assert.ok(found.kind === 'capacity');
    assert.equal(found.partitions, 2);
    const large = searchCapacity({ ...load, bytes: 46 * 2 ** 30 }, { tier: 'basic' });
    assert.equal(large.kind, 'refused');
  });

  it('goes by figures of its caller, and refuses what is no load', () => {
    const own: KnownLimit = {
      system: 'search',
      name: 'replica-rate',
      value: 60,
      unit: 'queries/s',
      source: 'own',
      asOf: '2026-01-31',
      tier: undefined,
    };
    const load = { documents: 1, bytes: 1, queryRate: 60 };
    const replicas = (limits: readonly KnownLimit[]) => {
      const found = searchCapacity(load, { limits });
      return found.kind === 'capacity' ? found.replicas : found.message;
    };
    assert.equal(replicas([]), 4);
    assert.equal(replicas([own]), 1);
    assert.equal(searchCapacity({ ...load, documents: NaN }).kind, 'refused');
    assert.equal(searchCapacity({ ...load, queryRate: Infinity }).kind, 'refused');
  });
});
