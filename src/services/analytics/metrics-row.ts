import { decodeBag, propertyBagOf } from '../../model/bag/bag.js';
import type { Bytes } from '../../base/bytes.js';
import type { EdmValue, Property } from '../../model/edm/value.js';
import {
  callerKinds,
  callerPrefixes,
  countsInAvailability,
  isBillable,
  requestOutcomes,
  type CallerKind,
  type RequestOutcome,
} from '../../model/analytics/request-status.js';
import {
  addCell,
  cellOf,
  newCounters,
  outcomeCell,
  sumCells,
  type RequestCounters,
} from './request-counters.js';

/** The outcomes in the order of the percentages; both kinds of timeouts share one. */
const percentages: readonly (readonly [string, readonly RequestOutcome[]])[] = [
  ['PercentSuccess', ['Success']],
  ['PercentThrottlingError', ['ThrottlingError']],
  ['PercentTimeoutError', ['ClientTimeoutError', 'ServerTimeoutError']],
  ['PercentServerOtherError', ['ServerOtherError']],
  ['PercentClientOtherError', ['ClientOtherError']],
  ['PercentAuthorizationError', ['AuthorizationError']],
  ['PercentNetworkError', ['NetworkError']],
];

interface OutcomeColumn {
  readonly name: string;
  readonly cell: number;
  readonly outcome: RequestOutcome;
  readonly caller: CallerKind;
}

const outcomeColumns: readonly OutcomeColumn[] = requestOutcomes.flatMap((outcome) =>
  callerKinds.map((caller) => ({
    name: `${callerPrefixes[caller]}${outcome}`,
    cell: outcomeCell(outcome, caller),
    outcome,
    caller,
  })),
);

/** The properties of a row of transaction metrics (blob-service §22.2). */
export function metricsProperties(counters: RequestCounters): readonly Property[] {
  const count = (wanted: (column: OutcomeColumn) => boolean): number =>
    outcomeColumns.reduce(
      (sum, column) => (wanted(column) ? sum + cellOf(counters, column.cell) : sum),
      0,
    );
  const requests = count(() => true);
  const billable = count(({ outcome, caller }) => isBillable(outcome, caller));
  const applicable = count(({ outcome, caller }) => countsInAvailability(outcome, caller));
  const successes = count(({ outcome }) => outcome === 'Success');
  const average = (cell: number) => quotient(cellOf(counters, cell), successes, 0);
  return [
    property('TotalIngress', int64(cellOf(counters, sumCells.ingressBytes))),
    property('TotalEgress', int64(cellOf(counters, sumCells.egressBytes))),
    property('TotalRequests', int64(requests)),
    property('TotalBillableRequests', int64(billable)),
    property('Availability', double(quotient(100 * billable, applicable, 100))),
    property('AverageE2ELatency', double(average(sumCells.endToEndMs))),
    property('AverageServerLatency', double(average(sumCells.serverMs))),
    ...percentages.map(([name, outcomes]) =>
      property(
        name,
        double(quotient(100 * count(({ outcome }) => outcomes.includes(outcome)), requests, 0)),
      ),
    ),
    ...outcomeColumns.map(({ name, cell }) => property(name, int64(cellOf(counters, cell)))),
  ];
}

export function encodeMetricsRow(counters: RequestCounters): Bytes {
  return propertyBagOf(metricsProperties(counters)).bag;
}

/**
 * The counters that a row was made of. Sums of latencies are the averages times the successes, so
 * they are exact but for the last digits of a Double.
 */
export function decodeMetricsRow(bag: Bytes): RequestCounters {
  const values = new Map(decodeBag(bag).map(({ name, value }) => [name, numberOf(value)]));
  const valueOf = (name: string) => values.get(name) ?? 0;
  const counters = newCounters();
  let successes = 0;
  for (const { name, cell, outcome } of outcomeColumns) {
    const count = valueOf(name);
    addCell(counters, cell, count);
    if (outcome === 'Success') successes += count;
  }
  addCell(counters, sumCells.ingressBytes, valueOf('TotalIngress'));
  addCell(counters, sumCells.egressBytes, valueOf('TotalEgress'));
  addCell(counters, sumCells.endToEndMs, valueOf('AverageE2ELatency') * successes);
  addCell(counters, sumCells.serverMs, valueOf('AverageServerLatency') * successes);
  return counters;
}

function quotient(dividend: number, divisor: number, otherwise: number): number {
  return divisor === 0 ? otherwise : dividend / divisor;
}

function property(name: string, value: EdmValue): Property {
  return { name, value };
}

function int64(value: number): EdmValue {
  return { type: 'Edm.Int64', value: BigInt(Math.round(value)) };
}

function double(value: number): EdmValue {
  return { type: 'Edm.Double', value };
}

function numberOf({ value }: EdmValue): number {
  return typeof value === 'bigint' || typeof value === 'number' ? Number(value) : 0;
}
