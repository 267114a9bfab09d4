import type { KnownLimit } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { refused, type Refusal } from './refusal.js';

// Azure Search: the service places documents itself; what can be chosen is how many partitions and
// replicas it has. Beyond one service there are services for regions, or a local and a global tier.

/** The numbers of partitions that a service can have. */
export const searchPartitionCounts: readonly number[] = Object.freeze([1, 2, 3, 4, 6, 12]);

export interface SearchLoad {
  readonly documents: number;
  readonly bytes: number;
  /** Queries per second. */
  readonly queryRate: number;
  /** Two replicas at least, as the agreement on reads asks for. */
  readonly hasReadSla?: boolean;
}

export interface SearchOptions {
  /** `basic` or `standard`, the default. */
  readonly tier?: string;
  /** Figures of your own, which win over the published ones. */
  readonly limits?: readonly KnownLimit[];
}

/** `units`, partitions times replicas, are what is paid for. */
export interface SearchCapacity {
  readonly kind: 'capacity';
  readonly partitions: number;
  readonly replicas: number;
  readonly units: number;
}

/** Every pair that a tier allows, by units, then by partitions. */
export function searchPairs({
  tier = 'standard',
  limits = [],
}: SearchOptions = {}): readonly SearchCapacity[] {
  const figure = figuresOf(tier, limits);
  const partitionsMost = figure('partitions');
  const pairs = searchPartitionCounts
    .filter((partitions) => partitions <= partitionsMost)
    .flatMap((partitions) =>
      Array.from({ length: figure('replicas') }, (_, index) => pairOf(partitions, index + 1)),
    )
    .filter(({ units }) => units <= figure('units'));
  return pairs.sort((a, b) => a.units - b.units || a.partitions - b.partitions);
}

function pairOf(partitions: number, replicas: number): SearchCapacity {
  return Object.freeze({ kind: 'capacity', partitions, replicas, units: partitions * replicas });
}

/**
 * The cheapest pair that carries a load by published figures, which are averages: measure with
 * documents and queries of your own. Refused: no pair does.
 */
export function searchCapacity(
  load: SearchLoad,
  options: SearchOptions = {},
): SearchCapacity | Refusal {
  const bad = loadRefusal(load);
  if (bad !== undefined) return bad;
  const { tier = 'standard', limits = [] } = options;
  const figure = figuresOf(tier, limits);
  const partitions = Math.max(
    1,
    Math.ceil(load.documents / figure('partition-documents')),
    Math.ceil(load.bytes / figure('partition-bytes')),
  );
  const replicas = Math.max(
    load.hasReadSla === true ? figure('read-replicas') : 1,
    Math.ceil(load.queryRate / figure('replica-rate')),
  );
  const found = searchPairs(options).find(
    (pair) => pair.partitions >= partitions && pair.replicas >= replicas,
  );
  if (found !== undefined) return found;
  const what = `${partitions} partitions with ${replicas} replicas are more than ${tier} has`;
  return refused('too-much', `${what}; divide the documents among services, by region for example`);
}

function loadRefusal({ documents, bytes, queryRate }: SearchLoad): Refusal | undefined {
  for (const [name, value] of Object.entries({ documents, bytes, queryRate })) {
    if (!(value >= 0)) return refused('bad-count', `${name}: ${value}; give a number from 0 on`);
  }
  return undefined;
}

/** Figures of a tier. 0 where nothing is published: then nothing fits, and the caller is told. */
function figuresOf(tier: string, limits: readonly KnownLimit[]): (name: string) => number {
  return (name) => limitOf({ system: 'search', name, tier }, limits)?.value ?? 0;
}
