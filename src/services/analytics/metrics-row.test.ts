import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { EdmValue } from '../../model/edm/value.js';
import { decodeMetricsRow, encodeMetricsRow, metricsProperties } from './metrics-row.js';
import { addCell, addCounters, newCounters, outcomeCell, sumCells } from './request-counters.js';

function valuesOf(counters: Float64Array): Readonly<Record<string, EdmValue>> {
  return Object.fromEntries(metricsProperties(counters).map(({ name, value }) => [name, value]));
}

const int64 = (value: bigint): EdmValue => ({ type: 'Edm.Int64', value });
const double = (value: number): EdmValue => ({ type: 'Edm.Double', value });

describe('a row of metrics (blob-service §22.2)', () => {
  it('has every property of the schema with its type', () => {
    const rows = metricsProperties(newCounters());
    assert.equal(rows.length, 38);
    const names = new Set(rows.map(({ name }) => name));
    assert.equal(names.size, 38);
    for (const prefix of ['', 'Anonymous', 'SAS']) {
      for (const status of ['Success', 'ThrottlingError', 'ClientTimeoutError', 'NetworkError']) {
        assert.ok(names.has(prefix + status), prefix + status);
      }
    }
    for (const { name, value } of rows) {
      const isDouble = /^(Percent|Average|Availability)/.test(name);
      assert.equal(value.type, isDouble ? 'Edm.Double' : 'Edm.Int64', name);
    }
  });

  it('without requests is available and has no percentages', () => {
    const values = valuesOf(newCounters());
    assert.deepEqual(values['Availability'], double(100));
    assert.deepEqual(values['PercentSuccess'], double(0));
    assert.deepEqual(values['AverageE2ELatency'], double(0));
    assert.deepEqual(values['TotalRequests'], int64(0n));
  });

  it('computes percentages, averages and the availability from its counters', () => {
    const counters = newCounters();
    addCell(counters, outcomeCell('Success', 'owner'), 2);
    addCell(counters, outcomeCell('Success', 'sas'), 2);
    addCell(counters, outcomeCell('ClientTimeoutError', 'owner'), 1);
    addCell(counters, outcomeCell('ServerTimeoutError', 'anonymous'), 1);
    addCell(counters, outcomeCell('ThrottlingError', 'sas'), 1);
    addCell(counters, outcomeCell('AuthorizationError', 'anonymous'), 1);
    addCell(counters, sumCells.endToEndMs, 10);
    addCell(counters, sumCells.serverMs, 4);
    addCell(counters, sumCells.ingressBytes, 700);
    const values = valuesOf(counters);
    assert.deepEqual(values['TotalRequests'], int64(8n));
    assert.deepEqual(values['TotalBillableRequests'], int64(5n));
    assert.deepEqual(values['Availability'], double(500 / 6));
    assert.deepEqual(values['PercentSuccess'], double(50));
    assert.deepEqual(values['PercentTimeoutError'], double(25));
    assert.deepEqual(values['PercentThrottlingError'], double(12.5));
    assert.deepEqual(values['AverageE2ELatency'], double(2.5));
    assert.deepEqual(values['AverageServerLatency'], double(1));
    assert.deepEqual(values['SASThrottlingError'], int64(1n));
    assert.deepEqual(values['TotalIngress'], int64(700n));
  });

  it('can be added to after it was stored', () => {
    const arbitrary = fc.array(fc.nat(1_000_000), {
      minLength: newCounters().length,
      maxLength: newCounters().length,
    });
    fc.assert(
      fc.property(arbitrary, arbitrary, (left, right) => {
        const [a, b] = [Float64Array.from(left), Float64Array.from(right)];
        // Latencies are those of successes.
        for (const counters of [a, b]) addCell(counters, outcomeCell('Success', 'owner'), 1);
        const sum = newCounters();
        addCounters(sum, a);
        addCounters(sum, b);
        const stored = decodeMetricsRow(encodeMetricsRow(a));
        addCounters(stored, b);
        for (const [cell, value] of stored.entries()) {
          const expected = sum[cell] ?? Number.NaN;
          assert.ok(Math.abs(value - expected) <= expected * 1e-12, `cell ${cell}`);
        }
      }),
    );
  });
});
