import { invariant, unreachable } from '../../base/invariant.js';
import type { TupleElement } from '../../kv/tuple.js';
import type {
  LeaseAction,
  LeaseDuration,
  LeaseProperties,
  LeaseState,
} from '../../model/blobs/lease.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { ElementReader } from './element-reader.js';

/**
 * A lease of a blob or container as stored (blob-service §10.2). Time moves a fixed lease to
 * expired and a breaking one to broken without a write. No lease: available.
 */
export type StoredLease =
  | {
      readonly kind: 'fixed';
      readonly id: string;
      readonly seconds: number;
      readonly endsMicros: number;
    }
  | { readonly kind: 'infinite'; readonly id: string }
  | { readonly kind: 'breaking'; readonly id: string; readonly endsMicros: number }
  | { readonly kind: 'broken'; readonly id: string };

/** The resource that has the lease. It decides the codes of errors. */
export type LeaseHolder = 'blob' | 'container';

export interface LeaseChange {
  /** The lease afterwards. */
  readonly lease: StoredLease | undefined;
  /** The id that the answer gives: of acquire, renew and change. */
  readonly id?: string;
  /** The remaining time of the lease in whole seconds, rounded up: for a break. */
  readonly remainingSeconds?: number;
}

export interface LeaseContext {
  readonly nowMicros: number;
  /** The id of a lease for which no id is proposed. */
  readonly newId: () => string;
}

const microsPerSecond = 1_000_000;

export function leaseState(lease: StoredLease | undefined, nowMicros: number): LeaseState {
  if (lease === undefined) return 'available';
  switch (lease.kind) {
    case 'fixed':
      return nowMicros < lease.endsMicros ? 'leased' : 'expired';
    case 'infinite':
      return 'leased';
    case 'breaking':
      return nowMicros < lease.endsMicros ? 'breaking' : 'broken';
    case 'broken':
      return 'broken';
    default:
      return unreachable(lease);
  }
}

export function leaseProperties(
  lease: StoredLease | undefined,
  nowMicros: number,
): LeaseProperties {
  const state = leaseState(lease, nowMicros);
  const status = isLocked(state) ? 'locked' : 'unlocked';
  if (state !== 'leased') return { status, state };
  return { status, state, duration: lease?.kind === 'infinite' ? 'infinite' : 'fixed' };
}

/**
 * The lease after a lease operation (blob-service §10.3). Throws the errors of that table, and
 * changes nothing then.
 */
export function changeLease(
  lease: StoredLease | undefined,
  action: LeaseAction,
  context: LeaseContext,
): LeaseChange {
  const state = leaseState(lease, context.nowMicros);
  switch (action.kind) {
    case 'acquire':
      return acquire(lease, state, action, context);
    case 'renew':
      return renew(lease, action.id, context);
    case 'change':
      return change(lease, state, action);
    case 'release':
      if (lease?.id !== action.id) throw idMismatch();
      return { lease: undefined };
    case 'break':
      return breakLease(lease, state, action.periodSeconds, context.nowMicros);
    default:
      return unreachable(action);
  }
}

function acquire(
  lease: StoredLease | undefined,
  state: LeaseState,
  { duration, proposedId }: Extract<LeaseAction, { kind: 'acquire' }>,
  { nowMicros, newId }: LeaseContext,
): LeaseChange {
  const isOwn = lease !== undefined && lease.id === proposedId;
  if (isLocked(state) && !isOwn) throw new StorageError('LeaseAlreadyPresent');
  if (state === 'breaking') throw new StorageError('LeaseIsBreakingAndCannotBeAcquired');
  const id = proposedId ?? newId();
  return { lease: leaseFrom(id, duration, nowMicros), id };
}

function renew(
  lease: StoredLease | undefined,
  id: string,
  { nowMicros }: LeaseContext,
): LeaseChange {
  if (lease?.id !== id) throw idMismatch();
  if (lease.kind === 'breaking' || lease.kind === 'broken') {
    throw new StorageError('LeaseIsBrokenAndCannotBeRenewed');
  }
  const duration = lease.kind === 'infinite' ? 'infinite' : { seconds: lease.seconds };
  return { lease: leaseFrom(id, duration, nowMicros), id };
}

function change(
  lease: StoredLease | undefined,
  state: LeaseState,
  { id, proposedId }: Extract<LeaseAction, { kind: 'change' }>,
): LeaseChange {
  if (lease === undefined || !isLocked(state)) throw notPresent();
  // A client that repeats its request names the id that the lease has already.
  const isRepeated = state === 'leased' && lease.id === proposedId;
  if (lease.id !== id && !isRepeated) throw idMismatch();
  if (state === 'breaking') throw new StorageError('LeaseIsBreakingAndCannotBeChanged');
  return { lease: { ...lease, id: proposedId }, id: proposedId };
}

function breakLease(
  lease: StoredLease | undefined,
  state: LeaseState,
  periodSeconds: number | undefined,
  nowMicros: number,
): LeaseChange {
  if (lease === undefined) throw notPresent();
  const { id } = lease;
  const remaining = isLocked(state) ? remainingMicros(lease, nowMicros) : 0;
  const wanted = periodSeconds === undefined ? undefined : periodSeconds * microsPerSecond;
  // An infinite lease has no remaining time that a break without a period could wait for.
  const rest = remaining === Infinity ? (wanted ?? 0) : Math.min(wanted ?? remaining, remaining);
  if (rest === 0) return { lease: { kind: 'broken', id }, remainingSeconds: 0 };
  return {
    lease: { kind: 'breaking', id, endsMicros: nowMicros + rest },
    remainingSeconds: Math.ceil(rest / microsPerSecond),
  };
}

function remainingMicros(lease: StoredLease, nowMicros: number): number {
  if (lease.kind === 'infinite') return Infinity;
  return lease.kind === 'broken' ? 0 : Math.max(0, lease.endsMicros - nowMicros);
}

function leaseFrom(id: string, duration: LeaseDuration, nowMicros: number): StoredLease {
  if (duration === 'infinite') return { kind: 'infinite', id };
  const { seconds } = duration;
  return { kind: 'fixed', id, seconds, endsMicros: nowMicros + seconds * microsPerSecond };
}

/** How a request uses a blob or container: only some writes need the id of its lease. */
export type LeaseUse = 'read' | 'write';

/**
 * Refuses a request whose lease id does not fit (blob-service §10.4). `id` is what the request
 * sent. A read needs no id, but an id that was sent must match.
 */
export function checkLease(
  lease: StoredLease | undefined,
  { id, use }: { readonly id: string | undefined; readonly use: LeaseUse },
  { holder, nowMicros }: { readonly holder: LeaseHolder; readonly nowMicros: number },
): void {
  const isHeld = isLocked(leaseState(lease, nowMicros));
  if (id === undefined) {
    if (isHeld && use === 'write') throw new StorageError('LeaseIdMissing');
    return;
  }
  if (!isHeld) throw new StorageError(leaseNotPresent(holder));
  if (lease?.id !== id) throw new StorageError(mismatchCodes[holder]);
}

/** The code for a lease id that is sent to a resource without a lease, or to a missing blob. */
export function leaseNotPresent(holder: LeaseHolder): ErrorCode {
  return notPresentCodes[holder];
}

/**
 * The lease after a write that it allowed: a broken or expired lease is removed (blob-service
 * §10.4). So an expired lease can only be renewed until the next write.
 */
export function leaseAfterWrite(
  lease: StoredLease | undefined,
  nowMicros: number,
): StoredLease | undefined {
  return isLocked(leaseState(lease, nowMicros)) ? lease : undefined;
}

const notPresentCodes: Readonly<Record<LeaseHolder, ErrorCode>> = {
  blob: 'LeaseNotPresentWithBlobOperation',
  container: 'LeaseNotPresentWithContainerOperation',
};
const mismatchCodes: Readonly<Record<LeaseHolder, ErrorCode>> = {
  blob: 'LeaseIdMismatchWithBlobOperation',
  container: 'LeaseIdMismatchWithContainerOperation',
};

function isLocked(state: LeaseState): boolean {
  return state === 'leased' || state === 'breaking';
}

function idMismatch(): StorageError {
  return new StorageError('LeaseIdMismatchWithLeaseOperation');
}

function notPresent(): StorageError {
  return new StorageError('LeaseNotPresentWithLeaseOperation');
}

// Permanent: these values are in every data directory. See docs/internals/blob-keys.md.
const leaseKinds = ['fixed', 'infinite', 'breaking', 'broken'] as const;

/** A lease as four elements: kind, id, seconds or 0, end or 0. */
export function leaseElements(lease: StoredLease): TupleElement[] {
  const seconds = lease.kind === 'fixed' ? lease.seconds : 0;
  const ends = lease.kind === 'fixed' || lease.kind === 'breaking' ? lease.endsMicros : 0;
  return [leaseKinds.indexOf(lease.kind), lease.id, seconds, ends];
}

export function readLease(reader: ElementReader): StoredLease {
  const kind = leaseKinds[reader.number()];
  const id = reader.text();
  const seconds = reader.number();
  const endsMicros = reader.number();
  invariant(kind !== undefined, 'unknown kind of a lease');
  switch (kind) {
    case 'fixed':
      return { kind, id, seconds, endsMicros };
    case 'breaking':
      return { kind, id, endsMicros };
    case 'infinite':
    case 'broken':
      return { kind, id };
    default:
      return unreachable(kind);
  }
}
