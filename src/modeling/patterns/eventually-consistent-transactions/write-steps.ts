import type { Row } from '../../rows/row.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Place } from './place.js';
import type { Step } from './step.js';

/**
 * Stores a row from the payload unconditionally: one upsert. Use it when the intents about a row
 * can be executed in any order; use `mirrorStep` when the last must win.
 */
export function upsertStep<Payload>(options: {
  readonly name?: string;
  readonly table: TableGateway;
  readonly row: (payload: Payload) => Row;
  /** `merge` keeps properties that the row does not have. Default `replace`. */
  readonly mode?: 'replace' | 'merge';
}): Step<Payload> {
  const { table, row, mode = 'replace', name = `upsert in ${table.table}` } = options;
  return {
    name,
    async run(payload, { signal }) {
      const written = row(payload);
      signal.throwIfAborted();
      await table.write({ kind: `upsert-${mode}`, row: written });
      return 'done';
    },
  };
}

/** Deletes a row, blob or file, in any version, if it exists: one delete. */
export function deleteStep<Payload>(options: {
  readonly name?: string;
  readonly from: Pick<Place<Payload, never>, 'name'> & {
    slot(payload: Payload): { delete(etag: string): Promise<boolean> };
  };
}): Step<Payload> {
  const { from, name = `delete from ${from.name}` } = options;
  return {
    name,
    async run(payload, { signal }) {
      const slot = from.slot(payload);
      signal.throwIfAborted();
      return (await slot.delete('*')) ? 'done' : 'already-done';
    },
  };
}
