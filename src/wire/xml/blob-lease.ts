import type { LeaseProperties } from '../../model/blobs/lease.js';
import { element } from './element.js';

/** The lease of nearly all blobs. */
const unleased = element('LeaseStatus', 'unlocked') + element('LeaseState', 'available');

/** The lease of a container or a blob in a list (blob-service §6.1, §8.3). */
export function leaseElements({ status, state, duration }: LeaseProperties): string {
  if (status === 'unlocked' && state === 'available' && duration === undefined) return unleased;
  const shown = element('LeaseStatus', status) + element('LeaseState', state);
  return duration === undefined ? shown : shown + element('LeaseDuration', duration);
}
