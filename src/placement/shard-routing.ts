import { unreachable } from '../base/invariant.js';
import { bucketOf } from './hashes/text-hash.js';

/**
 * The assignment of texts to shards, as data; a text is a PartitionKey or a part of one. Pure,
 * frozen, and total except for lists without `otherwise`. The order is that of UTF-16 code units,
 * as in keys.
 */
export type ShardRouting = ListRouting | RangeRouting | HashRouting;

/** Assigns single texts, such as tenants. */
export interface ListRouting {
  readonly kind: 'list';
  readonly shards: ReadonlyMap<string, string>;
  /** The shard of every other text; undefined: other texts have no shard. */
  readonly otherwise: string | undefined;
}

/** Assigns ranges of texts. */
export interface RangeRouting {
  readonly kind: 'range';
  /** In order, the first from the empty text; each range ends where the next begins. */
  readonly ranges: readonly ShardRange[];
}

export interface ShardRange {
  readonly from: string;
  readonly shard: string;
}

/** Assigns slots: `hash32` of the text modulo the number of slots, which never changes. */
export interface HashRouting {
  readonly kind: 'hash';
  /** The shard of each slot. */
  readonly slots: readonly string[];
}

/** The texts from `from` on and before `before`; without `before` to the last text. */
export interface TextRange<K extends string = string> {
  /** The empty text begins before all others. */
  readonly from: K | '';
  readonly before?: K;
}

export const slotsDefault = 1024;
export const slotsMax = 16_384;

export function listRouting(
  shards: Readonly<Record<string, string>> | ReadonlyMap<string, string>,
  otherwise?: string,
): ListRouting {
  const entries = shards instanceof Map ? [...shards] : Object.entries(shards);
  return Object.freeze({ kind: 'list', shards: new Map(entries), otherwise });
}

/** Joins neighbouring ranges of one shard. */
export function rangeRouting(ranges: readonly ShardRange[]): RangeRouting {
  const merged = ranges.filter(({ shard }, index) => ranges[index - 1]?.shard !== shard);
  const frozen = merged.map(({ from, shard }) => Object.freeze({ from, shard }));
  return Object.freeze({ kind: 'range', ranges: Object.freeze(frozen) });
}

/**
 * Deals the slots to the shards in turn. A number of slots that cannot be, or no shard, makes a
 * routing that `routingFault` finds fault with.
 */
export function hashRouting(shards: readonly string[], slots: number = slotsDefault): HashRouting {
  // One slot too many is enough to be refused.
  const length = slotsFault(slots) === undefined ? slots : slots > slotsMax ? slotsMax + 1 : 0;
  const dealt = Array.from({ length }, (_, slot) => shards[slot % shards.length] ?? '');
  return hashRoutingOf(dealt);
}

export function hashRoutingOf(slots: readonly string[]): HashRouting {
  return Object.freeze({ kind: 'hash', slots: Object.freeze([...slots]) });
}

/** The fault of a routing; undefined: it is valid. */
export function routingFault(routing: ShardRouting): string | undefined {
  if (shardsOf(routing).some((shard) => typeof shard !== 'string' || shard === '')) {
    return 'a shard has no name';
  }
  // Programs without types may give the values of keys.
  const other = textsOfRouting(routing).find((text) => typeof text !== 'string');
  if (other !== undefined) {
    return `${typeof other} ${String(other)} is no text: give that of the key, such as by textOf`;
  }
  switch (routing.kind) {
    case 'list':
      return shardsOf(routing).length === 0 ? 'a list names no shard' : undefined;
    case 'range':
      return rangesFault(routing.ranges);
    case 'hash':
      return slotsFault(routing.slots.length);
    default:
      return unreachable(routing);
  }
}

/** The texts that a routing names. */
export function textsOfRouting(routing: ShardRouting): readonly string[] {
  switch (routing.kind) {
    case 'list':
      return [...routing.shards.keys()];
    case 'range':
      return routing.ranges.map(({ from }) => from);
    case 'hash':
      return [];
    default:
      return unreachable(routing);
  }
}

/** The error text for an invalid number of slots; undefined for a valid one. */
export function slotsFault(slots: number): string | undefined {
  const isFine = Number.isInteger(slots) && slots >= 1 && slots <= slotsMax;
  return isFine ? undefined : `${slots} slots; give 1 to ${slotsMax}`;
}

function rangesFault(ranges: readonly ShardRange[]): string | undefined {
  if (ranges[0] === undefined) return 'there are no ranges; give one at least';
  if (ranges[0].from !== '') return 'the first range begins with the empty text';
  const isOrdered = ranges.every(({ from }, index) => {
    const before = ranges[index - 1];
    return before === undefined || before.from < from;
  });
  return isOrdered ? undefined : 'ranges are in the order of their first texts, each once';
}

/** The shards in use, each once, in order. */
export function shardsOf(routing: ShardRouting): readonly string[] {
  const names = ((): Iterable<string> => {
    switch (routing.kind) {
      case 'list': {
        const { shards, otherwise } = routing;
        return otherwise === undefined ? shards.values() : [...shards.values(), otherwise];
      }
      case 'range':
        return routing.ranges.map(({ shard }) => shard);
      case 'hash':
        return routing.slots;
      default:
        return unreachable(routing);
    }
  })();
  return [...new Set(names)].sort();
}

/** The shard of a text; undefined only where a list has no `otherwise`. */
export function shardOfText(routing: ShardRouting, text: string): string | undefined {
  switch (routing.kind) {
    case 'list':
      return routing.shards.get(text) ?? routing.otherwise;
    case 'range':
      return routing.ranges[rangeIndexOf(routing.ranges, text)]?.shard;
    case 'hash':
      return routing.slots[bucketOf(text, routing.slots.length)];
    default:
      return unreachable(routing);
  }
}

/** The range that contains a text. */
function rangeIndexOf(ranges: readonly ShardRange[], text: string): number {
  let low = 0;
  let high = ranges.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((ranges[middle]?.from ?? '') <= text) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Replaces one shard by another. When the other one is in use already, the two are merged. */
export function withShardReplaced(routing: ShardRouting, shard: string, by: string): ShardRouting {
  const replaced = (found: string): string => (found === shard ? by : found);
  switch (routing.kind) {
    case 'list': {
      const shards = [...routing.shards].map(([text, found]) => [text, replaced(found)] as const);
      const { otherwise } = routing;
      return listRouting(new Map(shards), otherwise && replaced(otherwise));
    }
    case 'range':
      return rangeRouting(
        routing.ranges.map(({ from, shard: found }) => ({ from, shard: replaced(found) })),
      );
    case 'hash':
      return hashRoutingOf(routing.slots.map(replaced));
    default:
      return unreachable(routing);
  }
}

/**
 * Gives a fair share of the slots to a new shard and moves no others: of n shards, one text in n +
 * 1 moves.
 */
export function withShardAdded({ slots }: HashRouting, shard: string): HashRouting {
  const next = [...slots];
  const owned = slotsByShard(next);
  const taken: number[] = owned.get(shard) ?? [];
  owned.delete(shard);
  const share = Math.floor(slots.length / (owned.size + 1));
  while (taken.length < share) {
    const slot = extreme(owned, (count, best) => count > best)?.pop();
    if (slot === undefined) break;
    next[slot] = shard;
    taken.push(slot);
  }
  return hashRoutingOf(next);
}

/** Gives the slots of a removed shard to the shards with the fewest, and moves no others. */
export function withShardRemoved({ slots }: HashRouting, shard: string): HashRouting {
  const next = [...slots];
  const owned = slotsByShard(next);
  const freed = owned.get(shard) ?? [];
  owned.delete(shard);
  for (const slot of freed) {
    const least = extreme(owned, (count, best) => count < best);
    const name = least?.[0] === undefined ? undefined : next[least[0]];
    if (name === undefined) break;
    next[slot] = name;
    least?.push(slot);
  }
  return hashRoutingOf(next);
}

function slotsByShard(slots: readonly string[]): Map<string, number[]> {
  const owned = new Map<string, number[]>();
  slots.forEach((shard, slot) => {
    const own = owned.get(shard);
    if (own === undefined) owned.set(shard, [slot]);
    else own.push(slot);
  });
  return owned;
}

function extreme(
  owned: ReadonlyMap<string, number[]>,
  isBetter: (count: number, best: number) => boolean,
): number[] | undefined {
  let best: number[] | undefined;
  for (const slots of owned.values()) {
    if (best === undefined || isBetter(slots.length, best.length)) best = slots;
  }
  return best;
}

/** Assigns the texts of a range to a shard; splits the ranges at its ends. */
export function withRange(
  { ranges }: RangeRouting,
  { from, before }: TextRange,
  shard: string,
): RangeRouting {
  const ahead = ranges.filter((range) => range.from < from);
  const behind = before === undefined ? [] : ranges.filter((range) => range.from > before);
  const rest =
    before === undefined
      ? []
      : [{ from: before, shard: ranges[rangeIndexOf(ranges, before)]?.shard ?? shard }];
  return rangeRouting([...ahead, { from, shard }, ...rest, ...behind]);
}

/** Assigns single texts of a list to a shard. */
export function withTexts(
  { shards, otherwise }: ListRouting,
  texts: readonly string[],
  shard: string,
): ListRouting {
  const moved = texts.map((text) => [text, shard] as const);
  return listRouting(new Map([...shards, ...moved]), otherwise);
}
