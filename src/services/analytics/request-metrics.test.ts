import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cellOf, outcomeCell, sumCells } from './request-counters.js';
import { RequestMetrics, type CountedRequest, type MinuteCounts } from './request-metrics.js';

const minute = 60_000_000;
const begun = Date.UTC(2024, 2, 1, 12) * 1000;

function request(endMicros: number, more: Partial<CountedRequest> = {}): CountedRequest {
  return {
    endMicros,
    account: 'acct',
    service: 'table',
    location: 'Primary',
    operation: 'InsertEntity',
    outcome: 'Success',
    caller: 'owner',
    ingressBytes: 10,
    egressBytes: 20,
    endToEndMs: 3,
    serverMs: 2,
    ...more,
  };
}

/** Successes of the owner by minute, counted from the first, account and operation. */
function shown(counts: readonly MinuteCounts[]): string[] {
  return counts.flatMap(({ startMicros, account, service, location, operations }) =>
    Array.from(operations, ([operation, counters]) => {
      const count = cellOf(counters, outcomeCell('Success', 'owner'));
      const at = (startMicros - begun) / minute;
      return `${at} ${account} ${service} ${location} ${operation} ${count}`;
    }),
  );
}

describe('counting requests', () => {
  it('is by the minute in which they ended, by endpoint and by operation', () => {
    const metrics = new RequestMetrics();
    metrics.count(request(begun));
    metrics.count(request(begun + minute - 1));
    metrics.count(request(begun + minute));
    metrics.count(request(begun + minute, { operation: 'QueryEntity' }));
    metrics.count(request(begun + minute, { account: 'other' }));
    metrics.count(request(begun + minute, { service: 'queue' }));
    metrics.count(request(begun + minute, { location: 'Secondary' }));
    assert.deepEqual(shown(metrics.take()), [
      '0 acct table Primary InsertEntity 2',
      '1 acct table Primary InsertEntity 1',
      '1 acct table Primary QueryEntity 1',
      '1 acct queue Primary InsertEntity 1',
      '1 acct table Secondary InsertEntity 1',
      '1 other table Primary InsertEntity 1',
    ]);
    assert.deepEqual(metrics.take(), []);
  });

  it('sums bytes of all, and latencies of successes', () => {
    const metrics = new RequestMetrics();
    metrics.count(request(begun));
    metrics.count(request(begun, { outcome: 'ClientOtherError', caller: 'anonymous' }));
    const [counts] = metrics.take();
    const counters = counts?.operations.get('InsertEntity') ?? new Float64Array();
    assert.equal(cellOf(counters, sumCells.ingressBytes), 20);
    assert.equal(cellOf(counters, sumCells.egressBytes), 40);
    assert.equal(cellOf(counters, sumCells.endToEndMs), 3);
    assert.equal(cellOf(counters, sumCells.serverMs), 2);
    assert.equal(cellOf(counters, outcomeCell('ClientOtherError', 'anonymous')), 1);
  });

  it('goes on in an earlier minute when the clock is set back', () => {
    const metrics = new RequestMetrics();
    metrics.count(request(begun + 60 * minute));
    metrics.count(request(begun));
    metrics.count(request(begun + 60 * minute));
    assert.deepEqual(shown(metrics.take()), [
      '60 acct table Primary InsertEntity 2',
      '0 acct table Primary InsertEntity 1',
    ]);
  });

  it('loses no request, and holds few minutes, however the clock is set', () => {
    const metrics = new RequestMetrics();
    for (let at = 0; at < 1000; at += 1) metrics.count(request(begun + at * minute));
    const counts = metrics.take();
    assert.equal(counts.length, 8);
    const sum = counts.reduce(
      (total, { operations }) =>
        total +
        cellOf(
          operations.get('InsertEntity') ?? new Float64Array(),
          outcomeCell('Success', 'owner'),
        ),
      0,
    );
    assert.equal(sum, 1000);
  });
});
