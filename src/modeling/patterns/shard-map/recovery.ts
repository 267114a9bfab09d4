import { withTextAt, type FoundText } from '../../../placement/rebuilt-routing.js';
import { shardOfText, type ShardRouting } from '../../../placement/shard-routing.js';
import { requireChoice } from '../../definition/choice.js';
import { ModelError } from '../../rows/model-error.js';
import { compareTexts } from '../../rows/text-order.js';
import { fenceOf, fencesOf, type PartitionFence } from './fence.js';
import { differencesOf } from './partition-copy.js';
import type { WalkedShard } from './partition-walk.js';
import { contentPartitions } from './shown-rows.js';

/** Which side keeps a partition: where the map looks for it, or the shard that has it. */
export type KeptSide = 'map' | 'shards';

/** Throws `DefinitionError` for anything else. */
export function requireKeptSide(keep: KeptSide): void {
  requireChoice('keep', keep, ['map', 'shards'] satisfies readonly KeptSide[]);
}

/**
 * A partition about which the map and the shards disagree, such as after one of them was restored:
 *
 * - `owned-elsewhere`: not its shard by the map accepts its writes, but another one.
 * - `owned-twice`: both do.
 * - `outdated`: another shard knows a later handover than its shard by the map.
 */
export interface ShardDifference {
  readonly kind: 'owned-elsewhere' | 'owned-twice' | 'outdated';
  readonly partitionKey: string;
  /** Its shard by the map; undefined: a list has none for it. */
  readonly home: string | undefined;
  /** The other shard; of several the one with the latest handover. */
  readonly shard: string;
  /** Rows that differ between both, or are on one of them only; 0 without a home. */
  readonly rows: number;
}

/** What recovery would do. */
export interface RecoveryPlan {
  /** The version of the map that was compared. */
  readonly version: number;
  readonly keep: KeptSide;
  /** The shard that was asked about; absent: all. */
  readonly only?: string;
  readonly differences: readonly ShardDifference[];
  /**
   * Shards that the map leads to and whose accounts were emptied, also where the binding was left.
   * What no other shard knows of them is no difference.
   */
  readonly emptied: readonly string[];
  /** False: there are more than a plan holds. Recover, and plan again. */
  readonly isWhole: boolean;
}

/** Differences of one plan. */
export const differencesMax = 1000;

interface Fenced {
  readonly shard: WalkedShard;
  readonly fence: PartitionFence;
}

/** What every shard keeps of each partition, by partition, in order. */
async function* fencedPartitions(
  shards: readonly WalkedShard[],
): AsyncGenerator<readonly Fenced[], void, undefined> {
  const readers = shards.map((shard) => ({ shard, fences: fencesOf(shard.table) }));
  const heads = await Promise.all(
    readers.map(async ({ shard, fences }) => ({ shard, fences, head: await fences.next() })),
  );
  for (;;) {
    const open = heads.flatMap((each) => (each.head.done === true ? [] : [each.head.value]));
    const [least] = open.map(({ partitionKey }) => partitionKey).sort(compareTexts);
    if (least === undefined) return;
    const here: Fenced[] = [];
    for (const each of heads) {
      if (each.head.done === true || each.head.value.partitionKey !== least) continue;
      here.push({ shard: each.shard, fence: each.head.value });
      each.head = await each.fences.next();
    }
    yield here;
  }
}

interface Compared {
  readonly routing: ShardRouting;
  readonly shards: readonly WalkedShard[];
  readonly textOf: (partitionKey: string) => string;
}

/**
 * The differences of a settled map and its shards, `differencesMax` at most; with `only` those of
 * partitions that this shard has by the map, or about which it disagrees with the map. A range
 * read of each shard for 1,000 of the rows that a map keeps in partitions, and range reads of both
 * shards for each difference.
 */
export async function findDifferences(
  compared: Compared,
  only?: string,
): Promise<{ readonly differences: readonly ShardDifference[]; readonly isWhole: boolean }> {
  const { shards } = compared;
  const differences: ShardDifference[] = [];
  for await (const fenced of fencedPartitions(shards)) {
    const partitionKey = fenced[0]?.fence.partitionKey ?? '';
    const home = homeOf(compared, partitionKey);
    const asked = only === undefined || only === home ? fenced : betweenBoth(fenced, home, only);
    if (differenceOf(asked, home) === undefined) continue;
    // Counted over all shards, also with `only`: where several differ from the map, the one of the
    // latest handover is ended first.
    if (differences.length >= differencesMax) return { differences, isWhole: false };
    const found = await countedDifference(compared, partitionKey, fenced);
    if (found !== undefined) differences.push(found);
  }
  return { differences, isWhole: true };
}

/**
 * The difference of one partition; undefined: there is none. Two point reads of each shard, and
 * range reads of both when there is one.
 */
export async function findDifference(
  compared: Compared,
  partitionKey: string,
): Promise<ShardDifference | undefined> {
  const fenced = await Promise.all(
    compared.shards.map(async (shard) => ({
      shard,
      fence: await fenceOf(shard.table, partitionKey),
    })),
  );
  return countedDifference(compared, partitionKey, fenced);
}

function betweenBoth(
  fenced: readonly Fenced[],
  home: string | undefined,
  other: string,
): readonly Fenced[] {
  return fenced.filter(({ shard }) => shard.name === home || shard.name === other);
}

function homeOf({ routing, textOf }: Compared, partitionKey: string): string | undefined {
  return shardOfText(routing, textOf(partitionKey));
}

async function countedDifference(
  compared: Compared,
  partitionKey: string,
  fenced: readonly Fenced[],
): Promise<ShardDifference | undefined> {
  const home = homeOf(compared, partitionKey);
  const found = differenceOf(fenced, home);
  if (found === undefined) return undefined;
  const { kind, other } = found;
  const own = compared.shards.find(({ name }) => name === home);
  const rows =
    own === undefined ? 0 : await differencesOf(own.table, other.shard.table, partitionKey);
  return Object.freeze({ kind, partitionKey, home, shard: other.shard.name, rows });
}

function differenceOf(
  fenced: readonly Fenced[],
  home: string | undefined,
): { readonly kind: ShardDifference['kind']; readonly other: Fenced } | undefined {
  const own = fenced.find(({ shard }) => shard.name === home)?.fence;
  const others = fenced
    .filter(({ shard }) => shard.name !== home)
    .sort((left, right) => right.fence.epoch - left.fence.epoch);
  const owner = others.find(({ fence }) => fence.isOwner);
  if (owner !== undefined) {
    return { kind: own?.isOwner === true ? 'owned-twice' : 'owned-elsewhere', other: owner };
  }
  const [latest] = others;
  const isLater = latest !== undefined && latest.fence.epoch > (own?.epoch ?? 0);
  return isLater ? { kind: 'outdated', other: latest } : undefined;
}

/**
 * For each partition, its text and the shard that owns it. Of several owners, the one of the latest
 * handover counts. A partition without an owner was closed while it moved; then its last owner
 * counts. One that was opened nowhere is on each shard that has rows of it; a shard where a map had
 * claimed it may have a part of them (`begun`). A range read of each shard for 1,000 of the rows
 * that a map keeps in partitions, and one for 1,000 rows, keys only.
 */
export async function ownedTexts({
  shards,
  textOf,
}: Omit<Compared, 'routing'>): Promise<readonly FoundText[]> {
  const found = new Map<string, FoundText>();
  const add = (partitionKey: string, shard: string, isBegun = false): void => {
    const text = textOf(partitionKey);
    const at = JSON.stringify([text, shard]);
    if (!isBegun) found.set(at, { text, shard });
    else if (!found.has(at)) found.set(at, { text, shard, begun: partitionKey });
  };
  const opened = new Set<string>();
  /** Of partitions that are open nowhere, the shards where a map has claimed them. */
  const begun = new Map<string, readonly string[]>();
  for await (const fenced of fencedPartitions(shards)) {
    const owners = fenced.filter(({ fence }) => fence.isOwner);
    const known = owners.length > 0 ? owners : fenced.filter(({ fence }) => fence.epoch > 0);
    const latest = Math.max(...known.map(({ fence }) => fence.epoch));
    const owner = known.find(({ fence }) => fence.epoch === latest);
    if (owner === undefined) {
      const names = fenced.map(({ shard }) => shard.name);
      for (const { fence } of fenced) begun.set(fence.partitionKey, names);
      continue;
    }
    opened.add(owner.fence.partitionKey);
    add(owner.fence.partitionKey, owner.shard.name);
  }
  for (const { name, table } of shards) {
    for await (const keys of contentPartitions(table)) {
      for (const partitionKey of keys) {
        if (opened.has(partitionKey)) continue;
        add(partitionKey, name, begun.get(partitionKey)?.includes(name));
      }
    }
  }
  return [...found.values()];
}

/** The change of a map that recovery is: a handover of the differing partitions alone. */
export function recoveringRoutings(
  routing: ShardRouting,
  { keep, differences }: RecoveryPlan,
  textOf: (partitionKey: string) => string,
): { readonly routing: ShardRouting; readonly target: ShardRouting } {
  let other = routing;
  for (const { partitionKey, home, shard } of differences) {
    if (home === undefined && keep === 'map') {
      throw new ModelError(
        `the map has no shard for '${partitionKey}', which is on '${shard}'; keep it there, or ` +
          'assign its text to a shard first',
      );
    }
    other = withTextAt(other, textOf(partitionKey), shard);
  }
  return keep === 'map' ? { routing: other, target: routing } : { routing, target: other };
}
