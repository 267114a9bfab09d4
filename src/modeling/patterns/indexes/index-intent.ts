import { own } from '../../../base/own.js';
import type { JsonValue } from '../../definition/structured-types.js';
import type { RowKey } from '../../rows/row.js';
import { ValueError } from '../../table/errors.js';
import type { PayloadCodec } from '../../worker/payload.js';

/**
 * The intent to update indexes that are outside of the entity's transaction. It does not contain
 * the change: the worker reads the current entity, so intents may be repeated and come in any
 * order.
 */
export interface IndexIntent {
  /** The key of the entity. */
  readonly key: RowKey;
  /** Names of the indexes concerned. */
  readonly indexes: readonly string[];
  /** By index, the keys of the entity's rows or lists before the change that it concerns. */
  readonly before: Readonly<Record<string, readonly RowKey[]>>;
  /**
   * The same after the change. Undefined in an intent of an older program, which did not store
   * them; the worker then uses the keys that it finds.
   */
  readonly after?: Readonly<Record<string, readonly RowKey[]>>;
}

type KeyPair = readonly [partitionKey: string, rowKey: string];

function pairOf({ partitionKey, rowKey }: RowKey): KeyPair {
  return [partitionKey, rowKey];
}

/** A single key is one pair, so that older programs, which know no lists of keys, can read it. */
function pairsOf(keys: readonly RowKey[]): KeyPair | readonly KeyPair[] {
  const [first, ...others] = keys;
  return first !== undefined && others.length === 0 ? pairOf(first) : keys.map(pairOf);
}

/**
 * `{ key: [PartitionKey, RowKey], indexes: { name: [PartitionKey, RowKey] | null }, after: { name:
 * [PartitionKey, RowKey] } }`, with the keys before the change in `indexes`. Several keys of an
 * index are a list of such pairs.
 */
export const indexIntentPayload: PayloadCodec<IndexIntent, IndexIntent> = {
  encode({ key, indexes, before, after }) {
    const entries = indexes.map((name) => {
      const found = own(before, name) ?? [];
      return [name, found.length === 0 ? null : pairsOf(found)] as const;
    });
    const message = { key: pairOf(key), indexes: Object.fromEntries(entries) };
    if (after === undefined) return message;
    const pairs = Object.entries(after)
      .filter(([, found]) => found.length > 0)
      .map(([name, found]) => [name, pairsOf(found)] as const);
    return { ...message, after: Object.fromEntries(pairs) };
  },
  decode(payload) {
    const { key, indexes, after } = objectOf(payload);
    const entries = Object.entries(objectOf(indexes ?? null));
    const before = entries.flatMap(([name, pair]) =>
      pair === null ? [] : [[name, keysIn(pair)] as const],
    );
    return {
      key: keyOf(key ?? null),
      indexes: entries.map(([name]) => name),
      before: Object.fromEntries(before),
      ...(after === undefined ? {} : { after: keysOf(after) }),
    };
  },
};

function keysOf(payload: JsonValue): Readonly<Record<string, readonly RowKey[]>> {
  const entries = Object.entries(objectOf(payload));
  return Object.fromEntries(entries.map(([name, pair]) => [name, keysIn(pair)]));
}

function keysIn(payload: JsonValue): readonly RowKey[] {
  const isList = Array.isArray(payload) && payload.every((each) => Array.isArray(each));
  return isList ? payload.map(keyOf) : [keyOf(payload)];
}

function objectOf(payload: JsonValue): Readonly<Record<string, JsonValue>> {
  if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) {
    return payload as Readonly<Record<string, JsonValue>>;
  }
  throw new ValueError(`an intent for indexes has no object where ${JSON.stringify(payload)} is`);
}

function keyOf(payload: JsonValue): RowKey {
  const [partitionKey, rowKey, ...rest] = Array.isArray(payload) ? payload : [];
  if (typeof partitionKey === 'string' && typeof rowKey === 'string' && rest.length === 0) {
    return { partitionKey, rowKey };
  }
  throw new ValueError(`${JSON.stringify(payload)} is no pair of PartitionKey and RowKey`);
}
