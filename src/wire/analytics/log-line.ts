import { httpDate } from '../http/http-date.js';
import { wellFormed } from '../http/percent.js';
import type { ServiceName } from '../../model/services/services.js';

/** The forms of a line: 1.0 has 30 fields, 2.0 has eight more about tokens. */
export type LogVersion = '1.0' | '2.0';

/** Who sent a request, by an access token; absent members are claims that it has not. */
export interface LoggedBearer {
  readonly objectId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly applicationId?: string | undefined;
  readonly audience?: string | undefined;
  readonly issuer?: string | undefined;
  readonly userPrincipalName?: string | undefined;
}

/** One record of a log (blob-service §21.3, §21.4). An absent or empty value is an empty field. */
export interface LogRecord {
  readonly version: LogVersion;
  /** Microseconds since 1970. */
  readonly startMicros: number;
  readonly operation: string;
  readonly requestStatus: string;
  /** Undefined: the connection ended before the answer did. */
  readonly httpStatus: number | undefined;
  /** Whole milliseconds. */
  readonly endToEndMs: number;
  readonly serverMs: number;
  readonly authentication: 'authenticated' | 'anonymous' | 'sas' | 'bearer';
  readonly requesterAccount: string | undefined;
  readonly ownerAccount: string;
  readonly service: ServiceName;
  readonly url: string;
  readonly objectKey: string;
  readonly requestId: string;
  /** The index of this record among those of its request. */
  readonly operationIndex: number;
  readonly clientAddress: string | undefined;
  readonly protocolVersion: string;
  readonly requestHeadBytes: number;
  readonly requestBodyBytes: number;
  readonly responseHeadBytes: number;
  readonly responseBodyBytes: number;
  readonly contentLength: number | undefined;
  readonly requestMd5: string | undefined;
  readonly serverMd5: string | undefined;
  readonly etag: string | undefined;
  /** Microseconds since 1970; a part of a second is not shown. */
  readonly lastModifiedMicros: number | undefined;
  /** `Name=value` of each conditional header. */
  readonly conditions: readonly string[];
  readonly userAgent: string | undefined;
  readonly referrer: string | undefined;
  readonly clientRequestId: string | undefined;
  /** In lines of version 2.0. */
  readonly bearer: LoggedBearer | undefined;
}

/** A record as a line, with the line feed that ends it. */
export function logLine(record: LogRecord): string {
  return `${commonFields(record)}${record.version === '1.0' ? '' : bearerFields(record)}\n`;
}

/** The fields that both versions have, in order. */
function commonFields(record: LogRecord): string {
  const { lastModifiedMicros, contentLength, conditions } = record;
  const { version, httpStatus = 'Unknown', endToEndMs, serverMs, authentication } = record;
  // One text of all fields: a list of thirty to join takes twice as long.
  return (
    `${version};${startTime(record.startMicros)};${plain(record.operation)};` +
    `${plain(record.requestStatus)};${httpStatus};${endToEndMs};${serverMs};${authentication};` +
    `${plain(record.requesterAccount)};${plain(record.ownerAccount)};${record.service};` +
    `${quoted(record.url)};${quoted(record.objectKey)};${plain(record.requestId)};` +
    `${record.operationIndex};${plain(record.clientAddress)};${plain(record.protocolVersion)};` +
    `${record.requestHeadBytes};${record.requestBodyBytes};` +
    `${record.responseHeadBytes};${record.responseBodyBytes};${contentLength ?? ''};` +
    `${quoted(record.requestMd5)};${quoted(record.serverMd5)};${quoted(record.etag)};` +
    `${lastModifiedMicros === undefined ? '' : logDate(lastModifiedMicros)};` +
    `${conditions.length === 0 ? '' : quoted(conditions.join(';'))};` +
    `${quoted(record.userAgent)};${quoted(record.referrer)};${quoted(record.clientRequestId)}`
  );
}

/** The fields that 2.0 adds. The last two are reserved, and for assignments of roles. */
function bearerFields({ bearer = {} }: LogRecord): string {
  const { objectId, tenantId, applicationId, audience, issuer, userPrincipalName } = bearer;
  const known = [objectId, tenantId, applicationId, audience, issuer, userPrincipalName];
  return `;${known.map(quoted).join(';')};;`;
}

/** `2014-06-19T22:59:23.1967767Z`, always with seven digits. */
function startTime(micros: number): string {
  const second = Math.floor(micros / 1_000_000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastSecondText = new Date(second * 1000).toISOString().slice(0, 19);
  }
  return `${lastSecondText}.${String(micros % 1_000_000).padStart(6, '0')}0Z`;
}

/** Requests of one second follow each other, so its text is cached. */
let lastSecond = Number.NaN;
let lastSecondText = '';

const weekdays: Readonly<Record<string, string>> = {
  Mon: 'Monday',
  Tue: 'Tuesday',
  Wed: 'Wednesday',
  Thu: 'Thursday',
  Fri: 'Friday',
  Sat: 'Saturday',
  Sun: 'Sunday',
};

/** `Thursday, 19-Jun-14 22:58:10 GMT` (blob-service §21.3). */
export function logDate(micros: number): string {
  if (micros === lastDateMicros) return lastDate;
  lastDateMicros = micros;
  lastDate = writtenDate(micros);
  return lastDate;
}

/** What is read again and again has one date. */
let lastDateMicros = Number.NaN;
let lastDate = '';

function writtenDate(micros: number): string {
  const [weekday = '', day, month, year = '', time] = httpDate(micros).split(' ');
  const name = weekdays[weekday.slice(0, 3)] ?? weekday;
  return `${name}, ${day}-${month}-${year.slice(-2)} ${time} GMT`;
}

// The control characters are what is looked for.
// oxlint-disable-next-line no-control-regex -- matches what must not stand in a line
const encodedInQuotes = /[&"<>\u0000-\u001f\u007f]/g;

/** The common case: printable ASCII that needs no encoding. */
const harmless = /^[ !#-%'-;=?-~]*$/;

const named: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '"': '&quot;',
  '<': '&lt;',
  '>': '&gt;',
};

/** A value in quotes; an absent or empty one is an empty field. A semicolon may stand in it. */
function quoted(value: string | undefined): string {
  if (value === undefined || value === '') return '';
  if (harmless.test(value)) return `"${value}"`;
  const text = wellFormed(value).replaceAll(
    encodedInQuotes,
    (character) => named[character] ?? `&#${character.charCodeAt(0)};`,
  );
  return `"${text}"`;
}

const unreserved = /^[\w.:\-[\]]*$/;

/** A value without quotes: what would end the field or the line is percent-encoded. */
function plain(value: string | undefined): string {
  if (value === undefined) return '';
  return unreserved.test(value)
    ? value
    : encodeURIComponent(wellFormed(value)).replaceAll('%3A', ':');
}
