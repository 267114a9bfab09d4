import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, KeyOf, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { rowFromJson, rowToJson } from '../rows/row-json.js';
import { DecodeError, DefinitionError, ValueError } from '../table/errors.js';
import type { PayloadCodec } from './payload.js';

/**
 * The key of an entity: enough for most messages. It is small, and the handler reads the entity as
 * it is then.
 */
export function keyPayload<D extends AnyDefinition>(
  definition: D,
): PayloadCodec<KeyOf<D>, KeyOf<D>> {
  const codec = codecOf(definition);
  return {
    encode: (key) => {
      const { partitionKey, rowKey } = codec.key(key);
      return { partitionKey, rowKey };
    },
    decode: (json) =>
      decoded(() => {
        const { partitionKey, rowKey } = rowFromJson({ ...Object(json), properties: {} });
        return codec.parseKey({ partitionKey, rowKey });
      }),
  };
}

/**
 * A whole entity as it was when the message was sent. Messages hold 64 KiB: prefer `keyPayload`.
 * Give it the entity as it is stored: a default that is a function gives a message a value of its
 * own.
 * Throws `DefinitionError` for a definition with encrypted properties, and its `encode`
 * `ValueError` for an entity with others: a message would show them in plain.
 */
export function entityPayload<D extends AnyDefinition>(
  definition: D,
): PayloadCodec<CreateOf<D> | ReadOf<D>, Stored<ReadOf<D>>> {
  const codec = codecOf(definition);
  if (Object.values(definition.properties).some(({ model }) => model.flags.has('encrypted'))) {
    throw new DefinitionError(`${definition.type} has encrypted properties; send its key instead`);
  }
  return {
    encode: (entity) => ({ ...rowToJson(codec.toRow(entity)) }),
    decode: (json) =>
      decoded(() => codec.fromRow({ ...rowFromJson(json), etag: '', timestamp: 0n })),
  };
}

function decoded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new ValueError(error.message, { cause: error });
  }
}
