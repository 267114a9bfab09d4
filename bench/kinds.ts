import { unreachable } from '../src/base/invariant.js';

/** Kinds of load by the service that they are for, in the order in which they are measured. */
export const tableKinds = [
  'point',
  'range',
  'scan',
  'insert',
  'insert-one',
  'merge',
  'point-under-writes',
  'batch',
] as const;
export const queueKinds = [
  'queue-put',
  'queue-get-delete',
  'queue-get-delete-one',
  'queue-put-100k',
  'queue-get-delete-100k',
  'queue-get-delete-one-100k',
  'queue-put-1m',
  'queue-get-delete-1m',
  'queue-get-delete-one-1m',
] as const;
export const blobKinds = [
  'blob-put',
  'blob-get',
  'blob-list',
  'blob-put-block',
  'blob-download',
] as const;
export const workloadKinds = [...tableKinds, ...queueKinds, ...blobKinds] as const;

export type TableKind = (typeof tableKinds)[number];
export type QueueKind = (typeof queueKinds)[number];
export type BlobKind = (typeof blobKinds)[number];
export type WorkloadKind = TableKind | QueueKind | BlobKind;

export const services = ['table', 'queue', 'blob'] as const;
export type Service = (typeof services)[number];

export function isQueueKind(kind: WorkloadKind): kind is QueueKind {
  return kind.startsWith('queue-');
}

export function isBlobKind(kind: WorkloadKind): kind is BlobKind {
  return kind.startsWith('blob-');
}

export function isTableKind(kind: WorkloadKind): kind is TableKind {
  return !isQueueKind(kind) && !isBlobKind(kind);
}

export function serviceOf(kind: WorkloadKind): Service {
  if (isQueueKind(kind)) return 'queue';
  return isBlobKind(kind) ? 'blob' : 'table';
}

export const tableOperations = ['point', 'range', 'scan', 'insert', 'merge', 'batch'] as const;
export type TableOperation = (typeof tableOperations)[number];

/** The requests of a kind to the table. */
export interface TablePlan {
  readonly operation: TableOperation;
  /** Connections, where the kind fixes them. */
  readonly connections?: number;
  /** Whether other connections insert rows meanwhile. */
  readonly isUnderWrites: boolean;
}

export function tablePlan(kind: TableKind): TablePlan {
  switch (kind) {
    case 'insert-one':
      return { operation: 'insert', connections: 1, isUnderWrites: false };
    case 'point-under-writes':
      return { operation: 'point', isUnderWrites: true };
    default:
      return { operation: kind, isUnderWrites: false };
  }
}

/** The number of connections of a kind, given the requested number. */
export function connectionsOf(kind: WorkloadKind, asked: number): number {
  if (isBlobKind(kind)) return Math.min(asked, blobPlan(kind).connectionsMax);
  return (isTableKind(kind) ? tablePlan(kind).connections : undefined) ?? asked;
}

export function isUnderWrites(kind: WorkloadKind): boolean {
  return isTableKind(kind) && tablePlan(kind).isUnderWrites;
}

export const queueOperations = ['put', 'get-delete', 'get-delete-one'] as const;
export type QueueOperation = (typeof queueOperations)[number];

/** The operation of a kind and its queue. */
export interface QueuePlan {
  readonly operation: QueueOperation;
  /** Messages that wait in the queue while it is measured, at least. */
  readonly waiting: number;
  readonly queue: string;
}

const waitingBySuffix = [
  ['-100k', 100_000],
  ['-1m', 1_000_000],
  ['', 0],
] as const;

export function queuePlan(kind: QueueKind): QueuePlan {
  for (const [suffix, waiting] of waitingBySuffix) {
    const operation = queueOperations.find((each) => kind === `queue-${each}${suffix}`);
    if (operation === undefined) continue;
    // Puts without a backlog use a queue of their own, so that the other queues begin with the
    // expected messages.
    const name = waiting === 0 && operation === 'put' ? '-put' : suffix;
    return { operation, waiting, queue: `bench${name}` };
  }
  throw new Error(`${kind} has no plan`);
}

/**
 * The kind without waiting messages, with which one with waiting messages is compared. Only this
 * server is measured under both.
 */
export function emptyKind(kind: WorkloadKind): WorkloadKind {
  if (!isQueueKind(kind)) return kind;
  return `queue-${queuePlan(kind).operation}`;
}

export interface BlobPlan {
  /** Whether a container of small blobs must be there. */
  readonly readsContainer: boolean;
  /** More would hold more bytes under way than they add to the rate. */
  readonly connectionsMax: number;
  /** Mebibytes that a request moves, where those are counted and not requests. */
  readonly mebibytes?: number;
}

export function blobPlan(kind: BlobKind): BlobPlan {
  switch (kind) {
    case 'blob-put':
      return { connectionsMax: Infinity, readsContainer: false };
    case 'blob-get':
      return { connectionsMax: Infinity, readsContainer: true };
    case 'blob-list':
      return { connectionsMax: 4, readsContainer: true };
    case 'blob-put-block':
      return { connectionsMax: 4, readsContainer: false, mebibytes: 4 };
    case 'blob-download':
      return { connectionsMax: 4, readsContainer: false, mebibytes: 64 };
    default:
      return unreachable(kind);
  }
}
