import type { Comparison } from './filter-node.js';
import { odataConjunct, whereStored, type Filter } from './filter.js';

/** Keys between bounds, in ordinal order. All bounds given must hold. */
export interface KeyBounds {
  /** The least key, itself included. */
  readonly from?: string | undefined;
  /** The least key, itself excluded. */
  readonly after?: string | undefined;
  /** The greatest key, itself excluded. */
  readonly before?: string | undefined;
  /** The greatest key, itself included. */
  readonly to?: string | undefined;
}

/** Selects rows of a table. Everything given must hold; with nothing given, all rows. */
export interface RowSelection {
  /** One partition, or those between bounds. */
  readonly partitionKey?: string | KeyBounds | undefined;
  /** One RowKey, or those between bounds. */
  readonly rowKey?: string | KeyBounds | undefined;
  readonly where?: Filter | undefined;
  /** A condition as OData. Nothing in it makes a read of one partition. */
  readonly filter?: string | undefined;
}

/** The keys behind a position within them, or from it on. */
export function keysBehind(
  keys: string | KeyBounds | undefined,
  position: string,
  isIncluded = false,
): KeyBounds {
  const { before, to } = typeof keys === 'string' ? { to: keys } : (keys ?? {});
  return { before, to, ...(isIncluded ? { from: position } : { after: position }) };
}

/** The OData of a selection; empty for all rows. */
export function odataOfSelection({ partitionKey, rowKey, where, filter }: RowSelection): string {
  const conditions = [
    ...comparisonsOf('PartitionKey', partitionKey),
    ...comparisonsOf('RowKey', rowKey),
    ...(where === undefined ? [] : [where]),
  ].map(odataConjunct);
  if (filter === undefined || filter.trim() === '') return conditions.join(' and ');
  return conditions.length === 0 ? filter : [...conditions, `(${filter})`].join(' and ');
}

const operators = { from: 'ge', after: 'gt', before: 'lt', to: 'le' } as const;

type KeyName = 'PartitionKey' | 'RowKey';

/** The condition that a row has one of these keys; true for every row when there are no bounds. */
export function whereKeys(name: KeyName, keys: string | KeyBounds | undefined): Filter {
  const [first = whereKey(name, 'ge', ''), ...others] = comparisonsOf(name, keys);
  return others.length === 0 ? first : first.and(...others);
}

function comparisonsOf(
  name: KeyName,
  keys: string | KeyBounds | undefined = {},
): readonly Filter[] {
  if (typeof keys === 'string') return [whereKey(name, 'eq', keys)];
  return (['from', 'after', 'before', 'to'] as const).flatMap((bound) => {
    const key = keys[bound];
    return key === undefined ? [] : [whereKey(name, operators[bound], key)];
  });
}

function whereKey(name: KeyName, operator: Comparison, value: string): Filter {
  return whereStored(name, operator, { type: 'String', value });
}
