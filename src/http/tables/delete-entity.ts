import { objectAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import { requiredConditionOf } from './conditions.js';
import { noContentReply } from './replies.js';
import { oneEntity, runWrite, type WriteEntityOperation } from './write.js';

/** `DELETE /table(PartitionKey='…',RowKey='…')` (table-service §3.13). */
export const deleteEntity: WriteEntityOperation = {
  access: objectAccess('delete'),
  bodyBytesMax: 0,

  parse(request) {
    const { table, partitionKey, rowKey } = resourceOf(request, 'entity');
    const condition = requiredConditionOf(request);
    return { table, operation: { kind: 'delete', partitionKey, rowKey, condition } };
  },

  run: runWrite,
  ...oneEntity,

  render: noContentReply,
};
