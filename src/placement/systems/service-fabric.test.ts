import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { fnv1of64 } from '../hashes/fnv1.js';
import { fabricKeyOf, fabricPartition, type FabricPlace, fabricRanges } from './service-fabric.js';

function rangesOf(low: number, high: number, count: number): readonly string[] {
  const ranges = fabricRanges(BigInt(low), BigInt(high), count);
  if (ranges.kind === 'refused') return [ranges.reason];
  return ranges.ranges.map((range) => `${range.low}..${range.high}`);
}

function placed(place: FabricPlace): unknown {
  return place.kind === 'refused' ? place.reason : place.partition;
}

describe('Service Fabric', () => {
  it('makes the first ranges one key wider', () => {
    assert.deepEqual(rangesOf(20, 100, 4), ['20..40', '41..60', '61..80', '81..100']);
    assert.deepEqual(rangesOf(10, 20, 7), [
      '10..11',
      '12..13',
      '14..15',
      '16..17',
      '18..18',
      '19..19',
      '20..20',
    ]);
    assert.deepEqual(rangesOf(-100, -20, 4).slice(0, 2), ['-100..-80', '-79..-60']);
    assert.deepEqual(rangesOf(1, 3, 4), ['bad-count']);
    assert.deepEqual(rangesOf(3, 1, 1), ['outside']);
    assert.deepEqual(rangesOf(0, 2 ** 40, 2 ** 32), ['too-much']);
  });

  it('covers all keys with ranges without overlap, and finds the range of each', () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int64, int64, int64, fc.integer({ min: 1, max: 50 }), (a, b, c, count) => {
        const [low = 0n, key = 0n, high = 0n] = [a, b, c].sort((x, y) => (x < y ? -1 : 1));
        fc.pre(high - low >= 50n);
        const ranges = fabricRanges(low, high, count);
        assert.ok(ranges.kind === 'ranges');
        assert.equal(ranges.ranges[0]?.low, low);
        assert.equal(ranges.ranges.at(-1)?.high, high);
        for (const [index, range] of ranges.ranges.slice(1).entries()) {
          assert.equal(range.low, (ranges.ranges[index]?.high ?? 0n) + 1n);
        }
        const place = fabricPartition({ kind: 'int64', low, high, count }, { kind: 'int64', key });
        assert.ok(place.kind === 'partition');
        assert.deepEqual(place.range, ranges.ranges[place.partition]);
        assert.ok(place.range !== undefined && place.range.low <= key && key <= place.range.high);
      }),
    );
  });

  it('refuses keys of another kind, outside, and unknown names', () => {
    const named = { kind: 'named', names: ['eu', 'us'] } as const;
    const none = { kind: 'none' } as const;
    assert.equal(placed(fabricPartition({ kind: 'singleton' }, none)), 0);
    assert.equal(placed(fabricPartition(named, { kind: 'name', name: 'us' })), 1);
    assert.equal(placed(fabricPartition(named, { kind: 'name', name: 'US' })), 'unknown-name');
    assert.equal(placed(fabricPartition(named, none)), 'bad-key');
    assert.equal(
      placed(fabricPartition({ kind: 'singleton' }, { kind: 'int64', key: 1n })),
      'bad-key',
    );
    const int64 = { kind: 'int64', low: 0n, high: 9n, count: 2 } as const;
    assert.equal(placed(fabricPartition(int64, { kind: 'int64', key: 10n })), 'outside');
    assert.equal(placed(fabricPartition(int64, { kind: 'name', name: '1' })), 'bad-key');
  });

  it('recommends FNV-1, with a sign', () => {
    const hex = (text: string) => fnv1of64(new TextEncoder().encode(text)).toString(16);
    assert.equal(hex(''), 'cbf29ce484222325');
    assert.equal(hex('a'), 'af63bd4c8601b7be');
    assert.equal(hex('foobar'), '340d8765a4dda9c2');
    assert.equal(fabricKeyOf('Contoso'), 0x25349f6f5a017d62n);
    assert.equal(fabricKeyOf('a'), 0xaf63bd4c8601b7ben - 2n ** 64n);
  });

  it('knows FNV-1 of 32 bits, which is not FNV-1a', () => {
    const hex = (text: string) => fabricKeyOf(text, 32).toString(16);
    assert.deepEqual([hex(''), hex('a'), hex('foobar')], ['811c9dc5', '50c5d7e', '31f0b262']);
  });
});
