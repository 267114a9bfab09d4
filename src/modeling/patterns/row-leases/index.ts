// Leases of rows. See docs/guides/patterns/row-leases.md.

export { LeaseHeldError } from './lease-held-error.js';
export type { RowLease } from './row-lease.js';
export {
  type RowLeases,
  rowLeasesOf,
  type AcquireOptions,
  type LeaseHolder,
  type RowLeasesOptions,
} from './row-leases.js';
