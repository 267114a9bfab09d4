import { defineEntity, key, string } from '../../../src/modeling/index.js';
import { sharded } from '../../../src/modeling/patterns/shard-map-manager/index.js';

export const Note = defineEntity({
  type: 'Note',
  properties: { name: string(), text: string() },
  partitionKey: (p) => key`${p.name}`,
  rowKey: () => key`note`,
});

/** A second map of a manager, whose keys are all on one shard. */
export function notesOn(shard: string) {
  return {
    name: 'notes',
    table: 'notes',
    schema: { version: 1, sharded: [sharded(Note, 'name')] },
    routing: { kind: 'list', keys: [], otherwise: shard },
  } as const;
}
