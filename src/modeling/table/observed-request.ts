import type { Clock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import type { RequestSummary } from '../rows/model-error.js';
import { statusOf } from './sdk-error.js';

/** One call of the client: one request, unless the client itself repeated it. */
export interface RequestReport {
  readonly table: string;
  readonly kind:
    | 'point-read'
    | 'query'
    | 'insert'
    | 'update'
    | 'delete'
    | 'transaction'
    | 'create-table'
    | 'delete-table'
    | 'list-tables';
  /** Rows sent or received. */
  readonly entities: number;
  /** Undefined for queries. */
  readonly partitionKey?: string;
  readonly durationMs: number;
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
}

/** Called after each request. */
export type RequestObserver = (request: RequestReport) => void;

/** A request that is about to be sent. */
export interface Call {
  readonly kind: RequestReport['kind'];
  readonly summary: RequestSummary;
  readonly entities: number;
}

interface Watch {
  readonly observer: RequestObserver | undefined;
  readonly clock: Clock;
}

/** Sends a request and reports its end, successful or not. Rethrows what `send` throws. */
export async function observed<T>(
  { kind, summary, entities }: Call,
  send: () => Promise<T>,
  { observer, clock }: Watch,
): Promise<T> {
  if (observer === undefined) return send();
  const { table, partitionKey } = summary;
  const started = clock.monotonicMs();
  const report = (status: number, count: number): void =>
    observer({
      table,
      kind,
      entities: count,
      ...(partitionKey === undefined ? {} : { partitionKey }),
      durationMs: clock.monotonicMs() - started,
      status,
    });
  let result: T;
  try {
    result = await send();
  } catch (error) {
    report(statusOf(error), kind === 'query' || kind === 'point-read' ? 0 : entities);
    throw error;
  }
  report(statusOfSuccess(kind), kind === 'query' ? rowsOf(result) : entities);
  return result;
}

/** The client does not expose the status of a success; the protocol has one for each kind. */
function statusOfSuccess(kind: RequestReport['kind']): number {
  switch (kind) {
    case 'point-read':
    case 'query':
    case 'list-tables':
      return 200;
    case 'create-table':
      return 201;
    case 'delete-table':
    case 'insert':
    case 'update':
    case 'delete':
      return 204;
    case 'transaction':
      return 202;
    default:
      return unreachable(kind);
  }
}

function rowsOf(result: unknown): number {
  return Array.isArray(result) ? result.length : 0;
}
