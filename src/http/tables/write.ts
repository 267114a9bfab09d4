import { readCanonicalBody } from '../../wire/odata/canonical-body.js';
import { parseEntityBody, type EntityBody } from '../../wire/odata/json-reader.js';
import type { MetadataLevel } from '../../wire/odata/media-type.js';
import type { PropertyRules } from '../../model/edm/property-rules.js';
import { keysOf } from '../../services/tables/staged-write.js';
import type { WriteOperation, WriteResult } from '../../services/tables/types.js';
import type { EntityName, PartitionLoad } from '../exchange/request-load.js';
import { checkWritable } from './access.js';
import type { TableOperation } from './operation.js';
import type { Preference } from './format.js';
import type { TableRequest } from './request.js';

/** The parsed form of any write of one entity, alone or in a changeset. */
export interface WriteInput {
  readonly table: string;
  readonly operation: WriteOperation;
  /** For an insert: the preferred answer. */
  readonly preference?: Preference | undefined;
  /** For an insert that returns the entity: the metadata level. */
  readonly level?: MetadataLevel | undefined;
}

/** The body of a write. */
export type WriteBody = Pick<TableRequest, 'text' | 'bytes'>;

/**
 * Parses all of a write but its body, and returns what parses the body. Writes that differ in their
 * bodies alone can share the result.
 */
export type ParseHead = (request: TableRequest) => (body: WriteBody) => WriteInput;

export interface WriteEntityOperation extends TableOperation<WriteInput, WriteResult> {
  readonly parseHead: ParseHead;
}

/** The members of an operation that parse its requests. */
export function parsedBy(parseHead: ParseHead): Pick<WriteEntityOperation, 'parse' | 'parseHead'> {
  return { parse: (request) => parseHead(request)(request), parseHead };
}

/** The entity in the body of a write. */
export function entityBodyOf(
  body: WriteBody,
  rules: PropertyRules,
  keysFrom: 'body' | 'path',
): EntityBody {
  const bytes = body.bytes();
  const read = bytes === undefined ? undefined : readCanonicalBody(bytes, rules);
  return read ?? parseEntityBody(body.text(), rules, keysFrom);
}

export function runWrite(
  { table, operation }: WriteInput,
  request: TableRequest,
): Promise<WriteResult> {
  checkWritable(operation, request);
  const { backend, account } = request;
  return backend.tables.write(account, table, operation);
}

/** The members that writes of one entity share, besides `run`. */
export const oneEntity = {
  entities: ({ operation }: WriteInput): readonly EntityName[] => [keysOf(operation)],
  load: (_result: WriteResult, { operation }: WriteInput): readonly PartitionLoad[] => [
    { partitionKey: keysOf(operation).partitionKey, count: 1 },
  ],
};
