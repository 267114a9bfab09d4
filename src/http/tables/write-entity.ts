import { invariant } from '../../base/invariant.js';
import { formatEtag } from '../../wire/edm/etag.js';
import type { EntityInput } from '../../model/edm/value.js';
import type { Condition, WriteOperation } from '../../services/tables/types.js';
import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import type { RequestRules } from '../operations/request-rules.js';
import { conditionOf } from './conditions.js';
import { requireJsonBody } from './format.js';
import { bodyBytesMax, type TableOperation } from './operation.js';
import { noContentReply } from './replies.js';
import { entityBodyOf, oneEntity, parsedBy, runWrite, type WriteEntityOperation } from './write.js';

/**
 * `PUT`, `MERGE` or `PATCH /table(PartitionKey='…',RowKey='…')` (table-service §3.12). With
 * `If-Match` the entity must exist; without, it is created when it does not.
 */
function writeEntity(access: WriteEntityOperation['access']): WriteEntityOperation {
  return {
    access,
    bodyBytesMax,

    ...parsedBy((request) => {
      const { table, partitionKey, rowKey } = resourceOf(request, 'entity');
      const condition = conditionOf(request);
      requireJsonBody(request);
      const { method } = request;
      const rules = request.backend.rules.properties;
      return (body) => {
        // The keys are those of the path; a body may repeat them, and may be absent.
        const { properties } = entityBodyOf(body, rules, 'path');
        const entity = { partitionKey, rowKey, properties };
        return { table, operation: operationOf(method, condition, entity) };
      };
    }),

    run: runWrite,
    ...oneEntity,

    render(result) {
      invariant(result !== undefined, 'a write leaves an entity');
      const reply = noContentReply();
      reply.headers.push('ETag', formatEtag(result.version));
      return reply;
    },
  };
}

export const changeEntity = writeEntity(objectAccess('update'));
export const upsertEntity = writeEntity(objectAccess('add', 'update'));
const upsertEntityWithEither = writeEntity({
  kind: 'granted',
  scope: 'object',
  permissions: ['add', 'update'],
  needs: 'any',
});

/** The operation as these rules grant it. */
export function grantedUnder<O extends TableOperation>(
  { upsertsWithOnePermission }: RequestRules,
  operation: O,
): O | WriteEntityOperation {
  const isUpsert = operation === (upsertEntity as TableOperation);
  return upsertsWithOnePermission && isUpsert ? upsertEntityWithEither : operation;
}

function operationOf(
  method: string,
  condition: Condition | undefined,
  entity: EntityInput,
): WriteOperation {
  if (method === 'PUT') {
    return condition === undefined
      ? { kind: 'insert-or-replace', entity }
      : { kind: 'replace', entity, condition };
  }
  return condition === undefined
    ? { kind: 'insert-or-merge', entity }
    : { kind: 'merge', entity, condition };
}
