import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ticksOfIso } from '../../rows/ticks.js';
import {
  checkSource,
  hourOf,
  hourPrefix,
  logBlobName,
  logPrefixes,
  parseLogBlobName,
  sequenceMax,
} from './log-blob-name.js';
import { costly } from '../../../../test/support/run-length.js';

const ticks = (iso: string): bigint => ticksOfIso(iso) ?? -1n;
const ticksPerHour = 36_000_000_000n;

describe('names of log blobs', () => {
  it('are those of the guide', () => {
    const hour = hourOf(ticks('2014-07-31T18:25:43.1234567Z'));
    assert.equal(
      logBlobName({ source: 'queue', hour, sequence: 1 }),
      'queue/2014/07/31/1800/000001.log',
    );
    assert.equal(hourPrefix('queue', hour), 'queue/2014/07/31/1800');
  });

  it('read back, and sort by time and sequence', () => {
    const name = fc.record(
      {
        source: fc.constantFrom('queue', 'shop/orders', '$logs/a.b-c_d'),
        hour: fc.bigInt(ticks('1601-01-01'), ticks('9999-12-31')).map(hourOf),
        sequence: fc.integer({ min: 1, max: sequenceMax }),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(name, (given) => {
        assert.deepEqual(parseLogBlobName(logBlobName(given)), given);
        const next = { ...given, sequence: given.sequence + 1 };
        if (next.sequence <= sequenceMax) assert.ok(logBlobName(given) < logBlobName(next));
        const later = { ...given, hour: given.hour + ticksPerHour, sequence: 1 };
        assert.ok(logBlobName(given) < logBlobName(later));
      }),
    );
  });

  it('of something else are not taken for log blobs', () => {
    const others = [
      'queue/2014/07/31/1830/000001.log',
      'queue/2014/07/32/1800/000001.log',
      'queue/2014/07/31/2400/000001.log',
      'queue/2014/07/31/1800/1.log',
      'queue/2014/07/31/1800/000001.txt',
      '2014/07/31/1800/000001.log',
    ];
    assert.deepEqual(
      others.filter((name) => parseLogBlobName(name) !== undefined),
      [],
    );
  });

  it('refuse sources that would not be read back', () => {
    for (const source of ['', '/queue', 'queue/', 'a//b', 'ä', 'a b', 'a?', 'x'.repeat(201)]) {
      assert.throws(() => checkSource(source), /is no source of a log/);
    }
  });
});

describe('prefixes of a time', () => {
  const prefixes = (from: string, to: string) => [...logPrefixes('queue', ticks(from), ticks(to))];

  it('name the hour of one instant', () => {
    assert.deepEqual(prefixes('2014-07-31T18:25:00Z', '2014-07-31T18:26:00Z'), [
      'queue/2014/07/31/1800/',
    ]);
  });

  it('take whole days and months at once', () => {
    assert.deepEqual(prefixes('2014-06-29T23:00:00Z', '2014-08-02T01:00:00Z'), [
      'queue/2014/06/29/2300/',
      'queue/2014/06/30/',
      'queue/2014/07/',
      'queue/2014/08/01/',
      'queue/2014/08/02/0000/',
    ]);
  });

  it('are none for an empty time, and end where instants end', () => {
    assert.deepEqual(prefixes('2014-07-31T18:00:00Z', '2014-07-31T18:00:00Z'), []);
    assert.deepEqual(prefixes('9999-12-31T23:00:00Z', '9999-12-31T23:59:00Z'), [
      'queue/9999/12/31/2300/',
    ]);
  });

  it('cover each hour of the time once and no other', costly(), () => {
    const begin = ticks('2023-11-28T00:00:00Z');
    const hours = fc.integer({ min: 0, max: 24 * 100 });
    fc.assert(
      fc.property(hours, hours, (first, count) => {
        const from = begin + BigInt(first) * ticksPerHour;
        const to = from + BigInt(count) * ticksPerHour;
        const found = [...logPrefixes('q', from, to)];
        assert.deepEqual(found, found.toSorted());
        for (let hour = from - ticksPerHour; hour <= to; hour += ticksPerHour) {
          const name = logBlobName({ source: 'q', hour, sequence: 7 });
          const matches = found.filter((prefix) => name.startsWith(prefix)).length;
          assert.equal(matches, hour >= from && hour < to ? 1 : 0, name);
        }
      }),
      { numRuns: 30 },
    );
  });
});
