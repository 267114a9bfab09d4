import { ModelError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';

/** The context may only read. Nothing was sent. */
export class ReadOnlyContextError extends ModelError {
  override readonly name = 'ReadOnlyContextError';
}

/** A table that refuses writes before they are sent. */
export function readOnly(table: TableGateway): TableGateway {
  const refuse = (): Promise<never> =>
    Promise.reject(new ReadOnlyContextError(`${table.table} is read-only in this context`));
  return {
    table: table.table,
    encrypts: table.encrypts,
    storesLargeValues: table.storesLargeValues,
    writesMax: table.writesMax,
    get: (key, select) => table.get(key, select),
    page: (query) => table.page(query),
    write: refuse,
    transact: refuse,
    check: refuse,
  };
}
