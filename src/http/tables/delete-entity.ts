import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import { requiredConditionOf } from './conditions.js';
import { noContentReply } from './replies.js';
import { oneEntity, parsedBy, runWrite, type WriteEntityOperation } from './write.js';

/** `DELETE /table(PartitionKey='…',RowKey='…')` (table-service §3.13). */
export const deleteEntity: WriteEntityOperation = {
  access: objectAccess('delete'),
  bodyBytesMax: 0,

  ...parsedBy((request) => {
    const { table, partitionKey, rowKey } = resourceOf(request, 'entity');
    const condition = requiredConditionOf(request);
    const operation = { kind: 'delete', partitionKey, rowKey, condition } as const;
    return () => ({ table, operation });
  }),

  run: runWrite,
  ...oneEntity,

  render: noContentReply,
};
