import type { LeaseProperties } from '../../model/blobs/lease.js';

/** The lease of a blob or container (blob-service §10.2): name, value, name, value, … */
export function leaseHeaders({ status, state, duration }: LeaseProperties): string[] {
  const headers = ['x-ms-lease-status', status, 'x-ms-lease-state', state];
  if (duration !== undefined) headers.push('x-ms-lease-duration', duration);
  return headers;
}
