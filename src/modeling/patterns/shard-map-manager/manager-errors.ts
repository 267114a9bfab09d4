import { ModelError } from '../../rows/model-error.js';

/** The shard is read-only or offline, or detached. Nothing was applied. */
export class ShardClosedError extends ModelError {
  override readonly name = 'ShardClosedError';
  readonly shard: string;

  constructor(message: string, shard: string) {
    super(message);
    this.shard = shard;
  }
}

/** The program's schema or key type is not that of the map. Nothing was sent to a shard. */
export class MapSchemaError extends ModelError {
  override readonly name = 'MapSchemaError';
}

/** Something of a manager is still in use, or is not there. Nothing was changed. */
export class ManagerError extends ModelError {
  override readonly name = 'ManagerError';
}

/** An operation cannot go on: cancelled, failed or of another change. */
export class OperationError extends ModelError {
  override readonly name = 'OperationError';
}
