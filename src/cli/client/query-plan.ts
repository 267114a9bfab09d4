import { planQuery } from '../../services/tables/plan.js';
import { parseFilter } from '../../wire/odata/filter-parser.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { counted, grouped } from '../terminal/terminal.js';

/** The plan and cost of a query, over all of its pages. */
export interface PlanFacts {
  readonly planClass: string;
  readonly intervals: number;
  /** Undefined when the service does not report it. */
  readonly rowsScanned: number | undefined;
  /** True when class and intervals are computed here, because the service does not report them. */
  readonly isEstimated: boolean;
}

/** Reads the header `x-tabularium-plan`; undefined when it is malformed. */
export function parsePlanHeader(text: string): PlanFacts | undefined {
  const fields = new Map(
    text.split(';').map((part) => {
      const equals = part.indexOf('=');
      return [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    }),
  );
  const planClass = fields.get('class');
  const intervals = Number(fields.get('intervals'));
  const rowsScanned = Number(fields.get('scanned'));
  if (planClass === undefined || Number.isNaN(intervals) || Number.isNaN(rowsScanned)) {
    return undefined;
  }
  return { planClass, intervals, rowsScanned, isEstimated: false };
}

/**
 * The plan of the filter alone; undefined when it cannot be parsed, which the service will report.
 */
export function estimatePlan(filter: string | undefined): PlanFacts | undefined {
  try {
    const plan = planQuery(parseFilter(filter ?? ''));
    return {
      planClass: plan.planClass,
      intervals: plan.intervals.length,
      rowsScanned: undefined,
      isEstimated: true,
    };
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

export interface QueryCost {
  readonly rowsReturned: number;
  readonly requests: number;
  readonly elapsedMs: number;
}

/** An explanation of the query's cost, as lines. */
export function planLines(facts: PlanFacts | undefined, cost: QueryCost): string[] {
  const { rowsReturned, requests, elapsedMs } = cost;
  const scanned =
    facts?.rowsScanned === undefined ? 'scanned unknown' : `scanned ${grouped(facts.rowsScanned)}`;
  const shape =
    facts === undefined
      ? 'unknown'
      : `${facts.planClass}, ${counted(facts.intervals, 'interval')}` +
        (facts.isEstimated ? ' (estimated from the filter)' : '');
  const lines = [
    `Plan: ${shape}; rows ${scanned}, returned ${grouped(rowsReturned)}; ` +
      `${counted(requests, 'request')}, ${elapsedMs.toFixed(1)} ms`,
  ];
  if (facts?.planClass === 'table-scan') {
    lines.push("Warning: this reads the whole table; a filter with PartitionKey eq '…' would not.");
  }
  return lines;
}
