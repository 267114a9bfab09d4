import { DecodeError, ValueError } from '../rows/model-error.js';
import type { RowKey } from '../rows/row.js';
import type { AnyDefinition } from './entity-definition.js';
import type { Values } from './entity-fields.js';
import {
  formatKey,
  parseKeyInto,
  prefixOf,
  rangeOfPrefix,
  type KeyRange,
  type KeyTemplate,
} from './key-template.js';

/** Formats and parses the keys of a definition. Errors name its type. */
export class EntityKeys {
  readonly #type: string;
  readonly #partitionKey: KeyTemplate;
  readonly #rowKey: KeyTemplate;

  constructor({ type, partitionKey, rowKey }: AnyDefinition) {
    this.#type = type;
    this.#partitionKey = partitionKey;
    this.#rowKey = rowKey;
  }

  format(values: Values): RowKey {
    return this.#named(() => ({
      partitionKey: formatKey(this.#partitionKey, values),
      rowKey: formatKey(this.#rowKey, values),
    }));
  }

  formatPartition(values: Values): string {
    return this.#named(() => formatKey(this.#partitionKey, values));
  }

  /** Undefined for keys that do not match the templates. */
  parse(key: RowKey): Values | undefined {
    const values: Record<string, unknown> = {};
    const isOwn =
      parseKeyInto(values, this.#partitionKey, key.partitionKey) &&
      parseKeyInto(values, this.#rowKey, key.rowKey);
    return isOwn ? values : undefined;
  }

  /** Throws `DecodeError` for keys that do not match the templates. */
  read(key: RowKey): Values {
    const values = this.parse(key);
    if (values !== undefined) return values;
    throw new DecodeError(
      `The row ('${key.partitionKey}', '${key.rowKey}') has keys that ${this.#type} does not have`,
    );
  }

  /**
   * The range of RowKeys whose leading parts have these values; undefined when it is all RowKeys.
   */
  rowKeyRange(leading: Values): KeyRange | undefined {
    return rangeOfPrefix(this.#named(() => prefixOf(this.#rowKey, leading)));
  }

  #named<R>(work: () => R): R {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw new ValueError(`${this.#type}: ${error.message}`);
    }
  }
}
