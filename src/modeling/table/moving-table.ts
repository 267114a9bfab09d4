import type { RowWrite, TableGateway } from './gateway.js';
import { shareRowUpdateQueues } from './row-update-queues.js';

/** The same write as a step of a move, which announcements of a table may leave out. */
export function asMove(write: RowWrite): RowWrite {
  return { ...write, isMove: true };
}

/** The same table for a move, of which every write is a step. */
export function movingTable(table: TableGateway): TableGateway {
  const moving: TableGateway = {
    table: table.table,
    encrypts: table.encrypts,
    storesLargeValues: table.storesLargeValues,
    writesMax: table.writesMax,
    confirm: table.confirm?.bind(table),
    get: (key, select) => table.get(key, select),
    page: (query) => table.page(query),
    write: (write) => table.write(asMove(write)),
    transact: (writes) => table.transact(writes.map(asMove)),
  };
  shareRowUpdateQueues(moving, table);
  return moving;
}
