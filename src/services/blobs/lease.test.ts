import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LeaseAction, LeaseState } from '../../model/blobs/lease.js';
import { StorageError } from '../../model/errors/storage-error.js';
import {
  changeLease,
  checkLease,
  leaseAfterWrite,
  leaseProperties,
  leaseState,
  type StoredLease,
} from './lease.js';

const a = 'aaaaaaaa-0000-4000-8000-000000000000';
const b = 'bbbbbbbb-0000-4000-8000-000000000000';
const c = 'cccccccc-0000-4000-8000-000000000000';
const x = 'eeeeeeee-0000-4000-8000-000000000000';

const second = 1_000_000;
const now = 1_700_000_000 * second;
const states = ['available', 'leased', 'breaking', 'broken', 'expired'] as const;

/** A lease with the id A in each state; 20 seconds are left of one that has an end. */
const leases: Readonly<Record<LeaseState, StoredLease | undefined>> = {
  available: undefined,
  leased: { kind: 'fixed', id: a, seconds: 30, endsMicros: now + 20 * second },
  breaking: { kind: 'breaking', id: a, endsMicros: now + 20 * second },
  broken: { kind: 'breaking', id: a, endsMicros: now },
  expired: { kind: 'fixed', id: a, seconds: 30, endsMicros: now },
};
const infinite: StoredLease = { kind: 'infinite', id: a };

const context = { nowMicros: now, newId: () => x };

/** The outcome of an operation in short: the state and the id afterwards, or the code. */
function outcome(lease: StoredLease | undefined, action: LeaseAction): string {
  try {
    const changed = changeLease(lease, action, context);
    const state = leaseState(changed.lease, now);
    const ids: Readonly<Record<string, string>> = { [a]: 'A', [b]: 'B', [c]: 'C', [x]: 'X' };
    const id = changed.lease === undefined ? '' : ` ${ids[changed.lease.id]}`;
    const left = changed.remainingSeconds === undefined ? '' : ` ${changed.remainingSeconds}`;
    const isShown = ['acquire', 'renew', 'change'].includes(action.kind);
    assert.equal(changed.id, isShown ? changed.lease?.id : undefined, 'the id of the answer');
    return `${state}${id}${left}`;
  } catch (error) {
    assert.ok(error instanceof StorageError);
    assert.equal(error.status, 409);
    return codes[error.code] ?? error.code;
  }
}

const codes: Readonly<Record<string, string>> = {
  LeaseAlreadyPresent: 'LAP',
  LeaseIsBreakingAndCannotBeAcquired: 'LIBA',
  LeaseNotPresentWithLeaseOperation: 'LNP',
  LeaseIsBreakingAndCannotBeChanged: 'LIBC',
  LeaseIdMismatchWithLeaseOperation: 'LIM',
  LeaseIsBrokenAndCannotBeRenewed: 'LBR',
  LeaseNotPresentWithBlobOperation: 'LNPB',
  LeaseIdMismatchWithBlobOperation: 'LIMB',
  LeaseNotPresentWithContainerOperation: 'LNPC',
  LeaseIdMismatchWithContainerOperation: 'LIMC',
  LeaseIdMissing: 'LeaseIdMissing',
};

const duration = { seconds: 15 };
type Row = readonly [what: string, action: LeaseAction, outcomes: string];

/** blob-service §10.3, in the order of `states`. */
const operations: readonly Row[] = [
  ['acquire, no id', { kind: 'acquire', duration }, 'leased X | LAP | LAP | leased X | leased X'],
  [
    'acquire A',
    { kind: 'acquire', duration, proposedId: a },
    'leased A | leased A | LIBA | leased A | leased A',
  ],
  [
    'acquire B',
    { kind: 'acquire', duration, proposedId: b },
    'leased B | LAP | LAP | leased B | leased B',
  ],
  [
    'break, period 0',
    { kind: 'break', periodSeconds: 0 },
    'LNP | broken A 0 | broken A 0 | broken A 0 | broken A 0',
  ],
  [
    'break, shorter period',
    { kind: 'break', periodSeconds: 5 },
    'LNP | breaking A 5 | breaking A 5 | broken A 0 | broken A 0',
  ],
  [
    'break, longer period',
    { kind: 'break', periodSeconds: 60 },
    'LNP | breaking A 20 | breaking A 20 | broken A 0 | broken A 0',
  ],
  [
    'break, no period',
    { kind: 'break' },
    'LNP | breaking A 20 | breaking A 20 | broken A 0 | broken A 0',
  ],
  ['change A to B', { kind: 'change', id: a, proposedId: b }, 'LNP | leased B | LIBC | LNP | LNP'],
  ['change B to A', { kind: 'change', id: b, proposedId: a }, 'LNP | leased A | LIM | LNP | LNP'],
  ['change B to C', { kind: 'change', id: b, proposedId: c }, 'LNP | LIM | LIM | LNP | LNP'],
  ['renew A', { kind: 'renew', id: a }, 'LIM | leased A | LBR | LBR | leased A'],
  ['renew B', { kind: 'renew', id: b }, 'LIM | LIM | LIM | LIM | LIM'],
  ['release A', { kind: 'release', id: a }, 'LIM | available | available | available | available'],
  ['release B', { kind: 'release', id: b }, 'LIM | LIM | LIM | LIM | LIM'],
];

describe('a lease operation', () => {
  for (const [what, action, wanted] of operations) {
    it(`does what the table says: ${what}`, () => {
      const found = states.map((state) => outcome(leases[state], action));
      assert.equal(found.join(' | '), wanted);
    });
  }

  it('breaks an infinite lease at once, or after the period', () => {
    assert.equal(outcome(infinite, { kind: 'break' }), 'broken A 0');
    assert.equal(outcome(infinite, { kind: 'break', periodSeconds: 7 }), 'breaking A 7');
  });

  it('starts the time anew with the duration that it is given, or had', () => {
    const acquired = changeLease(
      leases.leased,
      { kind: 'acquire', duration, proposedId: a },
      context,
    );
    assert.deepEqual(acquired.lease, {
      kind: 'fixed',
      id: a,
      seconds: 15,
      endsMicros: now + 15 * second,
    });
    const renewed = changeLease(leases.expired, { kind: 'renew', id: a }, context);
    assert.deepEqual(renewed.lease, {
      kind: 'fixed',
      id: a,
      seconds: 30,
      endsMicros: now + 30 * second,
    });
  });

  it('rounds what a break leaves up to whole seconds', () => {
    const lease: StoredLease = { kind: 'fixed', id: a, seconds: 30, endsMicros: now + 1 };
    assert.equal(outcome(lease, { kind: 'break' }), 'breaking A 1');
  });
});

/** blob-service §10.4, in the order of `states`. */
const uses: readonly (readonly [
  what: string,
  use: 'read' | 'write',
  id: string | undefined,
  ...outcomes: readonly string[],
])[] = [
  ['write with A', 'write', a, 'LNPB', 'ok', 'ok', 'LNPB', 'LNPB'],
  ['write with B', 'write', b, 'LNPB', 'LIMB', 'LIMB', 'LNPB', 'LNPB'],
  ['write, no id', 'write', undefined, 'ok', 'LeaseIdMissing', 'LeaseIdMissing', 'ok', 'ok'],
  ['read with A', 'read', a, 'LNPB', 'ok', 'ok', 'LNPB', 'LNPB'],
  ['read with B', 'read', b, 'LNPB', 'LIMB', 'LIMB', 'LNPB', 'LNPB'],
  ['read, no id', 'read', undefined, 'ok', 'ok', 'ok', 'ok', 'ok'],
];

function used(
  lease: StoredLease | undefined,
  request: { readonly id: string | undefined; readonly use: 'read' | 'write' },
  holder: 'blob' | 'container',
): string {
  try {
    checkLease(lease, request, { holder, nowMicros: now });
    return 'ok';
  } catch (error) {
    assert.ok(error instanceof StorageError);
    assert.equal(error.status, 412);
    return codes[error.code] ?? error.code;
  }
}

describe('a leased resource', () => {
  for (const [what, use, id, ...wanted] of uses) {
    it(`is used as the table says: ${what}`, () => {
      const found = (holder: 'blob' | 'container') =>
        states.map((state) => used(leases[state], { id, use }, holder));
      assert.deepEqual(found('blob'), wanted);
      const ofContainer = wanted.map((code) => code.replace(/^(LNP|LIM)B$/, '$1C'));
      assert.deepEqual(found('container'), ofContainer);
    });
  }

  it('forgets a lease that is over when it is written to', () => {
    const kept = states.filter((state) => leaseAfterWrite(leases[state], now) !== undefined);
    assert.deepEqual(kept, ['leased', 'breaking']);
  });

  it('shows status, state, and the duration only while it is leased', () => {
    const shown = states.map((state) => leaseProperties(leases[state], now));
    assert.deepEqual(shown, [
      { status: 'unlocked', state: 'available' },
      { status: 'locked', state: 'leased', duration: 'fixed' },
      { status: 'locked', state: 'breaking' },
      { status: 'unlocked', state: 'broken' },
      { status: 'unlocked', state: 'expired' },
    ]);
    assert.equal(leaseProperties(infinite, now).duration, 'infinite');
  });
});
