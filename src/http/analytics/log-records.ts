import { callerPrefixes, type CallerKind } from '../../model/analytics/request-status.js';
import { logDate, type LogRecord, type LogVersion } from '../../wire/analytics/log-line.js';
import { parseHttpDate } from '../../wire/http/http-date.js';
import type { RequestDetail } from '../exchange/record.js';
import type { EndedRequest } from './ended-request.js';

/** From this version on, the log has the error code of a request (blob-service §21.5). */
const errorCodesSince = '2017-04-17';

/**
 * Whether requests like this one are logged. Failed anonymous requests are not, except for failures
 * of the server, and for GET answered with 304 (blob-service §21.1).
 */
export function isLogged({ record, caller, outcome }: EndedRequest): boolean {
  if (caller !== 'anonymous') return true;
  switch (outcome) {
    case 'Success':
    case 'ServerOtherError':
    case 'ServerTimeoutError':
    case 'ClientTimeoutError':
      return true;
    default:
      return record.status === 304 && record.method === 'GET';
  }
}

/** The log records of a request, in order: three for a copy, otherwise one (blob-service §21.6). */
export function logRecordsOf(request: EndedRequest, version: LogVersion): readonly LogRecord[] {
  const first = logRecordOf(request, version);
  if (first.operation !== 'CopyBlob') return [first];
  const further = { ...first, etag: undefined, lastModifiedMicros: undefined };
  const source = request.detail.requestHeader('x-ms-copy-source') ?? '';
  return [
    first,
    {
      ...further,
      operation: 'CopyBlobSource',
      objectKey: [withoutQuery(source)],
      operationIndex: 1,
    },
    { ...further, operation: 'CopyBlobDestination', operationIndex: 2 },
  ];
}

function logRecordOf(request: EndedRequest, version: LogVersion): LogRecord {
  const { record, account, detail, outcome, caller } = request;
  const isByToken = detail.credential === 'bearer';
  const lastModified = parseHttpDate(detail.responseHeader('last-modified') ?? '');
  return {
    version,
    startMicros: record.timeMicros,
    operation: request.operation,
    requestStatus: requestStatus(request, version),
    httpStatus: outcome === 'NetworkError' ? undefined : record.status,
    endToEndMs: Math.round(record.serverTimeMs),
    serverMs: Math.round(detail.serverMs),
    authentication: authenticationOf(caller, isByToken && version === '2.0'),
    requesterAccount: caller === 'owner' ? account : undefined,
    ownerAccount: account,
    service: record.service,
    url: detail.urlParts,
    objectKey: objectKeyOf(request),
    requestId: record.requestId,
    operationIndex: 0,
    clientAddress: detail.clientAddress,
    protocolVersion: detail.version,
    requestHeadBytes: detail.requestHeadBytes,
    requestBodyBytes: record.bytesReceived,
    responseHeadBytes: detail.responseHeadBytes,
    responseBodyBytes: record.bytesSent,
    contentLength: contentLengthOf(detail),
    requestMd5:
      detail.requestHeader('content-md5') ?? detail.requestHeader('x-ms-blob-content-md5'),
    serverMd5: detail.responseHeader('content-md5'),
    etag: detail.responseHeader('etag'),
    lastModifiedMicros: lastModified === undefined ? undefined : lastModified * 1000,
    conditions: conditionsOf(detail),
    userAgent: detail.requestHeader('user-agent'),
    referrer: detail.requestHeader('referer'),
    clientRequestId: record.clientRequestId,
    bearer: detail.bearer,
  };
}

/** The error code of a client error, or the outcome with the prefix of the caller. */
function requestStatus(
  { record, detail, outcome, caller }: EndedRequest,
  version: LogVersion,
): string {
  const hasCode = outcome === 'ClientOtherError' && detail.version >= errorCodesSince;
  if (hasCode && record.errorCode !== undefined) return record.errorCode;
  if (version === '2.0' && detail.credential === 'bearer') return `OAuth${outcome}`;
  return `${callerPrefixes[caller]}${outcome}`;
}

function authenticationOf(caller: CallerKind, isBearer: boolean): LogRecord['authentication'] {
  if (isBearer) return 'bearer';
  if (caller === 'owner') return 'authenticated';
  return caller;
}

/** `/account/container/blob`, or down to the queue or table (blob-service §21.3). */
function objectKeyOf({ record, account }: EndedRequest): readonly string[] {
  const { service, resource, partitionKey } = record;
  if (resource === undefined) return ['/', account];
  if (service !== 'blob' || partitionKey === undefined) return ['/', account, '/', resource];
  return ['/', account, '/', resource, '/', partitionKey];
}

function contentLengthOf(detail: RequestDetail): number | undefined {
  const length = detail.requestHeader('content-length');
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

/** By the names that headers are looked up by. */
const conditionNames = [
  ['if-match', 'If-Match'],
  ['if-none-match', 'If-None-Match'],
  ['if-modified-since', 'If-Modified-Since'],
  ['if-unmodified-since', 'If-Unmodified-Since'],
] as const;

const noConditions: readonly string[] = [];

function conditionsOf(detail: RequestDetail): readonly string[] {
  let conditions: string[] | undefined;
  for (const [header, name] of conditionNames) {
    const value = detail.requestHeader(header);
    if (value === undefined) continue;
    const date = parseHttpDate(value);
    const shown = date === undefined ? value : logDate(date * 1000);
    conditions ??= [];
    conditions.push(`${name}=${shown}`);
  }
  return conditions ?? noConditions;
}

/** The query of a URL may have a signature. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '');
}
