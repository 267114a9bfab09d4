import { requireCounts } from '../../definition/count.js';
import { systemClock, type Clock } from '../../../base/clock.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { requireChoice } from '../../definition/choice.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import { DefinitionError, ValueError } from '../../rows/model-error.js';
import { entitiesOf } from '../../table/entities.js';
import { pageRowsMax, type TableGateway } from '../../table/gateway.js';
import { planScan, type TableScan } from '../../table/query-plan.js';
import { QueryDeadline } from './query-deadline.js';
import { ShardQueryError } from './shard-errors.js';
import { checkOrder, topRows, type ShardQueryOrder } from './shard-top.js';
import { rowsAsTheyCome, rowsInKeyOrder, type ShardSource } from './shard-merge.js';
import type { ShardViews } from './shard-view.js';

/** An entity, and the shard that it came from. */
export interface ShardRow<E> {
  readonly shard: string;
  readonly entity: E;
}

/** A shard that has not given all of its rows. */
export interface ShardFailure {
  readonly shard: string;
  readonly error: unknown;
}

export interface ShardQueryOptions {
  /** Only these shards; all of the map when absent. `ValueError` for one that the map has not. */
  readonly shards?: readonly string[];
  /**
   * Only the shards of these keys, as the texts that the map routes: `map.textOf(key)` of a managed
   * map. Not with `shards`. `ValueError` for one that has none.
   */
  readonly keys?: readonly string[];
  /**
   * `keys`: by PartitionKey and RowKey over all shards, which are read side by side, with pages
   * that are together no larger than those of `parallel` shards. `none`, when absent: as rows come.
   */
  readonly order?: 'keys' | 'none';
  /**
   * The first rows in the order of a property. All rows are read before the first is given. Not
   * with `order: 'keys'`.
   */
  readonly orderBy?: ShardQueryOrder;
  /** How many shards are asked at once, from 1; 8 when absent. */
  readonly parallel?: number;
  /**
   * `fail`, when absent: throws at the first shard that fails. `report`: goes on with the others,
   * and `failures` names those that failed, whose rows may be there in part.
   */
  readonly partial?: 'fail' | 'report';
  /**
   * How long all of it may take, in milliseconds. Shards that are not done then have failed; with
   * `order: 'keys'` the rows of their pages that have been read are given. Where not even the map
   * is read by then, `DeadlinePassedError` is thrown.
   */
  readonly deadlineMs?: number;
  /** Names the query in errors. */
  readonly label?: string;
  /** The system's when absent. */
  readonly clock?: Clock;
  readonly timers?: Timers;
}

const parallelDefault = 8;

/** Of the options that no query has. */
const optionNames: readonly string[] = [
  'shards',
  'keys',
  'order',
  'orderBy',
  'parallel',
  'partial',
  'deadlineMs',
  'label',
] satisfies readonly (keyof ShardQueryOptions)[];

/**
 * A query over shards that has not run yet: each iteration runs it, one range read for a page of
 * each shard. It holds as many rows as `parallel` pages at most, and those of `orderBy`. A page
 * of a shard that takes partitions over may cost a range read more; up to two pages are held for
 * those that are given in the place of their former shard's.
 */
export interface ShardQuery<E> extends AsyncIterable<ShardRow<E>> {
  /** The shards that failed in the latest iteration, as far as that is; each once. */
  readonly failures: readonly ShardFailure[];
}

/**
 * The entities of a definition on several shards of a map, each with its shard. While partitions
 * move, a row comes once: from where its partition was when the iteration first met it, but with
 * the former shard where the iteration was past it on the new one. Rows that programs write
 * meanwhile may be there or not. Sends nothing yet; throws what a query of one table throws when it
 * cannot be.
 *
 * Throws `ShardQueryError`, which names the shard, when a shard fails and results are not partial;
 * no request is sent for rows behind it.
 */
export function shardQueryOf<D extends AnyDefinition>(
  definition: D,
  map: { readonly views: () => Promise<ShardViews> },
  query: TableScan<D> = {},
  options: ShardQueryOptions = {},
): ShardQuery<Stored<ReadOf<D>>> {
  const { parallel = parallelDefault } = options;
  requireCounts({ parallel });
  requireChoice('partial', options.partial, ['fail', 'report']);
  requireChoice('order', options.order, ['keys', 'none']);
  const misplaced = optionNames.find((name) => name in query);
  if (misplaced !== undefined) {
    throw new DefinitionError(`${misplaced} is an option: give it behind the query`);
  }
  // A query that cannot be is no failure of a shard.
  planScan(definition, query, undefined);
  if (options.orderBy !== undefined) checkOrder(definition, options.orderBy);
  refuseTwo('shards', options.shards, 'keys', options.keys);
  refuseTwo('orderBy', options.orderBy, "order: 'keys'", options.order === 'keys' || undefined);
  let failures: readonly ShardFailure[] = [];
  return {
    get failures() {
      return failures;
    },
    [Symbol.asyncIterator]() {
      const found: ShardFailure[] = [];
      failures = found;
      return run(definition, map, query, options, parallel, found);
    },
  };
}

async function* run<D extends AnyDefinition>(
  definition: D,
  map: { readonly views: () => Promise<ShardViews> },
  query: TableScan<D>,
  options: ShardQueryOptions,
  parallel: number,
  failures: ShardFailure[],
): AsyncGenerator<ShardRow<Stored<ReadOf<D>>>, void, undefined> {
  const { clock = systemClock, timers = holdingTimers, deadlineMs } = options;
  const deadline = new QueryDeadline(deadlineMs, { clock, timers });
  try {
    const views = await deadline.wait(map.views());
    const shards = chosen(views, options);
    const isInOrder = options.order === 'keys';
    const pageRows = isInOrder ? sharedPage(shards.length, parallel) : pageRowsMax;
    const sources = shards.map((shard): ShardSource<Stored<ReadOf<D>>> => ({
      shard,
      rows: entitiesOn(definition, views, shard, { query, pageRows, deadline }),
    }));
    const onFailure = (shard: string, error: unknown): void => {
      if (options.partial === 'report') failures.push(Object.freeze({ shard, error }));
      else throw failureOf(shard, error, options.label);
    };
    const merge = { deadline, onFailure, parallel };
    const rows = isInOrder ? rowsInKeyOrder(sources, merge) : rowsAsTheyCome(sources, merge);
    yield* options.orderBy === undefined ? rows : topRows(rows, options.orderBy);
  } finally {
    deadline.close();
  }
}

function refuseTwo(one: string, first: unknown, other: string, second: unknown): void {
  if (first === undefined || second === undefined) return;
  throw new ValueError(`a query over shards has ${one} or ${other}, not both`);
}

/**
 * The rows of a page of each shard, so that the pages of all `shards` shards together have as many
 * rows as `parallel` full pages.
 */
function sharedPage(shards: number, parallel: number): number {
  const share = Math.floor((pageRowsMax * parallel) / Math.max(1, shards));
  return Math.min(pageRowsMax, Math.max(1, share));
}

interface ShardReading<D extends AnyDefinition> {
  readonly query: TableScan<D>;
  readonly pageRows: number;
  readonly deadline: QueryDeadline;
}

/**
 * Rows of one shard. A failure of the shard is thrown by its own iteration; so is the deadline,
 * after which no page is asked for.
 */
async function* entitiesOn<D extends AnyDefinition>(
  definition: D,
  views: ShardViews,
  shard: string,
  { query, pageRows, deadline }: ShardReading<D>,
): AsyncGenerator<Stored<ReadOf<D>>, void, undefined> {
  const table = views.view(shard);
  const limited: TableGateway = {
    table: table.table,
    get: (key, select) => table.get(key, select),
    page: async ({ limit = pageRowsMax, ...rows }) => {
      if (deadline.isPast) throw deadline.error;
      return table.page({ ...rows, limit: Math.min(limit, pageRows) });
    },
    write: (write) => table.write(write),
    transact: (writes) => table.transact(writes),
  };
  yield* entitiesOf(definition, limited).scanTable(query);
}

function chosen(
  views: ShardViews,
  { shards: wanted, keys }: Pick<ShardQueryOptions, 'keys' | 'shards'>,
): readonly string[] {
  const { shards } = views;
  if (keys !== undefined)
    return [...new Set(keys.flatMap((key) => shardsOfKey(views, key)))].sort();
  if (wanted === undefined) return shards;
  const other = wanted.find((shard) => !shards.includes(shard));
  if (other === undefined) return [...new Set(wanted)];
  throw new ValueError(`the map has no shard '${other}'; it has ${shards.join(', ')}`);
}

function shardsOfKey(views: ShardViews, key: string): readonly string[] {
  const found = views.shardsOf(key);
  if (found.length > 0) return found;
  throw new ValueError(`the map has no shard for the key '${key}'`);
}

function failureOf(shard: string, error: unknown, label: string | undefined): ShardQueryError {
  const query = label === undefined ? 'a query' : `the query '${label}'`;
  const reason = error instanceof Error ? error.message : String(error);
  return new ShardQueryError(`${query} over shards failed on '${shard}': ${reason}`, shard, error);
}
