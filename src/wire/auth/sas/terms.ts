import { parseUtcTime, ticksFromMicros } from '../../../model/edm/date-time.js';
import { StorageError } from '../../../model/errors/storage-error.js';
import { authenticationFailed } from '../../../model/errors/authentication-failed.js';
import type { SasFields } from './fields.js';
import { ipInRange, parseIpRange, type IpRange } from './ip-range.js';

/** The validity period of a signature, in microseconds since 1970; an open end is undefined. */
export interface SasWindow {
  /** The first moment. */
  readonly startMicros: number | undefined;
  /** The first moment after it. */
  readonly expiryMicros: number | undefined;
}

/**
 * The period of `st` and `se`, which come from the signature or from its stored policy.
 *
 * @throws {StorageError} `AuthenticationFailed` for a malformed time
 */
export function sasWindow({ start, expiry }: Pick<SasFields, 'start' | 'expiry'>): SasWindow {
  return { startMicros: timeOf('st', start), expiryMicros: timeOf('se', expiry) };
}

/**
 * Microseconds since 1970 of a time in a signature: a date, or with a time to the minute, the
 * second or up to seven fraction digits, and then a zone (queue-service §4.3).
 */
export function parseSasTime(text: string): number | undefined {
  const ticks = parseUtcTime(text);
  return ticks === undefined ? undefined : Number((ticks - ticksFromMicros(0)) / 10n);
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const micros = parseSasTime(text);
  if (micros !== undefined) return micros;
  throw authenticationFailed(
    `${name} is '${text}'; it must be a UTC time such as 2009-09-28 or 2009-09-28T08:49:37Z.`,
  );
}

/**
 * Checks `st` <= now < `se` (queue-service §4.3). There is no tolerance for clock skew: signers
 * leave `st` out or set it back.
 *
 * @throws {StorageError} `AuthenticationFailed`
 */
export function checkSasWindow(
  { startMicros = -Infinity, expiryMicros = Infinity }: SasWindow,
  nowMicros: number,
): void {
  if (startMicros <= nowMicros && nowMicros < expiryMicros) return;
  throw authenticationFailed(
    'Signature not valid in the specified time frame: ' +
      `Start [${momentText(startMicros)}] - Expiry [${momentText(expiryMicros)}] - ` +
      `Current [${momentText(nowMicros)}].`,
  );
}

function momentText(micros: number): string {
  return Number.isFinite(micros) ? new Date(micros / 1000).toUTCString() : '';
}

/**
 * Checks the protocol of a request against `spr`; without it both are allowed.
 *
 * @throws {StorageError} `AuthorizationProtocolMismatch`
 */
export function checkSasProtocol(
  { protocol }: Pick<SasFields, 'protocol'>,
  isHttps: boolean,
): void {
  if (isHttps || protocol === undefined || allowsHttp(protocol)) return;
  throw new StorageError('AuthorizationProtocolMismatch');
}

/**
 * Checks the address of a request against `sip`; without it every address is allowed.
 *
 * @throws {StorageError} `AuthorizationSourceIPMismatch`
 */
export function checkSasAddress({ ip }: Pick<SasFields, 'ip'>, address: string): void {
  if (ip === undefined || ipInRange(rangeOf(ip), address)) return;
  throw new StorageError('AuthorizationSourceIPMismatch', {
    message: `This request is not authorized to perform this operation using this source IP ${address}.`,
  });
}

function allowsHttp(protocol: string): boolean {
  switch (protocol) {
    case 'https':
      return false;
    case 'https,http':
    case 'http,https':
      return true;
    default:
      throw authenticationFailed(`spr is '${protocol}'; it must be https or https,http.`);
  }
}

function rangeOf(ip: string): IpRange {
  const range = parseIpRange(ip);
  if (range !== undefined) return range;
  throw authenticationFailed(
    `sip is '${ip}'; it must be an IPv4 address or a range of them such as 10.0.0.1-10.0.0.9.`,
  );
}

/**
 * Checks that the fields for time, protocol and address are well formed.
 *
 * @throws {StorageError} `AuthenticationFailed` with a detail that names the field
 */
export function checkSasTerms(fields: SasFields): void {
  sasWindow(fields);
  if (fields.protocol !== undefined) allowsHttp(fields.protocol);
  if (fields.ip !== undefined) rangeOf(fields.ip);
}
