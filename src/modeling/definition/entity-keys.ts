import { DecodeError, ValueError } from '../rows/model-error.js';
import type { RowKey } from '../rows/row.js';
import type { AnyDefinition } from './entity-definition.js';
import type { Values } from './entity-fields.js';
import {
  formatKey,
  parseKey,
  prefixOf,
  rangeOfPrefix,
  type KeyRange,
  type KeyTemplate,
} from './key-template.js';

/** The keys of a definition's entities. Errors name its type. */
export class EntityKeys {
  readonly #type: string;
  readonly #partitionKey: KeyTemplate;
  readonly #rowKey: KeyTemplate;
  /** Whether both keys carry a value, so that they can contradict each other. */
  readonly #overlap: boolean;

  constructor({ type, partitionKey, rowKey }: AnyDefinition) {
    this.#type = type;
    this.#partitionKey = partitionKey;
    this.#rowKey = rowKey;
    const names = new Set(partitionKey.parts.map(({ property }) => property));
    this.#overlap = rowKey.parts.some(({ property }) => names.has(property));
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

  /** Undefined for keys that the definition did not write. */
  parse(key: RowKey): Values | undefined {
    const row = parseKey(this.#rowKey, key.rowKey);
    const partition =
      row === undefined ? undefined : parseKey(this.#partitionKey, key.partitionKey);
    if (partition === undefined) return undefined;
    const values = { ...partition, ...row };
    const isSame = !this.#overlap || formatKey(this.#partitionKey, values) === key.partitionKey;
    return isSame ? values : undefined;
  }

  /** Throws `DecodeError` for keys that the definition did not write. */
  read(key: RowKey): Values {
    const values = this.parse(key);
    if (values !== undefined) return values;
    throw new DecodeError(
      `The row ('${key.partitionKey}', '${key.rowKey}') has keys that ${this.#type} does not have`,
    );
  }

  /** The RowKeys whose leading parts have these values; undefined when every RowKey has. */
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
