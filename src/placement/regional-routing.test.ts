import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dueBackups } from './due-backups.js';
import { misplacedTexts, regionalRouting } from './regional-routing.js';
import { hashRouting, shardOfText } from './shard-routing.js';

const shards = { north: 'eu', west: 'eu', cape: 'za' };
const texts = { contoso: 'eu', fabrikam: 'za', tailspin: 'eu', wingtip: 'eu', adatum: 'eu' };

describe('a routing by regions', () => {
  it('puts every text on a shard of its region, and deals them', () => {
    const built = regionalRouting(shards, texts, 'north');
    assert.ok(built.kind === 'routing');
    assert.equal(shardOfText(built.routing, 'fabrikam'), 'cape');
    const used = Object.keys(texts).map((text) => shardOfText(built.routing, text));
    assert.deepEqual(new Set(used), new Set(['cape', 'north', 'west']));
    assert.deepEqual(misplacedTexts(built.routing, shards, texts), []);
    assert.equal(shardOfText(built.routing, 'other'), 'north');
  });

  it('refuses a region without a shard, and tells what is far', () => {
    const refused = regionalRouting(shards, { northwind: 'us' });
    assert.ok(refused.kind === 'refused');
    assert.match(refused.message, /'northwind' is of us, where no shard is/);
    const far = misplacedTexts(hashRouting(['cape'], 1), shards, texts);
    assert.ok(Object.isFrozen(far));
    assert.deepEqual(
      far.map(({ text, shardRegion }) => [text, shardRegion]),
      ['contoso', 'tailspin', 'wingtip', 'adatum'].map((text) => [text, 'za']),
    );
  });
});

describe('backups that are due', () => {
  const intervals = { ledger: 100, orders: 1000 };

  it('go by the most critical content of a shard, the most overdue first', () => {
    const found = dueBackups(
      intervals,
      [
        { name: 'fresh', holds: ['ledger'], lastMs: 950 },
        { name: 'late', holds: ['orders'], lastMs: -500 },
        { name: 'later', holds: ['orders', 'ledger'], lastMs: 800 },
        { name: 'never', holds: ['orders'] },
        { name: 'logs', holds: ['logs'], lastMs: 999 },
      ],
      1000,
    );
    assert.deepEqual(
      found.map(({ shard, criticality, sinceMs }) => [shard, criticality, sinceMs]),
      [
        ['never', 'orders', undefined],
        ['logs', undefined, undefined],
        ['later', 'ledger', 900],
        ['late', 'orders', 500],
      ],
    );
  });

  it('are none right after they were made', () => {
    const now = [{ name: 'a', holds: ['ledger'], lastMs: 1000 }];
    assert.deepEqual(dueBackups(intervals, now, 1099), []);
    const due = dueBackups(intervals, now, 1100);
    assert.equal(due.length, 1);
    assert.ok(Object.isFrozen(due));
  });
});
