import { exactly, none, type Estimate } from './estimate.js';
import type { RowSet } from './row-set.js';

/** Kinds of requests that an operation makes. */
export type RequestClass =
  'point-read' | 'range-read' | 'insert' | 'update' | 'delete' | 'transaction' | 'queue' | 'blob';

/** Requests of one class to one row set, made by one operation. */
export interface Access {
  /** Undefined for a queue or a blob. */
  readonly rowSet: RowSet | undefined;
  readonly request: RequestClass;
  /** Per operation. */
  readonly requests: Estimate;
  readonly read: Estimate;
  readonly written: Estimate;
  /** The number of partitions that an operation accesses; undefined: all of them. */
  readonly partitions: number | undefined;
  /** Whether a worker makes the requests afterwards, instead of the caller. */
  readonly isLater: boolean;
  /** Entities read and written in a partition with this share of the rows, when it is accessed. */
  readonly at: (share: number) => number;
}

/** Requests that each read or write a known number of entities. */
export function accessOf(
  rowSet: RowSet | undefined,
  request: RequestClass,
  requests: Estimate,
  entities: { readonly read?: number; readonly written?: number } = {},
): Access {
  const { read = 0, written = 0 } = entities;
  const times = (count: number): Estimate => ({
    best: requests.best * count,
    expected: requests.expected * count,
    worst: requests.worst * count,
  });
  const each = requests.expected * (read + written);
  return {
    rowSet,
    request,
    requests,
    read: read === 0 ? none : times(read),
    written: written === 0 ? none : times(written),
    partitions: 1,
    isLater: false,
    at: () => each,
  };
}

export function pointReads(rowSet: RowSet, requests: Estimate): Access {
  return accessOf(rowSet, 'point-read', requests, { read: 1 });
}

/** The same, made by a worker. */
export function later(accesses: readonly Access[]): readonly Access[] {
  return accesses.map((each) => ({ ...each, isLater: true }));
}

export const once = exactly(1);
/** Made only after a failure. */
export const onFailure: Estimate = { best: 0, expected: 0, worst: 1 };
