import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KnownLimit, limitText } from './known-limit.js';
import { knownLimits, limitOf } from './known-limits.js';

const bytes = { system: 'cosmos-db', name: 'logical-partition-bytes' } as const;

describe('known limits', () => {
  it('have a source, a date and a positive value, and each name once', () => {
    const names = new Set<string>();
    for (const limit of knownLimits) {
      assert.match(limit.asOf, /^20\d\d-\d\d-\d\d$/);
      assert.ok(limit.value > 0 && Object.isFrozen(limit));
      names.add([limit.system, limit.name, limit.tier, limit.source].join());
    }
    assert.equal(names.size, knownLimits.length);
  });

  it('keep both figures where the guidance and today differ', () => {
    assert.equal(limitOf(bytes)?.value, 20 * 2 ** 30);
    assert.equal(limitOf({ ...bytes, source: 'guidance' })?.value, 10 * 2 ** 30);
  });

  it('are those of the tier, and give way to own ones', () => {
    const partitions = { system: 'event-hubs', name: 'partitions' } as const;
    assert.equal(limitOf({ ...partitions, tier: 'premium' })?.value, 100);
    assert.equal(limitOf(partitions), undefined);
    const own: KnownLimit = {
      ...partitions,
      value: 8,
      unit: 'partitions',
      source: 'own',
      asOf: '2026-01-31',
      tier: undefined,
    };
    assert.equal(limitOf({ ...partitions, tier: 'premium' }, [own])?.value, 8);
  });

  it('are quoted with source and date', () => {
    const first = knownLimits.find(({ system, tier }) => system === 'blob' && !tier);
    assert.equal(first && limitText(first), '500 requests/s (documentation, 2026-11-23)');
  });
});
