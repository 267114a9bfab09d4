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
 * The targets that Azure publishes for a storage account and its tables ("Scalability and
 * performance targets for Table storage"): 2,000 entities/s a partition, 20,000 requests/s and 500
 * TiB an account. A page holds at most 1,000 entities and 4 MiB.
 */
export const cloudTargets: ServiceTargets = Object.freeze({
  partitionEntitiesPerSecond: 2_000,
  accountRequestsPerSecond: 20_000,
  accountBytes: 500 * 2 ** 40,
  pageEntities: 1_000,
  pageBytes: 4 * 2 ** 20,
});
