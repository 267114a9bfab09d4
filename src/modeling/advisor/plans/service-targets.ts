/**
 * What the cloud service promises to carry, and where its answers end. Targets, not limits that it
 * enforces to the number: past them it answers 503. Another server has others, so a caller can give
 * them.
 */
export interface ServiceTargets {
  /** Entities a second in one partition, of 1 KiB each. */
  readonly partitionEntitiesPerSecond: number;
  /** Requests a second in one account, of entities of 1 KiB. */
  readonly accountRequestsPerSecond: number;
  /** Bytes in one account. */
  readonly accountBytes: number;
  /** Entities in one answer. */
  readonly pageEntities: number;
  /** Bytes of entities in one answer. */
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
