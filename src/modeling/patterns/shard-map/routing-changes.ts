import {
  withRange,
  withShardAdded,
  withShardRemoved,
  withShardReplaced,
  withTexts,
  type ShardRouting,
  type TextRange,
} from '../../../placement/shard-routing.js';
import { DefinitionError } from '../../rows/model-error.js';

declare const changedTexts: unique symbol;

/**
 * Changes a routing. Pure; throws `DefinitionError` for a routing of another kind. `K`: the texts
 * that it names, so that the compiler refuses those that are not of the keys of a map.
 */
export type RoutingChange<K extends string = string> = ((routing: ShardRouting) => ShardRouting) & {
  readonly [changedTexts]?: K;
  /** The shard that it takes everything from. A routing without that shard stays as it is. */
  readonly leaves?: string;
};

/**
 * Gives a fair share of the slots of a hash to a new shard. Throws `DefinitionError` where there
 * are fewer slots than shards.
 */
export function addShard(shard: string): RoutingChange<never> {
  return (routing) => {
    const grown = withShardAdded(ofKind(routing, 'hash'), shard);
    if (grown.slots.includes(shard)) return grown;
    throw new DefinitionError(
      `the map has ${grown.slots.length} slots, one of which for '${shard}' would leave another ` +
        'shard none; change it to a hash of more slots first (hashRouting), which moves most of it',
    );
  };
}

/**
 * Gives the slots of a shard to the others. Throws `DefinitionError` for the only one: `moveShard`
 * it to another.
 */
export function removeShard(shard: string): RoutingChange<never> {
  return leaving(shard, (routing) => {
    const shrunk = withShardRemoved(ofKind(routing, 'hash'), shard);
    if (!shrunk.slots.includes(shard)) return shrunk;
    throw new DefinitionError(`'${shard}' is the only shard of the map; move it to another one`);
  });
}

/** Gives everything of a shard to another one. */
export function moveShard(shard: string, to: string): RoutingChange<never> {
  return leaving(shard, (routing) => withShardReplaced(routing, shard, to));
}

/** Gives everything of a shard to one that has something already. */
export function mergeShards(shard: string, into: string): RoutingChange<never> {
  return moveShard(shard, into);
}

/** Gives a part of the texts of a range map to a shard. */
export function splitRange<K extends string>(range: TextRange<K>, to: string): RoutingChange<K> {
  const { from, before } = range;
  if (before !== undefined && before <= from) {
    throw new DefinitionError(`a range from '${from}' ends behind it, not before '${before}'`);
  }
  return (routing) => withRange(ofKind(routing, 'range'), range, to);
}

/** Gives texts of a list to a shard. */
export function assignTexts<K extends string>(texts: readonly K[], to: string): RoutingChange<K> {
  return (routing) => withTexts(ofKind(routing, 'list'), texts, to);
}

function leaving(
  leaves: string,
  change: (routing: ShardRouting) => ShardRouting,
): RoutingChange<never> {
  return Object.assign(change, { leaves });
}

function ofKind<K extends ShardRouting['kind']>(
  routing: ShardRouting,
  kind: K,
): Extract<ShardRouting, { readonly kind: K }> {
  if (routing.kind === kind) return routing as Extract<ShardRouting, { readonly kind: K }>;
  throw new DefinitionError(`the map routes by ${routing.kind}; this is a change of a ${kind}`);
}
