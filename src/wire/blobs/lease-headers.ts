import {
  leaseSecondsMax,
  leaseSecondsMin,
  type LeaseAction,
  type LeaseDuration,
} from '../../model/blobs/lease.js';
import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import type { HeaderLookup } from './header-values.js';

const actionHeader = 'x-ms-lease-action';
const idHeader = 'x-ms-lease-id';
const proposedIdHeader = 'x-ms-proposed-lease-id';
const durationHeader = 'x-ms-lease-duration';
const periodHeader = 'x-ms-lease-break-period';

const dashed = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const undashed = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;
const enclosed = /^(?:\{(.*)\}|\((.*)\))$/;

/**
 * The id of a lease in a header, in lower case with dashes, whichever form of a GUID it has
 * (blob-service §10.1); undefined when the header is absent. Throws `InvalidHeaderValue`.
 */
export function leaseIdOf(header: HeaderLookup, name = idHeader): string | undefined {
  const text = header(name);
  if (text === undefined) return undefined;
  const lower = text.toLowerCase();
  const [, braced, parenthesised] = enclosed.exec(lower) ?? [];
  const inner = braced ?? parenthesised;
  if (dashed.test(inner ?? lower)) return inner ?? lower;
  // Only with dashes may it be enclosed.
  const groups = inner === undefined ? undashed.exec(lower) : null;
  if (groups === null) throw invalidHeader(name, text);
  return groups.slice(1).join('-');
}

/** The action that a request names, in lower case; an unknown text is returned as it is. */
export function leaseActionName(header: HeaderLookup): string | undefined {
  return header(actionHeader)?.toLowerCase();
}

/**
 * What a request does to a lease (blob-service §10.1).
 *
 * @throws {StorageError} `MissingRequiredHeader`, `InvalidHeaderValue`
 */
export function readLeaseAction(header: HeaderLookup): LeaseAction {
  const kind = leaseActionName(header);
  switch (kind) {
    case 'acquire': {
      const duration = durationOf(header);
      const proposedId = leaseIdOf(header, proposedIdHeader);
      return { kind, duration, ...(proposedId === undefined ? {} : { proposedId }) };
    }
    case 'renew':
    case 'release':
      return { kind, id: requiredId(header, idHeader) };
    case 'change': {
      const id = requiredId(header, idHeader);
      return { kind, id, proposedId: requiredId(header, proposedIdHeader) };
    }
    case 'break': {
      const text = header(periodHeader);
      if (text === undefined) return { kind };
      return { kind, periodSeconds: secondsOf(periodHeader, text, 0) };
    }
    case undefined:
      throw missingHeader(actionHeader);
    default:
      throw invalidHeader(actionHeader, header(actionHeader) ?? '');
  }
}

function durationOf(header: HeaderLookup): LeaseDuration {
  const text = header(durationHeader);
  if (text === undefined) throw missingHeader(durationHeader);
  if (text === '-1') return 'infinite';
  return { seconds: secondsOf(durationHeader, text, leaseSecondsMin) };
}

function secondsOf(name: string, text: string, min: number): number {
  const seconds = /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= min && seconds <= leaseSecondsMax) return seconds;
  throw invalidHeader(name, text);
}

function requiredId(header: HeaderLookup, name: string): string {
  const id = leaseIdOf(header, name);
  if (id === undefined) throw missingHeader(name);
  return id;
}
