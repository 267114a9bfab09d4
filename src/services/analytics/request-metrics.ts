import {
  intervalMicros,
  intervalStart,
  type MetricsLocation,
} from '../../model/analytics/metrics-table.js';
import type { CallerKind, RequestOutcome } from '../../model/analytics/request-status.js';
import type { ServiceName } from '../../model/services/services.js';
import {
  addCell,
  newCounters,
  outcomeCell,
  sumCells,
  type RequestCounters,
} from './request-counters.js';

/** The endpoint whose requests are counted together. */
export interface MetricsScope {
  readonly account: string;
  readonly service: ServiceName;
  readonly location: MetricsLocation;
}

/** The requests of one endpoint that ended in one minute. */
export interface MinuteCounts extends MetricsScope {
  /** The beginning of the minute, in microseconds since 1970. */
  readonly startMicros: number;
  readonly operations: ReadonlyMap<string, RequestCounters>;
}

/** A request that has ended, as it counts. */
export interface CountedRequest extends MetricsScope {
  /** Microseconds since 1970. */
  readonly endMicros: number;
  /** The name of the operation in metrics. */
  readonly operation: string;
  readonly outcome: RequestOutcome;
  readonly caller: CallerKind;
  /** Header and body. */
  readonly ingressBytes: number;
  readonly egressBytes: number;
  /** From the arrival of the header to the end of the answer. */
  readonly endToEndMs: number;
  /** Without the time in which the client sent its body and took the answer. */
  readonly serverMs: number;
}

interface ScopeCounts extends MinuteCounts {
  readonly operations: Map<string, RequestCounters>;
}

/**
 * Minutes that are counted at a time. More than two occur only when the clock is set; requests of a
 * further minute then count in the last one.
 */
const minutesMax = 8;

/** The counts of one minute, by account, then by service and location. */
class Minute {
  readonly startMicros: number;
  readonly #accounts = new Map<string, ScopeCounts[]>();

  constructor(startMicros: number) {
    this.startMicros = startMicros;
  }

  countsOf({ account, service, location }: MetricsScope): ScopeCounts {
    let scopes = this.#accounts.get(account);
    if (scopes === undefined) {
      scopes = [];
      this.#accounts.set(account, scopes);
    }
    // An account has few endpoints.
    for (const scope of scopes) {
      if (scope.service === service && scope.location === location) return scope;
    }
    const { startMicros } = this;
    const counts = { account, service, location, startMicros, operations: new Map() };
    scopes.push(counts);
    return counts;
  }

  *all(): Generator<MinuteCounts> {
    for (const scopes of this.#accounts.values()) yield* scopes;
  }
}

/**
 * Counts requests in memory, by the minute in which they ended, by endpoint and by operation. The
 * first request of an operation in a minute allocates its counters; others allocate nothing.
 */
export class RequestMetrics {
  readonly #minutes = new Map<number, Minute>();
  #last: Minute | undefined;

  count(request: CountedRequest): void {
    const { operations } = this.#minuteAt(request.endMicros).countsOf(request);
    let counters = operations.get(request.operation);
    if (counters === undefined) {
      counters = newCounters();
      operations.set(request.operation, counters);
    }
    addCell(counters, outcomeCell(request.outcome, request.caller), 1);
    addCell(counters, sumCells.ingressBytes, request.ingressBytes);
    addCell(counters, sumCells.egressBytes, request.egressBytes);
    if (request.outcome !== 'Success') return;
    addCell(counters, sumCells.endToEndMs, request.endToEndMs);
    addCell(counters, sumCells.serverMs, request.serverMs);
  }

  /** Returns all counts, by minute, and begins anew. */
  take(): readonly MinuteCounts[] {
    const counts = Array.from(this.#minutes.values(), (minute) => [...minute.all()]).flat();
    this.#minutes.clear();
    this.#last = undefined;
    return counts;
  }

  #minuteAt(micros: number): Minute {
    const last = this.#last;
    if (last !== undefined && isIn(last, micros)) return last;
    const startMicros = intervalStart('Minute', micros);
    let minute = this.#minutes.get(startMicros);
    if (minute === undefined) {
      if (last !== undefined && this.#minutes.size >= minutesMax) return last;
      minute = new Minute(startMicros);
      this.#minutes.set(startMicros, minute);
    }
    this.#last = minute;
    return minute;
  }
}

function isIn({ startMicros }: Minute, micros: number): boolean {
  return micros >= startMicros && micros < startMicros + intervalMicros.Minute;
}
