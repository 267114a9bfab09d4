import type { TableOperation } from './operations.js';

// The tables of leases (blob-service §10.3, §10.4), without code of the server.

export type Holder = 'blob' | 'container';

/** `leased`: for 30 seconds. All of them have the id A; `breaking` goes on for 20 seconds. */
export type LeaseState =
  'available' | 'leased' | 'leased for ever' | 'breaking' | 'broken' | 'expired';

export const leaseStates: readonly LeaseState[] = [
  'available',
  'leased',
  'leased for ever',
  'breaking',
  'broken',
  'expired',
];

export const ids = {
  a: '0a000000-0000-4000-8000-00000000000a',
  b: '0b000000-0000-4000-8000-00000000000b',
  c: '0c000000-0000-4000-8000-00000000000c',
} as const;

export interface LeaseOutcome {
  /** The status, and the code of a refusal; one of them. */
  readonly answers: readonly string[];
  readonly after: LeaseState;
  /** `fresh`: one that the server makes. */
  readonly leaseId?: string;
  readonly seconds?: string;
}

export interface LeaseRequest {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  outcome(state: LeaseState): LeaseOutcome;
}

const present = '409 LeaseAlreadyPresent';
const notPresent = '409 LeaseNotPresentWithLeaseOperation';
const mismatch = '409 LeaseIdMismatchWithLeaseOperation';
const cannotAcquire = '409 LeaseIsBreakingAndCannotBeAcquired';
const cannotChange = '409 LeaseIsBreakingAndCannotBeChanged';
const cannotRenew = '409 LeaseIsBrokenAndCannotBeRenewed';

const isHeld = (state: LeaseState) => state === 'leased' || state === 'leased for ever';
const refused = (after: LeaseState, ...answers: readonly string[]) => ({ answers, after });

function acquire(id: 'a' | 'b' | undefined, seconds: number): LeaseRequest {
  return {
    name: `acquire ${id ?? 'without an id'} for ${seconds} s`,
    headers: {
      'x-ms-lease-action': 'acquire',
      'x-ms-lease-duration': String(seconds),
      ...(id && { 'x-ms-proposed-lease-id': ids[id] }),
    },
    outcome(state) {
      if (state === 'breaking') return refused(state, id === 'a' ? cannotAcquire : present);
      if (isHeld(state) && id !== 'a') return refused(state, present);
      const after = seconds === -1 ? 'leased for ever' : 'leased';
      return { answers: ['201'], after, leaseId: id === undefined ? 'fresh' : ids[id] };
    },
  };
}

function breaking(period: number | undefined): LeaseRequest {
  return {
    name: `break ${period === undefined ? 'without a period' : `in ${period} s`}`,
    headers: {
      'x-ms-lease-action': 'break',
      ...(period !== undefined && { 'x-ms-lease-break-period': String(period) }),
    },
    outcome(state) {
      if (state === 'available') return refused(state, notPresent);
      const rests = { leased: 30, breaking: 20, 'leased for ever': Infinity } as const;
      const rest = state in rests ? rests[state as keyof typeof rests] : 0;
      const left = Math.min(period ?? (rest === Infinity ? 0 : rest), rest);
      const after = left === 0 ? 'broken' : 'breaking';
      return { answers: ['202'], after, seconds: String(left) };
    },
  };
}

function change(from: 'a' | 'b', to: 'a' | 'b' | 'c'): LeaseRequest {
  return {
    name: `change ${from} to ${to}`,
    headers: {
      'x-ms-lease-action': 'change',
      'x-ms-lease-id': ids[from],
      'x-ms-proposed-lease-id': ids[to],
    },
    outcome(state) {
      if (state === 'breaking') {
        return from === 'a'
          ? refused(state, cannotChange)
          : refused(state, mismatch, ...(to === 'a' ? [cannotChange] : []));
      }
      if (!isHeld(state)) return refused(state, notPresent);
      if (from === 'b' && to !== 'a') return refused(state, mismatch);
      return { answers: ['200'], after: state, leaseId: ids[to] };
    },
  };
}

function renew(id: 'a' | 'b'): LeaseRequest {
  return {
    name: `renew ${id}`,
    headers: { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': ids[id] },
    outcome(state) {
      if (state === 'available' || id === 'b') return refused(state, mismatch);
      if (state === 'breaking' || state === 'broken') return refused(state, cannotRenew);
      const after = state === 'expired' ? 'leased' : state;
      return { answers: ['200'], after, leaseId: ids.a };
    },
  };
}

function release(id: 'a' | 'b'): LeaseRequest {
  return {
    name: `release ${id}`,
    headers: { 'x-ms-lease-action': 'release', 'x-ms-lease-id': ids[id] },
    outcome(state) {
      if (state === 'available' || id === 'b') return refused(state, mismatch);
      return { answers: ['200'], after: 'available' };
    },
  };
}

export const leaseRequests: readonly LeaseRequest[] = [
  ...[undefined, 'a' as const, 'b' as const].flatMap((id) => [acquire(id, 15), acquire(id, -1)]),
  ...[undefined, 0, 10, 60].map(breaking),
  change('a', 'b'),
  change('b', 'a'),
  change('b', 'c'),
  renew('a'),
  renew('b'),
  release('a'),
  release('b'),
];

type Used = Pick<TableOperation, 'use' | 'leaseIsOptional' | 'needsInfiniteLease'>;

/** `met`, or the status and the code of the refusal of another operation under a lease. */
export function useOutcome(
  { use, leaseIsOptional, needsInfiniteLease }: Used,
  state: LeaseState,
  sent: 'a' | 'b' | 'none',
  noun: 'Blob' | 'Container' = 'Blob',
): string {
  const isLocked = isHeld(state) || state === 'breaking';
  const needsId = use !== 'read' && leaseIsOptional !== true;
  if (sent === 'none') return isLocked && needsId ? '412 LeaseIdMissing' : 'met';
  if (!isLocked) return `412 LeaseNotPresentWith${noun}Operation`;
  if (sent === 'b') return `412 LeaseIdMismatchWith${noun}Operation`;
  const ends = state === 'leased' && needsInfiniteLease === true;
  return ends ? '412 InfiniteLeaseDurationRequired' : 'met';
}
