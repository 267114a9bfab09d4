import { httpDate } from '../http/http-date.js';
import type { ServiceName } from '../../model/services/services.js';
import { LineBytes } from './line-bytes.js';

/** The forms of a line: 1.0 has 30 fields, 2.0 has eight more about tokens. */
export type LogVersion = '1.0' | '2.0';

/** The sender of a request, by its access token; members are absent where the claim is. */
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
  /** In parts that follow each other: to join them takes longer than to write them. */
  readonly url: readonly string[];
  readonly objectKey: readonly string[];
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

/** A part of a line: where its bytes are. */
interface Span {
  readonly start: number;
  readonly end: number;
}

const nothing: Span = { start: 0, end: 0 };

/**
 * Records as lines, each with the line feed that ends it. Most lines have parts in common with the
 * one before, whose bytes are copied.
 */
export class LogText {
  readonly #line = new LineBytes();
  /** The record of the line before, and where its parts are. */
  #last: LogRecord | undefined;
  #second = nothing;
  #end = nothing;
  #parties = nothing;
  #agent = nothing;

  add(record: LogRecord): void {
    this.#addCommonFields(record);
    if (record.version !== '1.0') addBearerFields(this.#line, record);
    this.#line.endLine();
    this.#last = record;
  }

  /** The lines since the last call, in UTF-8. Valid until the next one is added. */
  take(): Buffer {
    this.#last = undefined;
    return this.#line.take();
  }

  /** The fields that both versions have, in order. */
  #addCommonFields(record: LogRecord): void {
    const line = this.#line;
    line.text(record.version);
    this.#addTime(record.startMicros);
    this.#addEnd(record);
    line.number(record.endToEndMs);
    line.number(record.serverMs);
    this.#addParties(record);
    line.quotedParts(record.url);
    line.quotedParts(record.objectKey);
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
    const { lastModifiedMicros, conditions } = record;
    line.text(lastModifiedMicros === undefined ? '' : logDate(lastModifiedMicros));
    line.quoted(conditions.length === 0 ? undefined : conditions.join(';'));
    this.#addAgent(record);
    line.quoted(record.referrer);
    line.quoted(record.clientRequestId);
  }

  /** `2014-06-19T22:59:23.1967767Z`, always with seven digits. */
  #addTime(micros: number): void {
    const line = this.#line;
    const second = Math.floor(micros / 1_000_000);
    if (this.#last !== undefined && second === Math.floor(this.#last.startMicros / 1_000_000)) {
      line.repeat(this.#second.start, this.#second.end);
    } else {
      const start = line.at;
      line.begin(new Date(second * 1000).toISOString().slice(0, 19));
      this.#second = { start, end: line.at };
    }
    line.fraction(micros % 1_000_000);
  }

  /** How the request ended. */
  #addEnd(record: LogRecord): void {
    const line = this.#line;
    const { operation, requestStatus, httpStatus } = record;
    const last = this.#last;
    const isSame = last?.operation === operation && last.requestStatus === requestStatus;
    if (isSame && last.httpStatus === httpStatus) {
      line.repeat(this.#end.start, this.#end.end);
      return;
    }
    const start = line.at;
    line.plain(operation);
    line.plain(requestStatus);
    if (httpStatus === undefined) line.text('Unknown');
    else line.number(httpStatus);
    this.#end = { start, end: line.at };
  }

  /** Adds the fields about the client and the server. */
  #addParties(record: LogRecord): void {
    const line = this.#line;
    const { authentication, requesterAccount, ownerAccount, service } = record;
    const last = this.#last;
    const isSame = last?.ownerAccount === ownerAccount && last.service === service;
    const isBySame = last?.requesterAccount === requesterAccount;
    if (isSame && isBySame && last.authentication === authentication) {
      line.repeat(this.#parties.start, this.#parties.end);
      return;
    }
    const start = line.at;
    line.text(authentication);
    line.plain(requesterAccount);
    line.plain(ownerAccount);
    line.text(service);
    this.#parties = { start, end: line.at };
  }

  #addAgent({ userAgent }: LogRecord): void {
    const line = this.#line;
    if (this.#last !== undefined && this.#last.userAgent === userAgent) {
      line.repeat(this.#agent.start, this.#agent.end);
      return;
    }
    const start = line.at;
    line.quoted(userAgent);
    this.#agent = { start, end: line.at };
  }
}

/** The fields that 2.0 adds. The last two are reserved, and for assignments of roles. */
function addBearerFields(line: LineBytes, { bearer = {} }: LogRecord): void {
  const { objectId, tenantId, applicationId, audience, issuer, userPrincipalName } = bearer;
  const known = [objectId, tenantId, applicationId, audience, issuer, userPrincipalName];
  for (const value of [...known, undefined, undefined]) line.quoted(value);
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
  const second = Math.floor(micros / 1_000_000);
  const slot = Math.abs(second % rememberedDates);
  const last = lastDates[slot];
  if (last?.second === second) return last.text;
  const text = writtenDate(micros);
  lastDates[slot] = { second, text };
  return text;
}

/** Times of repeated reads have few different dates. */
const rememberedDates = 61;
const lastDates: { readonly second: number; readonly text: string }[] = [];

function writtenDate(micros: number): string {
  const [weekday = '', day, month, year = '', time] = httpDate(micros).split(' ');
  const name = weekdays[weekday.slice(0, 3)] ?? weekday;
  return `${name}, ${day}-${month}-${year.slice(-2)} ${time} GMT`;
}
