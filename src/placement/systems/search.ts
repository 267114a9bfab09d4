import type { KnownLimit } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { refused, type Refusal } from './refusal.js';
import { sharesOf } from './shares.js';

// Azure Search: the service places documents itself; users choose only the numbers of partitions
// and replicas. Beyond one service there are services for regions, or a local and a global tier.

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

/** The search follows figures of a system's own for at most this many replicas. */
const replicasMost = 1000;

/**
 * Every pair that a tier allows, by units, then by partitions; none for a tier without published or
 * own figures. Of replicas 1,000 at most.
 */
export function searchPairs({
  tier = 'standard',
  limits = [],
}: SearchOptions = {}): readonly SearchCapacity[] {
  const figure = (name: string): number => figureOf(name, { tier, limits })?.value ?? 0;
  const [partitionsMost, unitsMost] = [figure('partitions'), figure('units')];
  const replicas = Math.max(0, Math.min(Math.floor(figure('replicas')) || 0, replicasMost));
  const pairs = searchPartitionCounts
    .filter((partitions) => partitions <= partitionsMost)
    .flatMap((partitions) =>
      Array.from({ length: replicas }, (_, index) => pairOf(partitions, index + 1)),
    )
    .filter(({ units }) => units <= unitsMost);
  return pairs.sort((a, b) => a.units - b.units || a.partitions - b.partitions);
}

function pairOf(partitions: number, replicas: number): SearchCapacity {
  return Object.freeze({ kind: 'capacity', partitions, replicas, units: partitions * replicas });
}

/**
 * The cheapest pair that carries a load by published figures, which are averages: measure with
 * documents and queries of your own. Refused: no pair does, or nothing is published of the bytes
 * that a partition of the tier holds. Documents count where a figure of the tier is known.
 */
export function searchCapacity(
  load: SearchLoad,
  options: SearchOptions = {},
): SearchCapacity | Refusal {
  const bad = loadRefusal(load);
  if (bad !== undefined) return bad;
  const { tier = 'standard', limits = [] } = options;
  const figure = (name: string): KnownLimit | undefined => figureOf(name, { tier, limits });
  const ofPartition = figure('partition-bytes');
  if (ofPartition === undefined) {
    const what = `nothing is published of the bytes in a partition of the tier '${tier}'`;
    return refused('not-published', `${what}; give a limit 'partition-bytes' of your own`);
  }
  const byDocuments = sharesOf(load.documents, figure('partition-documents'));
  if (typeof byDocuments !== 'number') return byDocuments;
  const byBytes = sharesOf(load.bytes, ofPartition);
  if (typeof byBytes !== 'number') return byBytes;
  const byRate = sharesOf(load.queryRate, figure('replica-rate'));
  if (typeof byRate !== 'number') return byRate;
  const partitions = Math.max(byDocuments, byBytes);
  const least = load.hasReadSla === true ? (figure('read-replicas')?.value ?? 1) : 1;
  const replicas = Math.max(least, byRate);
  const found = searchPairs(options).find(
    (pair) => pair.partitions >= partitions && pair.replicas >= replicas,
  );
  if (found !== undefined) return found;
  const what = `${partitions} partitions with ${replicas} replicas are more than ${tier} has`;
  return refused('too-much', `${what}; divide the documents among services, by region for example`);
}

function loadRefusal({ documents, bytes, queryRate }: SearchLoad): Refusal | undefined {
  for (const [name, value] of Object.entries({ documents, bytes, queryRate })) {
    if (!(value >= 0 && value < Infinity))
      return refused('bad-count', `${name}: ${value}; give a number from 0 on`);
  }
  return undefined;
}

/** A figure of a tier, or of every tier; undefined where nothing is published. */
function figureOf(name: string, { tier, limits }: Required<SearchOptions>): KnownLimit | undefined {
  return limitOf({ system: 'search', name, tier }, limits);
}
