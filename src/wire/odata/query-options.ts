import type { Filter } from '../edm/filter.js';
import { StorageError } from '../errors/storage-error.js';
import { decodeToken } from './continuation.js';
import { parseFilter, parseTableFilter } from './filter-parser.js';
import { decodeOnce } from './percent.js';

/** Query options by name, decoded; the first of a name counts (spec table-service §1.4). */
export type QueryOptions = ReadonlyMap<string, string>;

const none: QueryOptions = new Map<string, string>();

function decodePart(text: string): string {
  return decodeOnce(text.includes('+') ? text.replaceAll('+', ' ') : text);
}

/**
 * Reads a query string, without its `?`. `+` is a space, `%24` a `$`. Throws `InvalidInput` for
 * malformed percent encoding. Options without `=` have an empty value.
 */
export function parseQueryString(raw: string): QueryOptions {
  if (raw === '') return none;
  const options = new Map<string, string>();
  for (let start = 0; start < raw.length;) {
    let end = raw.indexOf('&', start);
    if (end < 0) end = raw.length;
    if (end > start) addOption(options, raw.slice(start, end));
    start = end + 1;
  }
  return options;
}

function addOption(options: Map<string, string>, part: string): void {
  const equals = part.indexOf('=');
  const name = decodePart(equals < 0 ? part : part.slice(0, equals));
  if (!options.has(name)) options.set(name, equals < 0 ? '' : decodePart(part.slice(equals + 1)));
}

/** What every query says about its page and its rendering. */
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
  /** The first table name to consider. */
  readonly from?: string;
}

/** The value of an option; undefined when it is absent or empty. */
function filled(options: QueryOptions, name: string): string | undefined {
  const value = options.get(name);
  return value === '' ? undefined : value;
}

export const topMax = 1000;
export const timeoutSecondsMax = 30;
/** Names in `$select`, at most. */
export const selectNamesMax = 255;

const digits = /^[0-9]{1,9}$/;

function parseTop(options: QueryOptions): number | undefined {
  const text = filled(options, '$top');
  if (text === undefined) return undefined;
  const top = digits.test(text) ? Number(text) : Infinity;
  if (top > topMax) throw new StorageError('InvalidInput');
  return top;
}

/** Seconds that a request may take; more than 30, and 0, mean 30 (spec §10.4). */
export function parseTimeout(options: QueryOptions): number | undefined {
  const text = filled(options, 'timeout');
  if (text === undefined) return undefined;
  if (!digits.test(text)) throw new StorageError('InvalidQueryParameterValue');
  const seconds = Number(text);
  return seconds === 0 ? timeoutSecondsMax : Math.min(seconds, timeoutSecondsMax);
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

/** OData options that the service does not have. */
const unsupported = ['$orderby', '$skip', '$expand', '$count', '$inlinecount'] as const;

function parsePage(options: QueryOptions): PageOptions {
  for (const name of unsupported) {
    if (options.has(name)) throw new StorageError('NotImplemented');
  }
  const top = parseTop(options);
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
export function parseEntityQuery(options: QueryOptions): EntityQueryOptions {
  const page = parsePage(options);
  const filter = parseFilter(options.get('$filter') ?? '');
  const from = parseFrom(options);
  return {
    ...page,
    select: parseSelect(page.selectText),
    ...(filter === undefined ? {} : { filter }),
    ...(from === undefined ? {} : { from }),
  };
}

/** The options of a get of one entity, where `$filter`, `$top` and tokens mean nothing. */
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

/** What ends the name in a table token; the service lets an internal version follow. */
const tableTokenEnd = '\u0001';

/** The options of a query of tables; throws as `parseEntityQuery` does. */
export function parseTableQuery(options: QueryOptions): TableQueryOptions {
  const page = parsePage(options);
  const filter = parseTableFilter(options.get('$filter') ?? '');
  const token = filled(options, 'NextTableName');
  const from = token === undefined ? undefined : decodeToken(token).split(tableTokenEnd, 1)[0];
  return {
    ...page,
    ...(filter === undefined ? {} : { filter }),
    ...(from === undefined ? {} : { from }),
  };
}
