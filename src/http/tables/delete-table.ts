import { containerAccess } from '../operations/access.js';
import { resourceOf } from '../operations/request.js';
import type { TableOperation } from './operation.js';
import { noContentReply } from './replies.js';

/** `DELETE /Tables('name')` (table-service §3.8). */
export const deleteTable: TableOperation<string, void> = {
  access: containerAccess('delete'),
  bodyBytesMax: 0,

  parse(request) {
    return resourceOf(request, 'table-entry').name;
  },

  run(name, { backend: { tables }, account }) {
    return tables.deleteTable(account, name);
  },

  render: noContentReply,
};
