import type { RowKey } from '../../rows/row.js';
import { ModelError, type ModelErrorOptions } from '../../table/errors.js';

/**
 * Another entity has the value in an index that allows each value once. For an index in the
 * entity's partition, nothing was written. For one elsewhere, the entity has no index row until one
 * of the two changes and the index is rebuilt.
 */
export class IndexValueTakenError extends ModelError {
  override readonly name = 'IndexValueTakenError';
  /** The name of the index. */
  readonly index: string;
  /** The row of the index. */
  readonly key: RowKey;

  constructor(index: string, key: RowKey, options?: ModelErrorOptions) {
    super(
      `the index '${index}' has a row ('${key.partitionKey}', '${key.rowKey}') of another entity; ` +
        'its keys must tell entities apart',
      options,
    );
    this.index = index;
    this.key = key;
  }
}
