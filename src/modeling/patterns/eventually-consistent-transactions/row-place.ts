import { contentOf, type RowContent } from '../../rows/row-parts.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { putOver, writeIf } from '../../table/conditional-write.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Place, Slot } from './place.js';

/** Rows of a table. `convert` and `isMeant` get them as they were read. */
export type TableRows<Payload> = Place<Payload, RowContent> & {
  slot(payload: Payload): RowSlot;
};

interface RowSlot extends Slot<RowContent> {
  read(): Promise<{ readonly value: StoredRow; readonly etag: string } | undefined>;
}

/**
 * Rows of a table, in any account, with keys by the payload. `codecOf(Employee).key` gives the keys
 * for payloads that are keys of employees.
 */
export function rowIn<Payload>(
  table: TableGateway,
  key: (payload: Payload) => RowKey,
): TableRows<Payload> {
  return { name: table.table, slot: (payload) => rowSlot(table, key(payload)) };
}

function rowSlot(table: TableGateway, key: RowKey): RowSlot {
  const { partitionKey, rowKey } = key;
  return {
    etag: async () => (await table.get(key, []))?.etag,
    async read() {
      const value = await table.get(key);
      return value === undefined ? undefined : { value, etag: value.etag };
    },
    store: (content, etag) =>
      writeIf(table, putOver({ partitionKey, rowKey, ...contentOf(content) }, etag)),
    delete: (etag) => writeIf(table, { kind: 'delete', key: { partitionKey, rowKey }, etag }),
  };
}
