import { httpDate } from '../http/http-date.js';
import type { ServiceName } from '../../model/services/services.js';
import { LineBytes } from './line-bytes.js';

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

/** A record as a line, with the line feed that ends it. Valid until the next call. */
export function logLine(record: LogRecord): Buffer {
  addCommonFields(record);
  if (record.version !== '1.0') addBearerFields(record);
  return line.end();
}

/** One line at a time is made. */
const line = new LineBytes();

/** The fields that both versions have, in order. */
function addCommonFields(record: LogRecord): void {
  const { httpStatus, lastModifiedMicros, conditions } = record;
  line.text(record.version);
  addTime(record.startMicros);
  line.plain(record.operation);
  line.plain(record.requestStatus);
  if (httpStatus === undefined) line.text('Unknown');
  else line.number(httpStatus);
  line.number(record.endToEndMs);
  line.number(record.serverMs);
  line.text(record.authentication);
  line.plain(record.requesterAccount);
  line.plain(record.ownerAccount);
  line.text(record.service);
  line.quoted(record.url);
  line.quoted(record.objectKey);
  line.plain(record.requestId);
  line.number(record.operationIndex);
  line.plain(record.clientAddress);
  line.plain(record.protocolVersion);
  line.number(record.requestHeadBytes);
  line.number(record.requestBodyBytes);
  line.number(record.responseHeadBytes);
  line.number(record.responseBodyBytes);
  line.number(record.contentLength);
  line.quoted(record.requestMd5);
  line.quoted(record.serverMd5);
  line.quoted(record.etag);
  line.text(lastModifiedMicros === undefined ? '' : logDate(lastModifiedMicros));
  line.quoted(conditions.length === 0 ? undefined : conditions.join(';'));
  line.quoted(record.userAgent);
  line.quoted(record.referrer);
  line.quoted(record.clientRequestId);
}

/** The fields that 2.0 adds. The last two are reserved, and for assignments of roles. */
function addBearerFields({ bearer = {} }: LogRecord): void {
  const { objectId, tenantId, applicationId, audience, issuer, userPrincipalName } = bearer;
  const known = [objectId, tenantId, applicationId, audience, issuer, userPrincipalName];
  for (const value of [...known, undefined, undefined]) line.quoted(value);
}

/** `2014-06-19T22:59:23.1967767Z`, always with seven digits. */
function addTime(micros: number): void {
  const second = Math.floor(micros / 1_000_000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastSecondText = new Date(second * 1000).toISOString().slice(0, 19);
  }
  line.time(lastSecondText, micros % 1_000_000);
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
