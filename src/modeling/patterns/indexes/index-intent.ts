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
  /** By index, the key of the entity's row or list before the change; absent when it had none. */
  readonly before: Readonly<Record<string, RowKey>>;
  /**
   * The same after the change. Undefined in an intent of an older program, which did not say; the
   * worker then takes those that it finds.
   */
  readonly after?: Readonly<Record<string, RowKey>>;
}

type KeyPair = readonly [partitionKey: string, rowKey: string];

function pairOf({ partitionKey, rowKey }: RowKey): KeyPair {
  return [partitionKey, rowKey];
}

/**
 * `{ key: [PartitionKey, RowKey], indexes: { name: [PartitionKey, RowKey] | null }, after: { name:
 * [PartitionKey, RowKey] } }`, with the keys before the change in `indexes`.
 */
export const indexIntentPayload: PayloadCodec<IndexIntent, IndexIntent> = {
  encode({ key, indexes, before, after }) {
    const entries = indexes.map((name) => {
      const found = own(before, name);
      return [name, found === undefined ? null : pairOf(found)] as const;
    });
    const message = { key: pairOf(key), indexes: Object.fromEntries(entries) };
    if (after === undefined) return message;
    const pairs = Object.entries(after).map(([name, found]) => [name, pairOf(found)] as const);
    return { ...message, after: Object.fromEntries(pairs) };
  },
  decode(payload) {
    const { key, indexes, after } = objectOf(payload);
    const entries = Object.entries(objectOf(indexes ?? null));
    const before = entries.flatMap(([name, pair]) =>
      pair === null ? [] : [[name, keyOf(pair)] as const],
    );
    return {
      key: keyOf(key ?? null),
      indexes: entries.map(([name]) => name),
      before: Object.fromEntries(before),
      ...(after === undefined ? {} : { after: keysOf(after) }),
    };
  },
};

function keysOf(payload: JsonValue): Readonly<Record<string, RowKey>> {
  const entries = Object.entries(objectOf(payload));
  return Object.fromEntries(entries.map(([name, pair]) => [name, keyOf(pair)]));
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
