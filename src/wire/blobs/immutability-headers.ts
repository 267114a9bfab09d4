import {
  immutabilityOf,
  type Immutability,
  type ImmutabilityPolicy,
  type PolicyMode,
} from '../../model/blobs/immutability.js';
import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import { httpDate, parseHttpDate } from '../http/http-date.js';
import { booleanHeader, type HeaderLookup } from './header-values.js';

// Policies and legal holds in headers (blob-service §15.5).

const untilHeader = 'x-ms-immutability-policy-until-date';
const modeHeader = 'x-ms-immutability-policy-mode';
const holdHeader = 'x-ms-legal-hold';

/** The longest retention of the cloud service: 400 years. */
const policyDaysMax = 146_000;
const msPerDay = 24 * 60 * 60 * 1000;

/** Values that request no immutability. */
const asksForNothing: ReadonlySet<string> = new Set(['', 'false']);

/**
 * The first header, and its value, by which a request gives a blob a policy or a legal hold, which
 * needs a permission of its own; undefined when it gives neither.
 */
export function givenImmutability(
  header: HeaderLookup,
): readonly [name: string, value: string] | undefined {
  for (const name of [untilHeader, modeHeader, holdHeader]) {
    const value = header(name);
    if (value !== undefined && !asksForNothing.has(value.toLowerCase())) return [name, value];
  }
  return undefined;
}

const modes: readonly PolicyMode[] = ['unlocked', 'locked'];

/**
 * The policy of a request; undefined when it has none. An unlocked one, unless the mode says
 * otherwise.
 *
 * @throws {StorageError} `InvalidHeaderValue` for a date that is none, has passed or is more than
 * `policyDaysMax` away, and for another mode; `MissingRequiredHeader` for a mode without a date
 */
export function policyHeaders(
  header: HeaderLookup,
  nowMicros: number,
): ImmutabilityPolicy | undefined {
  const [until, mode] = [given(header, untilHeader), given(header, modeHeader)];
  if (until === undefined) {
    if (mode !== undefined) throw missingHeader(untilHeader);
    return undefined;
  }
  const ms = parseHttpDate(until);
  const nowMs = nowMicros / 1000;
  if (ms === undefined || ms <= nowMs || ms > nowMs + policyDaysMax * msPerDay) {
    throw invalidHeader(untilHeader, until);
  }
  return { untilSeconds: ms / 1000, mode: mode === undefined ? 'unlocked' : modeOf(mode) };
}

/** As `policyHeaders`, of a request that needs a policy. */
export function neededPolicyHeaders(header: HeaderLookup, nowMicros: number): ImmutabilityPolicy {
  const policy = policyHeaders(header, nowMicros);
  if (policy === undefined) throw missingHeader(untilHeader);
  return policy;
}

function modeOf(text: string): PolicyMode {
  const mode = modes.find((each) => each === text.toLowerCase());
  if (mode === undefined) throw invalidHeader(modeHeader, text);
  return mode;
}

/** @throws {StorageError} `MissingRequiredHeader`, `InvalidHeaderValue` */
export function legalHoldHeader(header: HeaderLookup): boolean {
  const hold = booleanHeader(header, holdHeader);
  if (hold === undefined) throw missingHeader(holdHeader);
  return hold;
}

/**
 * The immutability that a write requests for a blob; undefined when it requests none. Throws as
 * `policyHeaders`.
 */
export function immutabilityHeaders(
  header: HeaderLookup,
  nowMicros: number,
): Immutability | undefined {
  const hold = booleanHeader((name) => given(header, name), holdHeader);
  return immutabilityOf(policyHeaders(header, nowMicros), hold === true);
}

/** Clients send some headers without a value. */
function given(header: HeaderLookup, name: string): string | undefined {
  const text = header(name);
  return text === '' ? undefined : text;
}

/** The headers of an answer that tell a policy. */
export function answeredPolicy({ untilSeconds, mode }: ImmutabilityPolicy): string[] {
  return [untilHeader, httpDate(untilSeconds * 1_000_000), modeHeader, mode];
}

/** The header of an answer that tells whether there is a legal hold. */
export function answeredHold(hasLegalHold: boolean): string[] {
  return [holdHeader, String(hasLegalHold)];
}

/** The headers of an answer about the immutability of a blob. */
export function answeredImmutability({ policy, hasLegalHold }: Immutability): string[] {
  return [
    ...(policy === undefined ? [] : answeredPolicy(policy)),
    ...(hasLegalHold ? answeredHold(true) : []),
  ];
}
