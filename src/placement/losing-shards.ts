import { shardOfText, shardsOf, type ShardRouting } from './shard-routing.js';

/**
 * The shards that lose texts when another routing replaces this one, sorted. When the two cannot be
 * compared, which are lists and ranges or different numbers of slots, all shards of the first
 * routing.
 */
export function losingShards(from: ShardRouting, to: ShardRouting): readonly string[] {
  const changed = changedShards(from, to) ?? shardsOf(from);
  return [...new Set(changed)].sort();
}

/** The shards that lose or get texts when another routing replaces this one; each once. */
export function concernedShards(from: ShardRouting, to: ShardRouting): readonly string[] {
  return [...new Set([...losingShards(from, to), ...losingShards(to, from)])];
}

/** May name a shard several times; undefined: the routings cannot be compared. */
function changedShards(from: ShardRouting, to: ShardRouting): readonly string[] | undefined {
  const isMoved = (here: string | undefined, there: string | undefined): here is string =>
    here !== undefined && here !== there;
  if (from.kind === 'hash' && to.kind === 'hash') {
    if (from.slots.length !== to.slots.length) return undefined;
    return from.slots.filter((shard, slot) => isMoved(shard, to.slots[slot]));
  }
  const textsMoved = (texts: readonly string[]): readonly string[] =>
    texts.flatMap((text) => {
      const here = shardOfText(from, text);
      return isMoved(here, shardOfText(to, text)) ? [here] : [];
    });
  if (from.kind === 'range' && to.kind === 'range') {
    return textsMoved([...from.ranges, ...to.ranges].map((range) => range.from));
  }
  if (from.kind === 'list' && to.kind === 'list') {
    const named = textsMoved([...from.shards.keys(), ...to.shards.keys()]);
    return isMoved(from.otherwise, to.otherwise) ? [...named, from.otherwise] : named;
  }
  return undefined;
}
