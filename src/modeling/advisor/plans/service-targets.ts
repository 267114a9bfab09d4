import type { KnownSystem } from '../../../placement/limits/known-limit.js';
import { limitOf } from '../../../placement/limits/known-limits.js';

/**
 * The load that a service is meant to carry, and the bounds of its pages. Targets are not exact
 * limits: beyond them the service answers 503. Other servers have others, so a caller can give
 * them.
 */
export interface ServiceTargets {
  /** Entities of 1 KiB per second, in one partition. */
  readonly partitionEntitiesPerSecond: number;
  /** Requests per second in one account, with entities of 1 KiB. */
  readonly accountRequestsPerSecond: number;
  /** Bytes in one account. */
  readonly accountBytes: number;
  /** Entities in one page. */
  readonly pageEntities: number;
  /** Bytes of entities in one page. */
  readonly pageBytes: number;
}

/**
 * The targets that Azure publishes for a storage account and its tables, as `knownLimits` has them
 * with source and date, and the bounds of a page.
 */
export const cloudTargets: ServiceTargets = Object.freeze({
  partitionEntitiesPerSecond: published('table', 'partition-rate'),
  accountRequestsPerSecond: published('storage-account', 'account-rate'),
  accountBytes: published('storage-account', 'account-bytes'),
  pageEntities: 1_000,
  pageBytes: 4 * 2 ** 20,
});

function published(system: KnownSystem, name: string): number {
  return limitOf({ system, name })?.value ?? Infinity;
}
