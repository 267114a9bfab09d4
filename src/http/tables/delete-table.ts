import { tableAccess, type TableOperation } from './operation.js';
import { noContentReply } from './replies.js';
import { resourceOf } from './targets.js';

/** `DELETE /Tables('name')` (spec table-service §3.8). */
export const deleteTable: TableOperation<string, void> = {
  access: tableAccess('delete'),
  bodyBytesMax: 0,

  parse(request) {
    return resourceOf(request, 'table-entry').name;
  },

  run(name, { tables, account }) {
    return tables.deleteTable(account, name);
  },

  render: noContentReply,
};
