import type { Bytes } from '../base/bytes.js';
import { unreachable } from '../base/invariant.js';
import {
  hashRouting,
  listRouting,
  rangeRouting,
  routingFault,
  slotsDefault,
  slotsFault,
  type ShardRouting,
} from './shard-routing.js';
import { refused, type Refusal } from './systems/refusal.js';
import {
  isSqlShardText,
  sqlShardText,
  type SqlShardKey,
  type SqlShardText,
} from './systems/sql.js';

/** The values of the keys that a map can have, by the name of their type. */
export interface ShardKeyValues {
  readonly text: string;
  readonly int: number;
  readonly bigint: bigint;
  readonly guid: string;
  readonly binary: Bytes;
  /** Exact to milliseconds. */
  readonly dateTime: Date;
  /** In units of 100 ns. */
  readonly timeSpan: bigint;
  /** The moment alone counts. */
  readonly dateTimeOffset: Date;
}

export type ShardKeyType = keyof ShardKeyValues;

export const shardKeyTypes: readonly ShardKeyType[] = Object.freeze([
  'text',
  'int',
  'bigint',
  'guid',
  'binary',
  'dateTime',
  'timeSpan',
  'dateTimeOffset',
]);

/** Whether a value is what the compiler asks of a key: programs without types may give another. */
const isValueOf: Readonly<Record<ShardKeyType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  int: (value) => typeof value === 'number',
  bigint: (value) => typeof value === 'bigint',
  guid: (value) => typeof value === 'string',
  binary: (value) => value instanceof Uint8Array,
  dateTime: (value) => value instanceof Date,
  timeSpan: (value) => typeof value === 'bigint',
  dateTimeOffset: (value) => value instanceof Date,
};

/** The text that a map routes for a key: as `sqlShardText`, and a text as it is. */
export function shardKeyText<T extends ShardKeyType>(
  type: T,
  value: ShardKeyValues[T],
): SqlShardText {
  if (!isValueOf[type](value)) {
    const shown =
      typeof value === 'string' ? `the text '${value}'` : `${typeof value} ${String(value)}`;
    return refused('bad-key', `${shown} is no key of the type ${type}`);
  }
  if (type === 'text') return Object.freeze({ kind: 'text', text: String(value) });
  // The compiler does not see that the value is of the type that is named beside it.
  return sqlShardText({ type, value } as SqlShardKey);
}

/** Whether a text is that of a key of this type: `shardKeyText` of some key is the same. */
export function isShardKeyText(type: ShardKeyType, text: string): boolean {
  return type === 'text' || isSqlShardText(type, text);
}

/** Where keys of one type go. */
export type KeyedRouting<V> =
  | {
      readonly kind: 'list';
      /** Each key once, with its shard. */
      readonly keys: readonly (readonly [key: V, shard: string])[];
      /** The shard of every other key; without it others have none. */
      readonly otherwise?: string;
    }
  | {
      readonly kind: 'range';
      /** In order, each to where the next begins; the first without `from`. */
      readonly ranges: readonly { readonly from?: V; readonly shard: string }[];
    }
  /** `slots`: 1,024 when absent. */
  | { readonly kind: 'hash'; readonly shards: readonly string[]; readonly slots?: number };

/** The routing of texts that sends keys of a type where `keyed` says; refused: what makes none. */
export function typedRouting<T extends ShardKeyType>(
  type: T,
  keyed: KeyedRouting<ShardKeyValues[T]>,
): { readonly kind: 'routing'; readonly routing: ShardRouting } | Refusal {
  const built = routingOf(type, keyed);
  if (built.kind === 'refused') return built;
  const fault = routingFault(built);
  if (fault !== undefined) return refused('bad-key', fault);
  return Object.freeze({ kind: 'routing', routing: built });
}

function routingOf<T extends ShardKeyType>(
  type: T,
  keyed: KeyedRouting<ShardKeyValues[T]>,
): ShardRouting | Refusal {
  switch (keyed.kind) {
    case 'list': {
      if (!Array.isArray(keyed.keys) || keyed.keys.some((pair) => !Array.isArray(pair))) {
        return refused('bad-key', 'a list has keys: pairs of a key and its shard');
      }
      const shards = new Map<string, string>();
      for (const [key, shard] of keyed.keys) {
        const found = shardKeyText(type, key);
        if (found.kind === 'refused') return found;
        if (shards.has(found.text)) return refused('bad-key', `${String(key)} is listed twice`);
        shards.set(found.text, shard);
      }
      return listRouting(shards, keyed.otherwise);
    }
    case 'range': {
      if (!Array.isArray(keyed.ranges)) {
        return refused('bad-key', 'a range map has ranges, each with its shard and from where on');
      }
      const first: unknown = keyed.ranges[0]?.from;
      // The empty text says the same.
      if (first !== undefined && first !== '') {
        return refused('bad-key', 'the first range has no from: it has all keys before the second');
      }
      const ranges: { readonly from: string; readonly shard: string }[] = [];
      for (const { from, shard } of keyed.ranges) {
        const found = from === undefined ? undefined : shardKeyText(type, from);
        if (found?.kind === 'refused') return found;
        const text = found?.text ?? '';
        const last = ranges.at(-1);
        // Neighbours of one shard are joined, which would hide that they are out of order.
        if (last !== undefined && last.from >= text) {
          return refused('bad-key', 'ranges are in the order of their first keys, each once');
        }
        ranges.push({ from: text, shard });
      }
      return rangeRouting(ranges);
    }
    case 'hash': {
      const { shards, slots = slotsDefault } = keyed;
      if (!Array.isArray(shards)) return refused('bad-key', 'a hash has shards: their names');
      const fault = slotsFault(slots);
      return fault === undefined ? hashRouting(shards, slots) : refused('bad-count', fault);
    }
    default:
      return unreachable(keyed);
  }
}
