import type { Comparable, SimValue } from './values.js';

/** What the server must store, according to the protocol. */

export interface ModelEntity {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly etag: string;
  readonly properties: ReadonlyMap<string, SimValue>;
}

export type SentProperty = readonly [name: string, value: SimValue | undefined];

/** The value of If-Match; `malformed` is no etag. */
export type SimCondition =
  | { readonly kind: 'absent' }
  | { readonly kind: 'any' }
  | { readonly kind: 'etag'; readonly etag: string }
  | { readonly kind: 'malformed'; readonly text: string };

export interface SimWrite {
  readonly kind: 'insert' | 'put' | 'merge' | 'delete';
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly condition: SimCondition;
  readonly properties: readonly SentProperty[];
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  /**
   * True when the front end finds it: then a group response always has its index (table-service
   * §9.5).
   */
  readonly isValidation: boolean;
}

export function refusal(status: number, code: string, isValidation = false): Refusal {
  return { status, code, isValidation };
}

/** Negative, 0 or positive; NaN when one of the values is NaN. */
export function compare(left: Comparable, right: Comparable): number {
  if (left < right) return -1;
  if (left > right) return 1;
  // oxlint-disable-next-line eqeqeq -- an Int32 literal may stand against an Int64 property
  return left == right ? 0 : Number.NaN;
}

export function compareEntities(
  left: Pick<ModelEntity, 'partitionKey' | 'rowKey'>,
  right: Pick<ModelEntity, 'partitionKey' | 'rowKey'>,
): number {
  return compare(left.partitionKey, right.partitionKey) || compare(left.rowKey, right.rowKey);
}

/**
 * The timestamp in an etag, with seven digits of fraction and without Z, so that it sorts as text.
 */
export function stampOf(etag: string): string {
  const [, whole, fraction = ''] =
    /^W\/"datetime'(\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d)\.(\d{7})Z'"$/.exec(etag) ?? [];
  if (whole === undefined) throw new Error(`no etag of the service: ${etag}`);
  return `${whole.replaceAll('%3A', ':')}.${fraction}`;
}

export function entityStamp(entity: ModelEntity): string {
  return stampOf(entity.etag);
}

/** The Timestamp property of an entity with this etag. */
export function timestampOf(etag: string): string {
  return etag.slice(`W/"datetime'`.length, -2).replaceAll('%3A', ':');
}

/** One table: entities by their keys. */
export class ModelTable {
  readonly name: string;
  readonly #entities = new Map<string, ModelEntity>();

  constructor(name: string) {
    this.name = name;
  }

  get(partitionKey: string, rowKey: string): ModelEntity | undefined {
    return this.#entities.get(keyOf(partitionKey, rowKey));
  }

  /** In the order of query results. */
  sorted(): ModelEntity[] {
    return [...this.#entities.values()].sort(compareEntities);
  }

  values(): ModelEntity[] {
    return [...this.#entities.values()];
  }

  get size(): number {
    return this.#entities.size;
  }

  /**
   * The refusal of a write; undefined when it must succeed (table-service §2.3, §2.8, §3.11 to
   * §3.13).
   */
  refusalOf(write: SimWrite): Refusal | undefined {
    const existing = this.get(write.partitionKey, write.rowKey);
    const isConditional = write.kind !== 'insert' && write.condition.kind !== 'absent';
    if (!isConditional && (isTooLong(write.partitionKey) || isTooLong(write.rowKey))) {
      return refusal(400, 'PropertyValueTooLarge');
    }
    if (write.properties.length > 252) return refusal(400, 'TooManyProperties', true);
    if (write.properties.some(([, value]) => isValueTooLarge(value))) {
      return refusal(400, 'PropertyValueTooLarge');
    }
    if (write.kind === 'insert') {
      return existing === undefined ? undefined : refusal(409, 'EntityAlreadyExists');
    }
    if (write.condition.kind === 'absent') return undefined;
    if (existing === undefined) return refusal(404, 'ResourceNotFound');
    if (write.condition.kind === 'etag' && write.condition.etag !== existing.etag) {
      return refusal(412, 'UpdateConditionNotSatisfied');
    }
    return undefined;
  }

  /** Applies a write that `refusalOf` allowed. `etag` is undefined only for a deletion. */
  apply(write: SimWrite, etag: string | undefined): void {
    const { partitionKey, rowKey } = write;
    const key = keyOf(partitionKey, rowKey);
    if (write.kind === 'delete' || etag === undefined) {
      this.#entities.delete(key);
      return;
    }
    const kept = write.kind === 'merge' ? (this.#entities.get(key)?.properties ?? []) : [];
    const properties = new Map(kept);
    for (const [name, value] of write.properties) {
      if (value !== undefined) properties.set(name, value);
    }
    this.#entities.set(key, { partitionKey, rowKey, etag, properties });
  }
}

/**
 * The refusal of a write whatever the table holds: the front end finds it first (table-service
 * §3.3).
 */
export function syntaxRefusal(write: SimWrite): Refusal | undefined {
  if (write.kind === 'insert') {
    return isForbidden(write.partitionKey) || isForbidden(write.rowKey)
      ? refusal(400, 'OutOfRangeInput', true)
      : undefined;
  }
  const inUrl = urlKeysRefusal(write.partitionKey, write.rowKey);
  if (inUrl !== undefined) return inUrl;
  if (write.condition.kind === 'malformed') return refusal(400, 'InvalidInput', true);
  if (write.kind === 'delete' && write.condition.kind === 'absent') {
    return refusal(400, 'MissingRequiredHeader', true);
  }
  return undefined;
}

/** True when a text has a character that no key may have (table-service §2.3). */
function isForbidden(text: string): boolean {
  return /[/\\#?]|\p{Cc}/u.test(text);
}

/** The rows of table-service §2.3 about keys in URLs. */
export function urlKeysRefusal(partitionKey: string, rowKey: string): Refusal | undefined {
  const both = partitionKey + rowKey;
  if (/[/\\]/.test(both)) return refusal(400, 'InvalidInput', true);
  if (isForbidden(both)) return refusal(400, 'OutOfRangeInput', true);
  return undefined;
}

function isTooLong(key: string): boolean {
  return key.length > 512;
}

function isValueTooLarge(value: SimValue | undefined): boolean {
  return value?.type === 'Edm.String' && String(value.comparable).length > 32_768;
}

function keyOf(partitionKey: string, rowKey: string): string {
  return JSON.stringify([partitionKey, rowKey]);
}

/** The tables of the account, by lower-cased name. */
export class ModelAccount {
  readonly #tables = new Map<string, ModelTable>();

  find(name: string): ModelTable | undefined {
    return this.#tables.get(name.toLowerCase());
  }

  /** In the order of Query Tables. */
  sorted(): ModelTable[] {
    return [...this.#tables.entries()]
      .sort(([left], [right]) => compare(left, right))
      .map(([, table]) => table);
  }

  createRefusal(name: string): Refusal | undefined {
    if (name.toLowerCase() === 'tables') return refusal(400, 'InvalidInput', true);
    if (name.length < 3 || name.length > 63) return refusal(400, 'OutOfRangeInput', true);
    if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) return refusal(400, 'InvalidResourceName', true);
    return this.find(name) === undefined ? undefined : refusal(409, 'TableAlreadyExists');
  }

  create(name: string): void {
    this.#tables.set(name.toLowerCase(), new ModelTable(name));
  }

  drop(name: string): void {
    this.#tables.delete(name.toLowerCase());
  }
}
