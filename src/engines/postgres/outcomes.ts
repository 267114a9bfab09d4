import { invariant, unreachable } from '../../base/invariant.js';
import { readSafeInteger, safeIntegerBytes, writeSafeInteger } from '../../base/safe-integer.js';
import { GuardError } from '../../kv/errors.js';
import type { CommitResult } from '../../kv/store.js';

/**
 * The outcome of a commit of a batch. `no-counter`: it was not applied, because the result of one
 * of its additions is no counter. `alone`: it was not applied, because an addition of another
 * commit to the same counter may be the invalid one; it is tried again alone.
 */
export type Outcome =
  | { readonly kind: 'result'; readonly result: CommitResult }
  | { readonly kind: 'guard'; readonly error: GuardError }
  | { readonly kind: 'no-counter' }
  | { readonly kind: 'alone' };

const numbersEach = 3;
const outcomeBytes = numbersEach * safeIntegerBytes;

/**
 * The length of the short form, for a batch whose commits were all applied: the version of the
 * first, and their number.
 */
const wholeBytes = 2 * safeIntegerBytes;

/** Decodes the result of a batch function, in the order of the commits. */
export function decodeOutcomes(bytes: Buffer): readonly Outcome[] {
  if (bytes.length === wholeBytes) return decodeWhole(bytes);
  invariant(bytes.length % outcomeBytes === 0, 'outcomes have three numbers each');
  const outcomes: Outcome[] = [];
  for (let at = 0; at < bytes.length; at += outcomeBytes) outcomes.push(decodeOutcome(bytes, at));
  return outcomes;
}

function decodeWhole(bytes: Buffer): readonly Outcome[] {
  const base = readSafeInteger(bytes, 0, 'the first version of a batch');
  const count = readSafeInteger(bytes, safeIntegerBytes, 'the number of its commits');
  return Array.from({ length: count }, (_, at) => appliedAt(base + at));
}

function appliedAt(version: number): Outcome {
  return { kind: 'result', result: { ok: true, version } };
}

/** The inverse of `decodeOutcomes`. */
export function encodeOutcomes(outcomes: readonly Outcome[]): Buffer {
  const base = firstOfWhole(outcomes);
  if (base !== undefined) return encodeWhole(base, outcomes.length);
  const bytes = Buffer.allocUnsafe(outcomes.length * outcomeBytes);
  for (const [index, outcome] of outcomes.entries()) {
    for (const [place, number] of numbersOf(outcome).entries()) {
      writeSafeInteger(bytes, number, index * outcomeBytes + place * safeIntegerBytes);
    }
  }
  return bytes;
}

/** The version of the first commit, when all were applied with consecutive versions. */
function firstOfWhole(outcomes: readonly Outcome[]): number | undefined {
  const [first] = outcomes;
  if (first?.kind !== 'result' || !first.result.ok) return undefined;
  const { version } = first.result;
  const follows = (outcome: Outcome, at: number): boolean =>
    outcome.kind === 'result' && outcome.result.ok && outcome.result.version === version + at;
  return outcomes.every(follows) ? version : undefined;
}

function encodeWhole(base: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(wholeBytes);
  writeSafeInteger(bytes, base, 0);
  writeSafeInteger(bytes, count, safeIntegerBytes);
  return bytes;
}

function numbersOf(outcome: Outcome): readonly [number, number, number] {
  switch (outcome.kind) {
    case 'result': {
      const { result } = outcome;
      if (result.ok) return [statuses.indexOf('applied'), result.version, 0];
      return [statuses.indexOf('check'), result.failedCheck, orAbsent(result.actual)];
    }
    case 'guard':
      return [statuses.indexOf('guard'), 0, orAbsent(outcome.error.actual)];
    case 'no-counter':
    case 'alone':
      return [statuses.indexOf(outcome.kind), 0, 0];
    default:
      return unreachable(outcome);
  }
}

function orAbsent(actual: number | 'absent'): number {
  return actual === 'absent' ? -1 : actual;
}

const statuses = ['applied', 'check', 'guard', 'no-counter', 'alone'] as const;

function decodeOutcome(bytes: Buffer, at: number): Outcome {
  const numberAt = (place: number) =>
    readSafeInteger(bytes, at + place * safeIntegerBytes, 'a number of an outcome');
  const status = statuses[numberAt(0)];
  const [first, second] = [numberAt(1), numberAt(2)];
  const actual = second === -1 ? 'absent' : second;
  invariant(status !== undefined, 'the outcome of a commit has a known status');
  switch (status) {
    case 'applied':
      return appliedAt(first);
    case 'check':
      return { kind: 'result', result: { ok: false, failedCheck: first, actual } };
    case 'guard':
      return { kind: 'guard', error: new GuardError(actual) };
    case 'no-counter':
    case 'alone':
      return { kind: status };
    default:
      return unreachable(status);
  }
}
