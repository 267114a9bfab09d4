import type { LeaseProperties } from '../../model/blobs/lease.js';
import { etagHeader } from '../../wire/blobs/etag.js';
import { httpDate } from '../../wire/http/http-date.js';

/** `ETag` and `Last-Modified` of a blob or container: name, value, name, value. */
export function modifiedHeaders(modifiedMicros: number): string[] {
  return ['ETag', etagHeader(modifiedMicros), 'Last-Modified', httpDate(modifiedMicros)];
}

/** The lease of a blob or container (blob-service §10.2): name, value, name, value, … */
export function leaseHeaders({ status, state, duration }: LeaseProperties): string[] {
  const headers = ['x-ms-lease-status', status, 'x-ms-lease-state', state];
  if (duration !== undefined) headers.push('x-ms-lease-duration', duration);
  return headers;
}
