import {
  callerKinds,
  requestOutcomes,
  type CallerKind,
  type RequestOutcome,
} from '../../model/analytics/request-status.js';

/**
 * Sums over requests: of each outcome and caller, and of bytes and latencies. An array, so that a
 * request is counted without allocating anything.
 */
export type RequestCounters = Float64Array;

const outcomeCells = requestOutcomes.length * callerKinds.length;

/** Where the sums of bytes and latencies are. Latencies are those of successes. */
export const sumCells = {
  ingressBytes: outcomeCells,
  egressBytes: outcomeCells + 1,
  endToEndMs: outcomeCells + 2,
  serverMs: outcomeCells + 3,
} as const;

export function newCounters(): RequestCounters {
  return new Float64Array(outcomeCells + Object.keys(sumCells).length);
}

const outcomeRow = new Map<RequestOutcome, number>(
  requestOutcomes.map((outcome, row) => [outcome, row * callerKinds.length]),
);
const callerColumn: Readonly<Record<CallerKind, number>> = { owner: 0, anonymous: 1, sas: 2 };

/** Where requests of this outcome and caller are counted. */
export function outcomeCell(outcome: RequestOutcome, caller: CallerKind): number {
  return (outcomeRow.get(outcome) ?? 0) + callerColumn[caller];
}

export function addCell(counters: RequestCounters, cell: number, delta: number): void {
  counters[cell] = cellOf(counters, cell) + delta;
}

export function cellOf(counters: RequestCounters, cell: number): number {
  return counters[cell] ?? 0;
}

export function addCounters(sum: RequestCounters, counters: RequestCounters): void {
  for (let cell = 0; cell < counters.length; cell += 1) {
    addCell(sum, cell, cellOf(counters, cell));
  }
}
