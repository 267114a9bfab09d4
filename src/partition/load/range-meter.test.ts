import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandomness } from '../../base/randomness.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { decodeLoadRow, encodeLoadRow } from './load-rows.js';
import { meanCallMs, RangeMeter } from './range-meter.js';

const key = partitionPrefix('tables', 'account', 1, 'p');

void describe('the measures of a range', () => {
  void it('tell calls, bytes and time, also when they have been published', () => {
    const meter = new RangeMeter(systemRandomness);
    const range = { id: 7, store: 's0' };
    for (let call = 0; call < 30; call += 1) {
      meter.note(range, { kind: 'read', key, bytes: 100, tookMs: 1 });
      meter.note(range, { kind: 'write', key, bytes: 1_000, tookMs: 3 });
    }
    const [load] = decodeLoadRow(encodeLoadRow(meter.takeLoads(10_000)));
    assert.ok(load !== undefined);
    assert.equal(load.readsPerSecond, 3);
    assert.equal(load.writesPerSecond, 3);
    assert.equal(load.bytesReadPerSecond, 300);
    assert.equal(load.bytesWrittenPerSecond, 3_000);
    assert.equal(meanCallMs(load), 2);
    // Only what came since the last look counts.
    const [later] = meter.takeLoads(10_000);
    assert.ok(later !== undefined && later.bytesReadPerSecond < 300);
    assert.equal(meanCallMs({ ...load, readsPerSecond: 0, writesPerSecond: 0 }), 0);
  });

  void it('are published in a bounded row, with samples of the busiest ranges', () => {
    const meter = new RangeMeter(systemRandomness);
    const long = partitionPrefix('tables', 'account', 1, 'p'.repeat(1_024));
    for (let id = 1; id <= 100; id += 1) {
      for (let call = 0; call < 32 + id; call += 1) {
        meter.note({ id, store: 's0' }, { kind: 'read', key: long, bytes: 1, tookMs: 1 });
      }
    }
    const row = encodeLoadRow(meter.takeLoads(10_000));
    assert.ok(row.length < 1.1 * 2 ** 20);
    const loads = decodeLoadRow(row);
    assert.equal(loads.length, 100);
    assert.deepEqual([loads[0]?.id, loads[0]?.accessed.length], [100, 32]);
    assert.deepEqual(loads.at(-1)?.accessed, []);
  });
});
