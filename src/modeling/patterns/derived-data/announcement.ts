import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { ReadOf } from '../../definition/shapes.js';
import { DefinitionError } from '../../rows/model-error.js';
import type { StoredRow } from '../../rows/row.js';
import type { MessageType } from '../../worker/message-type.js';
import type { DerivationDeclaration } from './declaration.js';
import { failureAt } from './planned-writes.js';

/** A change of an entity: one of both is absent after an insert or a delete. */
export interface EntityChange<S extends AnyDefinition> {
  readonly before: ReadOf<S> | undefined;
  readonly after: ReadOf<S> | undefined;
}

/** Which changes of entities are announced, and how. */
export interface AnnouncementOptions<S extends AnyDefinition, Given, Read> {
  readonly source: S;
  readonly message: MessageType<Given, Read>;
  /** The payload for a change; undefined announces nothing. Must be pure. */
  readonly of: (change: EntityChange<S>) => Given | undefined;
  /**
   * Whether the steps of moves are announced: the copies, hand-overs and deletes of a re-keying,
   * and all writes of `archiveEntities`. Announced when absent.
   */
  readonly moves?: MoveTelling;
}

/** Whether what a table announces includes the steps of moves, which change no entity. */
export type MoveTelling = 'announced' | 'silent';

/**
 * A message for each change of an entity, stored in the transaction that makes it, however it is
 * made. The program handles it.
 */
export function announcement<S extends AnyDefinition, Given, Read>({
  source,
  message,
  of,
  moves = 'announced',
}: AnnouncementOptions<S, Given, Read>): DerivationDeclaration {
  const codec = codecOf(source);
  const entity = (row: StoredRow | undefined) => row && codec.fromRow(row);
  return {
    bind({ outbox }) {
      if (outbox === undefined) {
        throw new DefinitionError(`${source.type}: announcements need an outbox`);
      }
      return {
        // Nothing to compare: a message is stored with its change, or neither is.
        handlers: [],
        derivation: {
          ignoresMoves: moves === 'silent',
          concerns: (key) => codec.matches({ ...key, properties: {} }),
          isSource: (row) => codec.matches(row),
          plan: () => ({
            messages: async (changes) => {
              const found = changes.map(async ({ item, key, before, after }) => {
                try {
                  const payload = of({ before: entity(before), after: entity(after) });
                  if (payload === undefined) return [];
                  return [await outbox.message(key.partitionKey, message, payload)];
                } catch (error) {
                  throw failureAt(item, error);
                }
              });
              return (await Promise.all(found)).flat();
            },
          }),
        },
      };
    },
  };
}
