import type { Filter } from '../../model/edm/filter.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { filled, parseTimeout, type QueryOptions } from '../http/query-string.js';
import { decodeToken } from './continuation.js';
import { parseFilter, parseTableFilter } from './filter-parser.js';

/** The common options of queries: page and rendering. */
interface PageOptions {
  /** 0…1,000. */
  readonly top?: number;
  /** `$format`, when present and not empty. */
  readonly format: string | undefined;
  /** `$select` as sent, decoded; empty when it was sent empty. Shown in `odata.metadata`. */
  readonly selectText: string | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** A query of entities; also a query as the table service takes it. */
export interface EntityQueryOptions extends PageOptions {
  readonly filter?: Filter;
  /** The next entity to return; without a row key, the beginning of that partition. */
  readonly from?: { readonly partitionKey: string; readonly rowKey?: string };
  /** Names to return, each once, in the order asked; undefined for all properties. */
  readonly select: readonly string[] | undefined;
}

/** A query of tables; also a query as the table service takes it. */
export interface TableQueryOptions extends PageOptions {
  readonly filter?: Filter;
  /** The first table name to return. */
  readonly from?: string;
}

export const topMax = 1000;
/** Names in `$select`, at most. */
export const selectNamesMax = 255;

/** Relaxations in reading query options. */
export interface QueryRules {
  /** True: a `$top` over the maximum means a full page instead of an error. */
  readonly limitsTop: boolean;
  /** True: unsupported options are ignored instead of refused. */
  readonly ignoresUnsupported: boolean;
}

/** The rules of the cloud service (table-service §1.4 and §3.9). */
export const cloudQueryRules: QueryRules = Object.freeze({
  limitsTop: false,
  ignoresUnsupported: false,
});

const digits = /^[0-9]{1,9}$/;

function parseTop(options: QueryOptions, { limitsTop }: QueryRules): number | undefined {
  const text = filled(options, '$top');
  if (text === undefined) return undefined;
  const top = digits.test(text) ? Number(text) : Infinity;
  if (top <= topMax) return top;
  if (limitsTop && top !== Infinity) return topMax;
  throw new StorageError('InvalidInput');
}

function parseSelect(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const names = new Set<string>();
  for (const part of text.split(',')) {
    const name = part.trim();
    if (name === '*') return undefined;
    if (name !== '') names.add(name);
  }
  if (names.size > selectNamesMax) throw new StorageError('InvalidInput');
  return names.size === 0 ? undefined : [...names];
}

/** OData options that the service does not support. */
const unsupported = ['$orderby', '$skip', '$expand', '$count', '$inlinecount'] as const;

function parsePage(options: QueryOptions, rules: QueryRules): PageOptions {
  if (!rules.ignoresUnsupported) {
    for (const name of unsupported) {
      if (options.has(name)) throw new StorageError('NotImplemented');
    }
  }
  const top = parseTop(options, rules);
  return {
    format: filled(options, '$format'),
    selectText: options.get('$select'),
    timeoutSeconds: parseTimeout(options),
    ...(top === undefined ? {} : { top }),
  };
}

function parseFrom(options: QueryOptions): EntityQueryOptions['from'] {
  const partitionToken = filled(options, 'NextPartitionKey');
  if (partitionToken === undefined) return undefined;
  const partitionKey = decodeToken(partitionToken);
  const rowToken = filled(options, 'NextRowKey');
  return rowToken === undefined
    ? { partitionKey }
    : { partitionKey, rowKey: decodeToken(rowToken) };
}

/**
 * The options of a query of entities. Empty `$filter`, `$select`, `$top`,
 * `NextPartitionKey` and `NextRowKey` are absent. Throws `InvalidInput`, `NotImplemented` for OData
 * options that the service lacks, and what `parseFilter` throws.
 */
export function parseEntityQuery(
  options: QueryOptions,
  rules: QueryRules = cloudQueryRules,
): EntityQueryOptions {
  const page = parsePage(options, rules);
  const filter = parseFilter(options.get('$filter') ?? '');
  const from = parseFrom(options);
  return {
    ...page,
    select: parseSelect(page.selectText),
    ...(filter === undefined ? {} : { filter }),
    ...(from === undefined ? {} : { from }),
  };
}

/** The options of a get of one entity, which ignores `$filter`, `$top` and tokens. */
export interface EntityReadOptions extends Omit<PageOptions, 'top'> {
  readonly select: readonly string[] | undefined;
}

export function parseEntityRead(options: QueryOptions): EntityReadOptions {
  const selectText = options.get('$select');
  return {
    format: filled(options, '$format'),
    selectText,
    select: parseSelect(selectText),
    timeoutSeconds: parseTimeout(options),
  };
}

/** The end of the name in a table token; the service appends an internal version. */
const tableTokenEnd = '\u0001';

/** The options of a query of tables; throws as `parseEntityQuery` does. */
export function parseTableQuery(
  options: QueryOptions,
  rules: QueryRules = cloudQueryRules,
): TableQueryOptions {
  const page = parsePage(options, rules);
  const filter = parseTableFilter(options.get('$filter') ?? '');
  const token = filled(options, 'NextTableName');
  const from = token === undefined ? undefined : decodeToken(token).split(tableTokenEnd, 1)[0];
  return {
    ...page,
    ...(filter === undefined ? {} : { filter }),
    ...(from === undefined ? {} : { from }),
  };
}
