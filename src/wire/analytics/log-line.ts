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
  const fields =
    record.version === '1.0' ? fieldsOf(record) : [...fieldsOf(record), ...bearerFields(record)];
  return `${fields.join(';')}\n`;
}

/** The fields that both versions have, in order. */
function fieldsOf(record: LogRecord): readonly string[] {
  const { lastModifiedMicros, contentLength } = record;
  return [
    record.version,
    startTime(record.startMicros),
    plain(record.operation),
    plain(record.requestStatus),
    record.httpStatus === undefined ? 'Unknown' : String(record.httpStatus),
    String(record.endToEndMs),
    String(record.serverMs),
    record.authentication,
    plain(record.requesterAccount),
    plain(record.ownerAccount),
    record.service,
    quoted(record.url),
    quoted(record.objectKey),
    plain(record.requestId),
    String(record.operationIndex),
    plain(record.clientAddress),
    plain(record.protocolVersion),
    String(record.requestHeadBytes),
    String(record.requestBodyBytes),
    String(record.responseHeadBytes),
    String(record.responseBodyBytes),
    contentLength === undefined ? '' : String(contentLength),
    quoted(record.requestMd5),
    quoted(record.serverMd5),
    quoted(record.etag),
    lastModifiedMicros === undefined ? '' : logDate(lastModifiedMicros),
    quoted(record.conditions.join(';')),
    quoted(record.userAgent),
    quoted(record.referrer),
    quoted(record.clientRequestId),
  ];
}

/** The fields that 2.0 adds. The last two are reserved, and for assignments of roles. */
function bearerFields({ bearer = {} }: LogRecord): readonly string[] {
  return [
    quoted(bearer.objectId),
    quoted(bearer.tenantId),
    quoted(bearer.applicationId),
    quoted(bearer.audience),
    quoted(bearer.issuer),
    quoted(bearer.userPrincipalName),
    '',
    '',
  ];
}

/** `2014-06-19T22:59:23.1967767Z`, always with seven digits. */
function startTime(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(micros % 1_000_000).padStart(6, '0')}0Z`;
}

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

/** A value without quotes: what would end the field or the line is percent-encoded. */
function plain(value: string | undefined): string {
  if (value === undefined) return '';
  return /^[\w.:\-[\]]*$/.test(value)
    ? value
    : encodeURIComponent(wellFormed(value)).replaceAll('%3A', ':');
}
