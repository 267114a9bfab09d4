import { ModelError } from '../../rows/model-error.js';

/**
 * A shard map routes to a shard that this program has no table for, or a list knows no shard of a
 * key. Nothing was sent to a shard.
 */
export class UnknownShardError extends ModelError {
  override readonly name = 'UnknownShardError';
  /** Undefined: the key has none. */
  readonly shard: string | undefined;

  constructor(message: string, shard: string | undefined) {
    super(message);
    this.shard = shard;
  }
}

/** The map is not the one that a step was planned with, or another program has taken a step. */
export class StaleMapError extends ModelError {
  override readonly name = 'StaleMapError';
}

/** A partition was being handed over for longer than a write waits. Nothing was applied. */
export class PartitionClosedError extends ModelError {
  override readonly name = 'PartitionClosedError';
}
