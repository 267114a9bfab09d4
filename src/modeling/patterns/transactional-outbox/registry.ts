import { requireCounts } from '../../definition/count.js';
import { bucketOf } from '../../../placement/hashes/text-hash.js';
import { EntityExistsError, ValueError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { allRows } from '../../table/all-rows.js';

/**
 * The partitions of a table that have an outbox. With it, a relay that missed a hint finds every
 * message without scanning the table.
 */
export interface OutboxRegistry {
  /**
   * Resolves when `partitions` will permanently include the partition. Called before its first
   * message; each outbox remembers up to 10,000 for which it has resolved.
   */
  register(partitionKey: string): Promise<void>;
  /** Every registered partition, at least once. */
  partitions(): AsyncIterable<string>;
}

/** The options of a registry in a table. */
export interface TableRegistryOptions {
  /**
   * Partitions of the registry itself, over which registrations are spread. Must not change after
   * the first one. Default 16.
   */
  readonly buckets?: number;
  /** The prefix of their PartitionKeys; the name of the table and an underscore when absent. */
  readonly partitionPrefix?: string;
}

/**
 * A registry in a table: one row per partition, never deleted. `register` sends one insert;
 * `partitions` sends one range read per bucket, or per 1,000 partitions.
 *
 *   PartitionKey  <table>_<bucket>      RowKey  the partition
 */
export function tableRegistryOf(
  registry: TableGateway,
  table: string,
  { buckets = 16, partitionPrefix = `${table}_` }: TableRegistryOptions = {},
): OutboxRegistry {
  requireCounts({ buckets });
  const bucketKey = (bucket: number) => `${partitionPrefix}${String(bucket).padStart(4, '0')}`;
  return {
    async register(rowKey) {
      const partitionKey = bucketKey(bucketOf(rowKey, buckets));
      try {
        await registry.write({ kind: 'insert', row: { partitionKey, rowKey, properties: {} } });
      } catch (error) {
        if (!(error instanceof EntityExistsError)) throw error;
      }
    },
    async *partitions() {
      for (let bucket = 0; bucket < buckets; bucket += 1) {
        const query = { partitionKey: bucketKey(bucket), select: ['RowKey'] };
        for await (const { rowKey } of allRows(registry, query)) yield rowKey;
      }
    },
  };
}

/** A registry of given partitions, such as hash buckets. Sends nothing. */
export function knownPartitions(partitionKeys: Iterable<string>): OutboxRegistry {
  const known = new Set(partitionKeys);
  return {
    async register(partitionKey) {
      if (!known.has(partitionKey)) {
        throw new ValueError(`'${partitionKey}' is none of the partitions that the outbox knows`);
      }
      await Promise.resolve();
    },
    async *partitions() {
      yield* known;
    },
  };
}
