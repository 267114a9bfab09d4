// Leases of rows. See docs/guides/patterns/row-leases.md.

export { LeaseHeldError } from './lease-held-error.js';
export { RowLease } from './row-lease.js';
export {
  RowLeases,
  rowLeasesOf,
  type AcquireOptions,
  type LeaseHolder,
  type RowLeasesOptions,
} from './row-leases.js';
