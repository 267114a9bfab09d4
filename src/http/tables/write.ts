import type { MetadataLevel } from '../../wire/odata/media-type.js';
import type { WriteOperation, WriteResult } from '../../services/tables/types.js';
import type { TableOperation } from './operation.js';
import type { Preference } from './preference.js';
import type { TableRequest } from './request.js';

/** What every write of one entity comes down to, alone or in a changeset. */
export interface WriteInput {
  readonly table: string;
  readonly operation: WriteOperation;
  /** Of an insert: what the client wants back. */
  readonly preference?: Preference | undefined;
  /** Of an insert that answers with the entity. */
  readonly level?: MetadataLevel | undefined;
}

export type WriteEntityOperation = TableOperation<WriteInput, WriteResult>;

export function runWrite(
  { table, operation }: WriteInput,
  { backend: { tables }, account }: TableRequest,
): Promise<WriteResult> {
  return tables.write(account, table, operation);
}
