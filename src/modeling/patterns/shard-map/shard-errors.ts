import { ModelError } from '../../rows/model-error.js';

/** A partition on another shard than that of the map. */
export interface MisplacedPartition {
  readonly partitionKey: string;
  readonly shard: string;
  /** Undefined: the map has no shard for it. */
  readonly home: string | undefined;
}

/**
 * A shard map routes to a shard without a table in this program, or a list has no shard for a key.
 * Nothing was sent to a shard.
 */
export class UnknownShardError extends ModelError {
  override readonly name = 'UnknownShardError';
  /** Undefined: the key has no shard. */
  readonly shard: string | undefined;

  constructor(message: string, shard: string | undefined) {
    super(message);
    this.shard = shard;
  }
}

/** For a shard that a call names, and that is not among those of the program. */
export function noTable(shard: string): UnknownShardError {
  return new UnknownShardError(`this program has no table for the shard '${shard}'`, shard);
}

/** A shard has failed, or exceeded the time limit, in a query over several. `cause` says why. */
export class ShardQueryError extends ModelError {
  override readonly name = 'ShardQueryError';
  readonly shard: string;

  constructor(message: string, shard: string, cause: unknown) {
    super(message, { cause });
    this.shard = shard;
  }
}

/** The map is not the one that a step was planned with, or another program has called a step. */
export class StaleMapError extends ModelError {
  override readonly name = 'StaleMapError';
}

/** A partition was being handed over for longer than a write waits. Nothing was applied. */
export class PartitionClosedError extends ModelError {
  override readonly name = 'PartitionClosedError';
}

/** The table belongs to another shard map, or is another shard of this one. Nothing was changed. */
export class ShardTakenError extends ModelError {
  override readonly name = 'ShardTakenError';
}

/** A table has rows where its first map would not look for them. Nothing was changed. */
export class MisplacedRowsError extends ModelError {
  override readonly name = 'MisplacedRowsError';
  readonly partitionKey: string;
  /** Where the rows are. */
  readonly shard: string;
  /** Where the map would look for them; undefined: nowhere. */
  readonly home: string | undefined;

  constructor(message: string, { partitionKey, shard, home }: MisplacedPartition) {
    super(message);
    this.partitionKey = partitionKey;
    this.shard = shard;
    this.home = home;
  }
}

/** A copy of the control table could not be brought up to date. `cause` says why. */
export class MapCopyError extends ModelError {
  override readonly name = 'MapCopyError';
}
