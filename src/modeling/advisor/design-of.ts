import { own } from '../../base/own.js';
import type { Regions } from '../../placement/regional-routing.js';
import { type ShardRouting, shardOfText, shardsOf } from '../../placement/shard-routing.js';
import type { Distribution } from './facts/distribution.js';
import type { OperationReport, Report } from './report.js';
import type {
  FieldFacts,
  PlacementDesign,
  QueryFacts,
  ShardFacts,
  ShardKeyFacts,
} from './placement/design.js';

/** The members of a workload that `designOf` reads; every `Workload` has them. */
export interface PlacedWorkload {
  readonly rows: number;
  readonly partitions?: Distribution;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly otherRequestsPerSecond?: number;
  readonly operations: readonly {
    readonly kind: string;
    readonly perSecond: number;
    readonly changes?: readonly string[];
    readonly select?: readonly string[];
  }[];
}

/** The placement of the entities, and further known facts. */
export interface PlacedDesign extends PlacementDesign {
  /** The routing of PartitionKeys, or of the texts that `textOf` makes of them. */
  readonly routing?: ShardRouting;
  /** The text that is routed; the PartitionKey itself when absent. */
  readonly textOf?: (partitionKey: string) => string;
  /**
   * The regions of shards, as `manager.regions()` returns them. A shard with a region of its own
   * keeps that.
   */
  readonly regions?: Regions;
}

/**
 * A design of partitions, for `reviewPlacement`, from the result of `explain` for a definition and
 * its workload: the key, queries, transactions, how often fields are read and written, and, with a
 * routing, the load of each shard. `placed` overrides these results, for a query of the same name
 * property by property. Shards follow from counted partitions, or from a hash of equal ones. Areas,
 * secret fields, callers' regions, the criticality of shards, queues, systems and answers do not
 * follow from a definition: rules that need them only use `placed`.
 */
export function designOf(
  report: Report,
  workload: PlacedWorkload,
  placed: PlacedDesign = {},
): PlacementDesign {
  const { routing, textOf, regions = {}, ...told } = placed;
  const loaded = routing === undefined ? [] : shardsOfLoad(report, workload, { routing, textOf });
  const shards = (told.shards ?? loaded).map((shard) => withRegion(shard, regions));
  const fields = fieldsOf(workload);
  const derived: PlacementDesign = {
    key: keyOf(report, routing),
    transactions: report.operations
      .filter(({ kind }) => kind === 'transaction')
      .map(({ name }) => ({ name, shards: 1 })),
    ...(fields.length === 0 ? {} : { fields }),
  };
  const queries = queriesOf(report, told.queries ?? []);
  const placedShards = shards.length === 0 ? {} : { shards };
  return Object.freeze({ ...derived, ...told, ...placedShards, queries });
}

function keyOf({ rows, load, findings }: Report, routing: ShardRouting | undefined): ShardKeyFacts {
  const values = load.places[0]?.partitions ?? 1;
  const codes = new Set<string>(findings.map(({ code }) => code));
  const order = codes.has('append-key')
    ? ({ order: 'increasing' } as const)
    : codes.has('prepend-key')
      ? ({ order: 'decreasing' } as const)
      : {};
  const by = routing?.kind === 'hash' ? 'hash' : 'value';
  return { type: 'text', values, by, isOfOneEntity: rows > 1 && values >= rows, ...order };
}

function queriesOf({ operations }: Report, told: readonly QueryFacts[]): readonly QueryFacts[] {
  const derived = operations.flatMap((operation) => queryOf(operation) ?? []);
  const names = new Set(derived.map(({ name }) => name));
  const merged = derived.map((query) =>
    Object.assign(
      query,
      told.find(({ name }) => name === query.name),
    ),
  );
  return [...merged, ...told.filter(({ name }) => !names.has(name))];
}

function queryOf({ name, planClass, perSecond }: OperationReport): QueryFacts | undefined {
  if (planClass === undefined) return undefined;
  return { name, perSecond, hasKey: planClass !== 'table-scan', readsRange: planClass !== 'point' };
}

/** Reads and writes of the fields that a workload names. */
function fieldsOf({ operations, properties = {} }: PlacedWorkload): readonly FieldFacts[] {
  const named = operations.flatMap(({ changes = [], select = [] }) => [...changes, ...select]);
  const names = new Set([...Object.keys(properties), ...named]);
  const rateOf = (name: string, isRead: boolean): number =>
    operations
      .filter(({ kind }) => isRead === readKinds.has(kind))
      .filter(({ changes, select }) => (isRead ? select : changes)?.includes(name) ?? true)
      .reduce((sum, { perSecond }) => sum + perSecond, 0);
  return [...names].map((name) => ({
    name,
    readsPerSecond: rateOf(name, true),
    writesPerSecond: rateOf(name, false),
  }));
}

type Counted = Distribution & { readonly kind: 'counts' };

const readKinds: ReadonlySet<string> = new Set(['get', 'query', 'scan', 'look-up']);

interface Routed {
  readonly routing: ShardRouting;
  readonly textOf: PlacedDesign['textOf'];
}

/** The load of each shard; none when the workload does not list the partitions. */
function shardsOfLoad(
  { load, capacity }: Report,
  { partitions, otherRequestsPerSecond: others = 0 }: PlacedWorkload,
  { routing, textOf = (partitionKey) => partitionKey }: Routed,
): readonly ShardFacts[] {
  const requests = Math.max(0, load.requestsPerSecond - others);
  const shares = new Map(shardsOf(routing).map((name) => [name, new Map<string, number>()]));
  if (partitions?.kind === 'counts' && isWhole(partitions)) {
    for (const partitionKey of Object.keys(partitions.counts)) {
      const text = textOf(partitionKey);
      const ofShard = shares.get(shardOfText(routing, text) ?? '');
      const count = own(partitions.counts, partitionKey) ?? 0;
      ofShard?.set(text, (ofShard.get(text) ?? 0) + count);
    }
  } else if (routing.kind === 'hash' && partitions?.kind === 'uniform') {
    for (const shard of routing.slots)
      shares.get(shard)?.set('', (shares.get(shard)?.get('') ?? 0) + 1);
  }
  const sumOf = (counts: Iterable<number>): number =>
    [...counts].reduce((sum, each) => sum + each, 0);
  const total = sumOf([...shares.values()].map((texts) => sumOf(texts.values())));
  if (total === 0) return [];
  return [...shares].map(([name, texts]): ShardFacts => {
    const count = sumOf(texts.values());
    const share = count / total;
    const facts = { name, requestsPerSecond: requests * share, bytes: capacity.bytes * share };
    const isCounted = partitions?.kind === 'counts' && count > 0;
    return isCounted ? withTenant(facts, largestOf(texts.values()) / count) : facts;
  });
}

function withRegion(shard: ShardFacts, regions: Regions): ShardFacts {
  const region = shard.region ?? own(regions, shard.name);
  return region === undefined ? shard : { ...shard, region };
}

function withTenant(facts: ShardFacts, largestTenant: number): ShardFacts {
  return { ...facts, largestTenant };
}

function isWhole({ isWhole: isAll = true, otherCount = 0 }: Counted): boolean {
  return isAll && otherCount === 0;
}

function largestOf(counts: Iterable<number>): number {
  let largest = 0;
  for (const count of counts) largest = Math.max(largest, count);
  return largest;
}
